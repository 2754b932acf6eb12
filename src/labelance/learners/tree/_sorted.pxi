# Growing over sorted columns: any features, weights and missing values.
#
# Nodes are split depth first. Every node on the stack keeps, for each feature that can still
# split, its explicit cells in ascending order. When a node is split, the cells of its children
# are copied after its own, except for the largest child's, which are pushed together in their
# place. The largest child is split last, so all that is on the stack is at most about twice as
# long as the root's cells.


cdef int grow_sorted(Grower g) except -1 nogil:
    """Grow the tree of a problem; its entries are the rows of its nodes, children after parents."""
    cdef int64_t depth = 0, used = g.n, low, top, v, best, f, width, size, largest, mark, i, b
    cdef int64_t n, copies, fewest = 1
    cdef int64_t* begin = g.begin.data()
    # A feature with fewer cells splits nothing below here: they, or all others, go one way.
    if not g.weighted:
        fewest = <int64_t>ceil(g.options.min_samples_leaf - EPS)
    g.nodes.resize(1)
    make_nodes(g, 1, g.n)
    for i in range(g.n):
        g.row[i] = <int32_t>i
        if g.weighted:
            g.part[i] = g.weight[g.rows[i]]
    if make_leaf(g, 0, 0, g.n):
        top = copy_columns(g, fewest) if g.all_rows else collect_columns(g, fewest)
        g.waiting[0].node, g.waiting[0].low, g.waiting[0].top = 0, 0, top
        depth = 1
        if g.nominal:
            average_features(g)
    while depth > 0:
        depth -= 1
        v, low, top = g.waiting[depth].node, g.waiting[depth].low, g.waiting[depth].top
        n = g.nodes[v].stop - g.nodes[v].start
        evaluate(g, v, low, top)
        best = choose_split(g.candidates.data(), top - low)
        if best < 0:
            continue
        f, width, size = g.columns[low + best].feature, 2, g.nodes.size()
        if g.nominal:
            width = max(2, <int64_t>g.X.n_categories[f])
        copies = width if g.weighted else 1
        make_nodes(g, size + width, used + copies * n)
        g.nodes[v].cut = cut_between(
            g.X.levels + g.X.level_start[f], g.candidates[best].low, g.candidates[best].high
        )
        g.nodes[v].feature, g.nodes[v].first, g.nodes[v].width = f, size, width
        used = partition(g, v, &g.columns[low + best], used)
        for b in range(width):
            g.can_split[b] = make_leaf(g, size + b, begin[b], begin[b + 1])
        largest = largest_open(begin, width, g.can_split.data())
        if largest >= 0:
            mark = mark_changed(g, begin, width, largest, g.trees_before + v + 1)
            depth = push_children(g, depth, size, width, largest, mark, fewest)
    g.n_entries = used
    return 0


cdef int make_nodes(Grower g, int64_t n_nodes, int64_t n_entries) except -1 nogil:
    """Make room for this many nodes and entries."""
    g.nodes.resize(n_nodes)
    if <int64_t>g.histogram.size() < n_nodes * g.C:
        g.histogram.resize(n_nodes * g.C)
    if <int64_t>g.row.size() < n_entries:
        g.row.resize(n_entries)
    if g.weighted and <int64_t>g.part.size() < n_entries:
        g.part.resize(n_entries)
    return 0


cdef void evaluate(Grower g, int64_t v, int64_t low, int64_t top) noexcept nogil:
    """Find the best split of node v on each of its columns, from ``low`` up to ``top``."""
    cdef const double* classes = g.histogram.data() + v * g.C
    cdef const Column* columns = g.columns.data() + low
    cdef int64_t e, n = g.nodes[v].stop - g.nodes[v].start
    if g.weighted:
        for e in range(g.nodes[v].start, g.nodes[v].stop):
            g.row_weight[g.row[e]] = g.part[e]
    else:
        evaluate_counted(g, columns, top - low, classes, n)
    if g.nominal:
        evaluate_others(g, columns, top - low, classes, n)


cdef bint make_leaf(Grower g, int64_t v, int64_t start, int64_t stop) noexcept nogil:
    """Make node v a leaf over some entries; return whether it may be split."""
    cdef double* histogram = g.histogram.data() + v * g.C
    cdef const int32_t* row = g.row.data()
    cdef const int32_t* y = g.y.data()
    cdef int64_t c, e
    for c in range(g.C):
        histogram[c] = 0.0
    if g.weighted:
        for e in range(start, stop):
            histogram[y[row[e]]] += g.part[e]
    else:
        for e in range(start, stop):
            histogram[y[row[e]]] += 1.0
    return set_leaf(g, v, start, stop)


cdef bint set_leaf(Grower g, int64_t v, int64_t start, int64_t stop) noexcept nogil:
    """Make a node with class weights a leaf over some entries; return whether it may be split."""
    cdef const double* histogram = g.histogram.data() + v * g.C
    cdef double total = sum_of(histogram, g.C), least = g.options.min_samples_leaf
    cdef Node* node = &g.nodes[v]
    node.feature, node.cut, node.first, node.width = LEAF, 0, 0, 0
    node.start, node.stop = start, stop
    # It may not if it is too light or too pure for any feature.
    return 2 * least - total <= EPS and fabs(total - largest_of(histogram, g.C)) >= EPS


cdef int64_t partition(Grower g, int64_t v, const Column* column, int64_t used) noexcept nogil:
    """Write the entries of each branch of node v after the ``used`` ones; return their end."""
    cdef const Node* node = &g.nodes[v]
    cdef bint nominal = g.X.n_categories[node.feature] > 0
    cdef int64_t cut = node.cut, e, t
    cdef int32_t* branch = g.branch.data()
    cdef const int32_t* row = g.row.data()
    cdef const uint64_t* cells = g.cells.data()
    cdef int32_t of_others = <int32_t>branch_of(g.X.implicit[node.feature], nominal, cut)
    for e in range(node.start, node.stop):
        branch[row[e]] = of_others
    for t in range(column.begin, column.end):
        branch[cells[t] & ROW_BITS] = <int32_t>branch_of(cell_rank(cells[t]), nominal, cut)
    if not g.weighted:
        return partition_rows(g, node, used)
    used = plan_partition(g, node.start, node.stop, used, node.width)
    partition_entries(g, node.start, node.stop, node.width)
    return used


cdef int64_t partition_rows(Grower g, const Node* node, int64_t used) noexcept nogil:
    """Write the rows of each branch after the ``used`` ones; return their end.

    ``begin`` gets where each branch's begin, and where those of the last end.
    """
    cdef int64_t* begin = g.begin.data()
    cdef int32_t* row = g.row.data()
    cdef const int32_t* branch = g.branch.data()
    cdef int64_t b, e
    for b in range(node.width):
        begin[b] = 0
    for e in range(node.start, node.stop):
        begin[branch[row[e]]] += 1
    for b in range(node.width):
        used += begin[b]
        begin[b] = used - begin[b]
    begin[node.width] = used
    for e in range(node.start, node.stop):
        b = branch[row[e]]
        row[begin[b]] = row[e]
        begin[b] += 1
    # Every beginning has come to its branch's end, where the next branch begins.
    for b in range(node.width - 1, 0, -1):
        begin[b] = begin[b - 1]
    begin[0] = used - (node.stop - node.start)
    return used


cdef int64_t plan_partition(
    Grower g, int64_t start, int64_t stop, int64_t used, int64_t width
) noexcept nogil:
    """Find where each branch's entries will lie, after the ``used`` ones; return their end.

    A row whose branch is -1 takes every branch, with the ``share`` of the known weight that
    the branch has.
    """
    cdef double* share = g.share.data()
    cdef int64_t* begin = g.begin.data()
    cdef const int32_t* row = g.row.data()
    cdef const int32_t* branch = g.branch.data()
    cdef const double* weight = g.part.data()
    cdef double known = 0.0
    cdef int64_t b, e, count, missing = 0
    for b in range(width):
        share[b], begin[b] = 0.0, 0
    for e in range(start, stop):
        b = branch[row[e]]
        if b < 0:
            missing += 1
        else:
            share[b] += weight[e]
            known += weight[e]
            begin[b] += 1
    for b in range(width):
        share[b] = 1.0 / width if known < EPS else share[b] / known
        count = begin[b] + (missing if share[b] > EPS else 0)
        begin[b] = used
        used += count
    begin[width] = used
    return used


cdef void partition_entries(Grower g, int64_t start, int64_t stop, int64_t width) noexcept nogil:
    """Write the entries of each branch where :func:`plan_partition` said."""
    cdef const double* share = g.share.data()
    cdef int64_t* place = g.branch_place.data()
    cdef int32_t* row = g.row.data()
    cdef const int32_t* branch = g.branch.data()
    cdef double* weight = g.part.data()
    cdef int64_t b, e, taken
    for b in range(width):
        place[b] = g.begin[b]
    for e in range(start, stop):
        taken = branch[row[e]]
        for b in range(taken if taken >= 0 else 0, taken + 1 if taken >= 0 else width):
            if taken >= 0 or share[b] > EPS:
                row[place[b]] = row[e]
                weight[place[b]] = weight[e] * (1.0 if taken >= 0 else share[b])
                place[b] += 1


cdef int64_t largest_open(
    const int64_t* begin, int64_t width, const uint8_t* can_split
) noexcept nogil:
    """Return the branch of most rows among those that may be split, -1 if there is none."""
    cdef int64_t largest = -1, most = 0, b
    for b in range(width):
        if can_split[b] and begin[b + 1] - begin[b] > most:
            largest, most = b, begin[b + 1] - begin[b]
    return largest


cdef int64_t push_children(
    Grower g, int64_t depth, int64_t first, int64_t width, int64_t largest, int64_t mark,
    int64_t fewest,
) except -1 nogil:
    """Put the children that may be split on the stack, the largest in its parent's place.

    The parent is at ``depth``, its children are numbered from ``first`` on. Returns the new depth.
    """
    cdef int64_t low = g.waiting[depth].low, top = g.waiting[depth].top, last = largest, n_open = 0
    cdef int64_t b, end, to = top, kept = low, slot = depth, bottom
    cdef const int64_t* begin = g.begin.data()
    for b in range(width):
        n_open += g.can_split[b]
        last = b if g.can_split[b] and b != largest else last
    end = g.columns[top - 1].end
    make_room(
        g, end + n_open * (end - g.columns[low].begin) + 2, top + n_open * (top - low) + 1
    )
    if <int64_t>g.waiting.size() < depth + n_open:
        g.waiting.resize(depth + n_open)
    for b in range(width):
        if g.can_split[b] and (b != largest or n_open == 1):
            # The largest child's cells are pushed together when the last other one's are copied.
            bottom = to
            mark_rows(g, begin, width, b, largest if b == last else -1)
            to = partition_columns(g, low, top, mark, fewest, b == last, to, &kept)
            if b != largest:
                slot += 1
                g.waiting[slot].node, g.waiting[slot].low, g.waiting[slot].top = first + b, bottom, to
    g.waiting[depth].node, g.waiting[depth].low = first + largest, low
    g.waiting[depth].top = kept
    return depth + n_open
