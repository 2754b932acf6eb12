# Pruning: collapse subtrees that bring nothing, then prune pessimistically, with raising.
#
# A node is replaced by a leaf, or by its heaviest branch, when the estimated errors allow it.
# Raising sends all rows of the node down that branch, so class weights below it change. Nodes
# that no row reached are left as they are: pruning them once more would change nothing.
#
# When no value is missing every row is in one leaf, and few rows move. The rows of a leaf are
# then a linked list: its start is the first row, its stop the last one, and ``next_row`` leads
# from row to row. So leaves are merged, and rows move, in no time. When values are missing, all
# entries are partitioned again, for their shares change.

cdef enum:
    NO_ROW = -1


cdef void collapse(Grower g) noexcept nogil:
    """Make leaves, from the top, of nodes whose subtrees make no fewer training errors."""
    cdef int64_t v, n_nodes = g.nodes.size()
    cdef const double* classes
    cdef const Node* node
    for v in range(n_nodes - 1, -1, -1):
        node, classes = &g.nodes[v], g.histogram.data() + v * g.C
        g.estimate[v] = g.as_leaf[v] = sum_of(classes, g.C) - largest_of(classes, g.C)
        if node.feature != LEAF:
            g.estimate[v] = sum_of(g.estimate.data() + node.first, node.width)
    for v in range(n_nodes):
        # Nodes under a new leaf are out of reach, so it does not matter what becomes of them.
        if g.estimate[v] >= g.as_leaf[v] - SLACK:
            g.nodes[v].feature = LEAF


cdef int prune(Grower g) except -1 nogil:
    """Prune a tree in place, children before parents."""
    cdef int64_t top = 1, used = g.n_entries, count = 0, v, child, heaviest, last
    cdef int64_t n_nodes = g.nodes.size()
    cdef double leaf, tree, branch
    cdef Node* node
    g.touched.assign(n_nodes, 1)
    if <int64_t>g.extra.size() < n_nodes * g.C:
        g.extra.resize(n_nodes * g.C)
    if g.complete:
        link_rows(g)
    g.stack[0] = 0  # a node comes twice: as ~v once its children are done
    while top > 0:
        top -= 1
        v = g.stack[top]
        if v >= 0 and g.nodes[v].feature != LEAF:
            g.stack[top] = ~v
            top += 1
            last = g.nodes[v].first + g.nodes[v].width
            for child in range(g.nodes[v].first, last):
                g.stack[top] = child
                top += g.touched[child]
            continue
        v = v if v >= 0 else ~v
        node = &g.nodes[v]
        g.touched[v] = 0
        leaf = pessimistic_errors(g.histogram.data() + v * g.C, g.C, &g.options)
        g.estimate[v] = leaf
        if node.feature == LEAF:
            continue
        tree = sum_of(g.estimate.data() + node.first, node.width)
        branch, heaviest = INFINITY, heaviest_child(g, v)
        if g.options.subtree_raising:
            if g.complete:
                count = list_siblings(g, v, heaviest)
                route_rows(g, heaviest, count, False)
                branch = g.estimate[heaviest] + added_estimate(g, count)
            else:
                redistribute(g, v, heaviest, &used, &branch)
        if leaf - (tree + PRUNE_SLACK) < EPS and leaf - (branch + PRUNE_SLACK) < EPS:
            if g.complete:
                merge_leaves(g, v)
            node.feature = LEAF
        elif branch - (tree + PRUNE_SLACK) < EPS:
            # The branch takes the place of the node, and brings its list of rows along.
            if g.complete:
                route_rows(g, heaviest, count, True)
                g.nodes[v] = g.nodes[heaviest]
            else:
                node.feature, node.cut = g.nodes[heaviest].feature, g.nodes[heaviest].cut
                node.first, node.width = g.nodes[heaviest].first, g.nodes[heaviest].width
                redistribute(g, v, v, &used, &branch)
            g.stack[top] = v
            top += 1
        else:
            g.estimate[v] = tree
    return 0


cdef int64_t heaviest_child(Grower g, int64_t v) noexcept nogil:
    """Return the child with the largest weight, the last of equals."""
    cdef int64_t heaviest = g.nodes[v].first, child, last = heaviest + g.nodes[v].width
    cdef double weight = 0.0, total
    for child in range(g.nodes[v].first, last):
        total = sum_of(g.histogram.data() + child * g.C, g.C)
        if weight - total < EPS:
            heaviest, weight = child, total
    return heaviest


cdef int64_t list_leaves(Grower g, int64_t v, int64_t left_out) noexcept nogil:
    """List the leaves ``below`` node v, but not those of one child; return how many there are."""
    cdef int64_t top = 1, count = 0, child
    cdef const Node* node
    g.walk[0] = v
    while top > 0:
        top -= 1
        v = g.walk[top]
        node = &g.nodes[v]
        if node.feature == LEAF:
            g.below[count] = v
            count += 1
            continue
        for child in range(node.first, node.first + node.width):
            g.walk[top] = child
            top += child != left_out
    return count


cdef void link_rows(Grower g) noexcept nogil:
    """Make a linked list of the rows of every leaf."""
    cdef int64_t k, e, start, stop
    cdef Node* leaf
    for k in range(list_leaves(g, 0, -1)):
        leaf = &g.nodes[g.below[k]]
        start, stop = leaf.start, leaf.stop
        leaf.start = leaf.stop = NO_ROW
        for e in range(start, stop):
            append_row(g, g.below[k], g.row[e])
            g.row_weight[g.row[e]] = g.part[e] if g.weighted else 1.0


cdef void append_row(Grower g, int64_t leaf, int64_t row) noexcept nogil:
    """Put a row at the end of a leaf's list."""
    cdef Node* node = &g.nodes[leaf]
    if node.start == NO_ROW:
        node.start = row
    else:
        g.next_row[node.stop] = row
    node.stop = row
    g.next_row[row] = NO_ROW


cdef void merge_leaves(Grower g, int64_t v) noexcept nogil:
    """Give node v, about to become a leaf, the rows of all leaves below it."""
    cdef int64_t head = NO_ROW, tail = NO_ROW, k
    cdef const Node* leaf
    for k in range(list_leaves(g, v, -1)):
        leaf = &g.nodes[g.below[k]]
        if leaf.start != NO_ROW:
            if head == NO_ROW:
                head = leaf.start
            else:
                g.next_row[tail] = leaf.start
            tail = leaf.stop
    g.nodes[v].start, g.nodes[v].stop = head, tail


cdef int64_t list_siblings(Grower g, int64_t v, int64_t heaviest) noexcept nogil:
    """List the rows of all children of node v but the heaviest as ``moved``; return how many."""
    cdef int64_t count = 0, k, i
    for k in range(list_leaves(g, v, heaviest)):
        i = g.nodes[g.below[k]].start
        while i != NO_ROW:
            g.moved[count] = i
            count += 1
            i = g.next_row[i]
    return count


cdef void route_rows(Grower g, int64_t root, int64_t count, bint stay) noexcept nogil:
    """Send the ``moved`` rows down from a node, and note the ``leaf_of`` each.

    Rows that ``stay`` bring their weights to all nodes below it, and become rows of their leaves.
    """
    cdef int64_t k, i, at, f
    cdef const Node* nodes = g.nodes.data()
    for k in range(count):
        i, at = g.moved[k], root
        while nodes[at].feature != LEAF:
            f = nodes[at].feature
            at = nodes[at].first + branch_of(
                rank_of(&g.X, g.rows[i], f), g.X.n_categories[f] > 0, nodes[at].cut
            )
            if stay:
                g.histogram[at * g.C + g.y[i]] += g.row_weight[i]
                g.touched[at] = 1
        g.leaf_of[k] = at
        if stay:
            append_row(g, at, i)


cdef double added_estimate(Grower g, int64_t count) noexcept nogil:
    """Return by how much the estimate of a branch grows if ``count`` rows come to its leaves.

    Only leaves that get rows change.
    """
    cdef double* extra = g.extra.data()
    cdef double growth = 0.0
    cdef int64_t k, c, base
    cdef bint is_new
    for k in range(count):
        extra[g.leaf_of[k] * g.C + g.y[g.moved[k]]] += g.row_weight[g.moved[k]]
    for k in range(count):
        base, is_new = g.leaf_of[k] * g.C, False
        for c in range(base, base + g.C):
            is_new = is_new or extra[c] != 0.0
        if is_new:  # else an earlier row has settled this leaf
            growth -= g.estimate[g.leaf_of[k]]
            for c in range(base, base + g.C):
                extra[c] += g.histogram[c]
            growth += pessimistic_errors(extra + base, g.C, &g.options)
            for c in range(base, base + g.C):
                extra[c] = 0.0
    return growth


cdef int redistribute(
    Grower g, int64_t v, int64_t root, int64_t* size, double* estimate
) except -1 nogil:
    """Partition the entries of node v along the subtree of node ``root``.

    If that is its own subtree, the nodes below get these entries and their class weights, and
    are touched; else it is only tried out. Gives how many entries there are, and the estimated
    errors of all leaves.
    """
    cdef bint stays = root == v
    cdef double* extra = g.extra.data()
    cdef int64_t used = size[0], u, start, stop, c, e, b, first, last
    cdef Branch here
    cdef Node* node
    estimate[0] = 0.0
    here.node, here.start, here.stop = root, g.nodes[v].start, g.nodes[v].stop
    g.branches_to_go.clear()
    g.branches_to_go.push_back(here)
    while not g.branches_to_go.empty():
        here = g.branches_to_go.back()
        g.branches_to_go.pop_back()
        u, start, stop = here.node, here.start, here.stop
        node = &g.nodes[u]
        for c in range(g.C):
            extra[c] = 0.0
        for e in range(start, stop):
            extra[g.y[g.row[e]]] += g.part[e]
        if stays and u != root:
            node.start, node.stop, g.touched[u] = start, stop, 1
            for c in range(g.C):
                g.histogram[u * g.C + c] = extra[c]
        if node.feature == LEAF:
            estimate[0] += pessimistic_errors(extra, g.C, &g.options)
            continue
        find_branches(g, node, start, stop)
        # What is only tried out may be overwritten as soon as nodes on the stack lie before it.
        first = used if stays else max(used, stop)
        last = plan_partition(g, start, stop, first, node.width)
        if <int64_t>g.row.size() < last:
            g.row.resize(last)
        if <int64_t>g.part.size() < last:
            g.part.resize(last)
        used = last if stays else used
        partition_entries(g, start, stop, node.width)
        for b in range(node.width):
            here.node, here.start, here.stop = node.first + b, g.begin[b], g.begin[b + 1]
            g.branches_to_go.push_back(here)
    size[0] = used
    return 0


cdef void find_branches(Grower g, const Node* node, int64_t start, int64_t stop) noexcept nogil:
    """Note the branch of a node that each row takes, -1 where its value is missing."""
    cdef bint nominal = g.X.n_categories[node.feature] > 0
    cdef int64_t e
    for e in range(start, stop):
        g.branch[g.row[e]] = <int32_t>branch_of(
            rank_of(&g.X, g.rows[g.row[e]], node.feature), nominal, node.cut
        )


# ---- packing -------------------------------------------------------------------------------


cdef int pack(Grower g) except -1 nogil:
    """Add the nodes that are still in reach to the trees that are done, breadth first."""
    cdef int64_t base = g.feature.size(), cells = g.class_weights.size(), size = 1, i = 0
    cdef int64_t v, f, b, c, child, C = g.C
    cdef double total
    cdef const Node* node
    g.stack[0] = 0
    while i < size:
        v = g.stack[i]
        node = &g.nodes[v]
        f, total = node.feature, sum_of(g.histogram.data() + v * C, C)
        for c in range(v * C, (v + 1) * C):
            g.class_weights.push_back(g.histogram[c])
        g.node_weight.push_back(total if total >= EPS else 0.0)
        g.feature.push_back(<int32_t>f)
        g.first_child.push_back(0 if f == LEAF else <int32_t>size)
        g.n_children.push_back(0 if f == LEAF else <int32_t>node.width)
        if f == LEAF or (g.X.n_categories[f] > 0 and node.width != 2):
            g.threshold.push_back(NAN)
        elif g.X.n_categories[f] > 0:
            g.threshold.push_back(0.5)
        else:
            g.threshold.push_back(threshold_of(g, f, node.cut))
        if f != LEAF:
            for b in range(node.width):
                g.stack[size] = node.first + b
                size += 1
        i += 1
    for i in range(base, base + size):
        # A leaf that no row reached has the class weights of its parent, to predict with.
        for b in range(g.n_children[i]):
            child = g.first_child[i] + b
            if g.node_weight[base + child] == 0.0:
                for c in range(C):
                    g.class_weights[cells + child * C + c] = g.class_weights[
                        cells + (i - base) * C + c
                    ]
    g.sizes.push_back(size)
    return 0


cdef double threshold_of(Grower g, int64_t feature, int64_t cut) noexcept nogil:
    """Return the largest value of the tree's training rows that goes left."""
    cdef int64_t last = cut, rank, i
    if not g.all_rows:
        last = NO_RANK
        for i in range(g.n):
            rank = rank_of(&g.X, g.rows[i], feature)
            if last < rank <= cut:
                last = rank
                if rank == cut:  # mostly soon: words that are not in a row all have one rank
                    break
    return g.X.levels[g.X.level_start[feature] + last]
