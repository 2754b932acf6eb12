# distutils: language = c++
"""Asking trees about blocks of rows: votes of all trees, and decisions of chains.

The rows of a node are a set of bits, and the children of a node divide it between them. So
64 rows go down a tree together, and nothing has to be guessed about single rows.
"""

from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.bit cimport countr_zero, popcount
from libcpp.vector cimport vector

import numpy as np

from labelance.learners.tree._common cimport (
    ALL_ONES, NO_RANK, RANK_SHIFT, ROW_BITS, Matrix, set_matrix, sum_of,
)

cdef enum:
    MANY = 12  # of the 64 rows in a word: from here on all are looked at

cdef struct Block:  # rows laid out column by column
    int64_t n
    int64_t words
    const double* X
    const uint8_t* two  # which features have two categories, and for these
    const uint64_t* ones  # the rows that have the second one
    const uint64_t* missing  # rows of each feature without a value; NULL where there are none
    int64_t n_features  # those after them are labels before a link, with
    const uint64_t* labels  # the rows that have them
    int64_t stride  # words from one label to the next

cdef struct Trees:
    const int64_t* node_start
    const int32_t* feature
    const double* threshold
    const int32_t* first
    const int32_t* width
    const double* weight

cdef struct Part:  # of a row with a missing value, on its way down
    int64_t node
    double part


cdef class RowBlock:
    """Rows laid out column by column, and the arrays that this needs."""

    cdef Block block
    cdef readonly int64_t n_rows, n_features
    cdef object arrays

    def __init__(self, X, two, ones, missing):
        cdef const double[:, ::1] columns = X
        cdef const uint8_t[::1] are_two = two
        cdef const uint64_t[:, ::1] bits = ones, without
        cdef bint empty = columns.shape[0] == 0 or columns.shape[1] == 0
        self.arrays = X, two, ones, missing
        self.n_features, self.n_rows = columns.shape[0], columns.shape[1]
        self.block.n, self.block.words = columns.shape[1], (columns.shape[1] + 63) >> 6
        self.block.n_features = columns.shape[0]
        self.block.X = &columns[0, 0] if not empty else NULL
        self.block.two = &are_two[0] if not empty else NULL
        self.block.ones = &bits[0, 0] if not empty else NULL
        self.block.missing = NULL
        if missing is not None and not empty:
            without = missing
            self.block.missing = &without[0, 0]


cdef void set_all(uint64_t* members, int64_t n) noexcept nogil:
    """Make a set one of all ``n`` rows."""
    cdef int64_t words = (n + 63) >> 6, w
    for w in range(words):
        members[w] = ALL_ONES
    if n & 63:
        members[words - 1] = (<uint64_t>1 << (n & 63)) - 1


cdef inline const uint64_t* ones_of(const Block* block, int64_t f) noexcept nogil:
    """Return the rows that have the second category of a feature; NULL if there are not two."""
    if f >= block.n_features:
        return block.labels + (f - block.n_features) * block.stride
    return block.ones + f * block.words if block.two[f] else NULL


cdef void partition_rows(
    const Block* block, const Trees* trees, int64_t v, uint64_t* members, int64_t root
) noexcept nogil:
    """Partition the set of node v into those of its children."""
    cdef int64_t f = trees.feature[v], width = trees.width[v], words = block.words, w, b
    cdef const double* x = block.X + f * block.n if f < block.n_features else NULL
    cdef double threshold = trees.threshold[v]
    cdef const uint64_t* own = members + (v - root) * words
    cdef uint64_t* first = members + trees.first[v] * words
    cdef const uint64_t* ones = ones_of(block, f)
    cdef uint64_t rows, above, left
    for w in range(words):
        rows = own[w]
        if width == 2:
            above = ones[w] if ones != NULL else 0
            left = rows if ones == NULL else 0
            while left != 0:
                if x[(w << 6) + countr_zero(left)] > threshold:
                    above |= left & (~left + 1)
                left &= left - 1
            first[w] = rows & ~above
            first[words + w] = rows & above
        else:
            for b in range(width):
                first[b * words + w] = 0
            while rows != 0:
                b = <int64_t>x[(w << 6) + countr_zero(rows)]
                first[b * words + w] |= rows & (~rows + 1)
                rows &= rows - 1


cdef void add_to_rows(
    const uint64_t* rows, int64_t n, double value, double* out
) noexcept nogil:
    """Add a value to the places of ``out`` that a set of rows names."""
    cdef int64_t w, i, words = (n + 63) >> 6
    cdef uint64_t left
    for w in range(words):
        left = rows[w]
        if popcount(left) >= MANY:
            # Adding nothing to the others is faster than finding out which they are.
            for i in range(min(64, n - (w << 6))):
                out[(w << 6) + i] += value if (left >> i) & 1 else 0.0
            continue
        while left != 0:
            out[(w << 6) + countr_zero(left)] += value
            left &= left - 1


# ---- votes ---------------------------------------------------------------------------------


cdef struct Votes:  # a sparse matrix by rows: the votes for each output
    const int64_t* start
    const int64_t* output
    const double* value


cdef Votes votes_of(arrays) except *:
    cdef const int64_t[::1] start = arrays[0], output = arrays[1]
    cdef const double[::1] value = arrays[2]
    cdef Votes votes
    votes.start = &start[0]
    votes.output = &output[0] if output.shape[0] else NULL
    votes.value = &value[0] if value.shape[0] else NULL
    return votes


cdef void add_votes(
    const uint64_t* rows, int64_t n, const Votes* votes, int64_t line, double* out
) noexcept nogil:
    """Add a line of the votes for every row of a set."""
    cdef int64_t p
    for p in range(votes.start[line], votes.start[line + 1]):
        add_to_rows(rows, n, votes.value[p], out + votes.output[p] * n)


def sum_votes(RowBlock rows, trees, const int64_t[::1] winner, per_node, per_slot,
              bint last_wins, double[:, ::1] out):
    """Add the votes of all trees for each row to ``out``, which has a line for every output.

    Parameters
    ----------
    rows : RowBlock
    trees : tuple of ndarray
        See ``Forest.aggregate``.
    winner : ndarray of int64
        The most probable class of every node; empty if all classes vote.
    per_node, per_slot : tuple of ndarray
        The votes of all classes of a node together, if all vote; of each class of each tree.
    last_wins : bool
        The last of several most probable classes wins, not the first.
    out : ndarray of shape (n_outputs, n)
    """
    cdef const int64_t[::1] node_start = trees[0]
    cdef const double[::1] histogram = trees[6]
    cdef const int64_t[::1] histogram_start = trees[7], slot_start = trees[8]
    cdef Trees forest = trees_of(trees)
    cdef Votes of_node = votes_of(per_node), of_slot = votes_of(per_slot)
    cdef const Block* block = &rows.block
    cdef bint hard = winner.shape[0] > 0
    cdef int64_t n = block.n, words = block.words, t, v, w, c, root, C, most = 1, most_classes = 1
    cdef vector[uint64_t] members, voters
    cdef uint64_t* here
    if n == 0 or out.shape[0] == 0:
        return
    with nogil:
        for t in range(node_start.shape[0] - 1):
            most = max(most, node_start[t + 1] - node_start[t])
            most_classes = max(most_classes, slot_start[t + 1] - slot_start[t])
        members.resize(most * words)
        voters.resize(most_classes * words)
        for t in range(node_start.shape[0] - 1):
            root, C = node_start[t], slot_start[t + 1] - slot_start[t]
            set_all(members.data(), n)
            for v in range(root, node_start[t + 1]):  # parents come before their children
                here = members.data() + (v - root) * words
                if forest.feature[v] >= 0:
                    if block.missing != NULL:
                        vote_for_missing(
                            block, &forest, &of_slot, root, v, slot_start[t], C,
                            &histogram[histogram_start[t]], hard, last_wins, here, &out[0, 0],
                        )
                    partition_rows(block, &forest, v, members.data(), root)
                elif hard:
                    for w in range(words):
                        voters[winner[v] * words + w] |= here[w]
                else:
                    add_votes(here, n, &of_node, v, &out[0, 0])
            for c in range(C if hard else 0):
                add_votes(voters.data() + c * words, n, &of_slot, slot_start[t] + c, &out[0, 0])
                for w in range(c * words, (c + 1) * words):
                    voters[w] = 0


cdef Trees trees_of(arrays) except *:
    cdef const int64_t[::1] node_start = arrays[0]
    cdef const int32_t[::1] feature = arrays[1], first = arrays[3], width = arrays[4]
    cdef const double[::1] threshold = arrays[2], weight = arrays[5]
    cdef Trees trees
    trees.node_start, trees.feature, trees.threshold = &node_start[0], &feature[0], &threshold[0]
    trees.first, trees.width, trees.weight = &first[0], &width[0], &weight[0]
    return trees


cdef int vote_for_missing(
    const Block* block, const Trees* trees, const Votes* votes, int64_t root, int64_t v,
    int64_t slot, int64_t C, const double* histogram, bint hard, bint last_wins,
    uint64_t* members, double* out,
) except -1 nogil:
    """Add the votes for the rows of node v whose value is missing there, and take them out."""
    cdef vector[Part] agenda, leaves
    cdef vector[double] shares
    cdef Part leaf
    cdef int64_t w, i, c, p, best
    cdef uint64_t rows
    cdef double part, total, sum_of_parts
    cdef const double* weights
    for w in range(block.words):
        rows = members[w] & block.missing[trees.feature[v] * block.words + w]
        members[w] ^= rows
        while rows != 0:
            i = (w << 6) + countr_zero(rows)
            rows &= rows - 1
            shares.assign(C, 0.0)
            sum_of_parts, best = 0.0, 0
            reach_leaves(block, i, trees, root, v, &agenda, &leaves)
            for leaf in leaves:
                weights = histogram + (leaf.node - root) * C
                total = sum_of(weights, C)
                for c in range(C):
                    shares[c] += leaf.part * weights[c] / total
                sum_of_parts += leaf.part
            for c in range(C):
                shares[c] /= sum_of_parts
                if shares[c] > shares[best] or (last_wins and shares[c] == shares[best]):
                    best = c
            for c in range(C):
                part = shares[c]
                if hard:
                    part = 1.0 if c == best else 0.0
                for p in range(votes.start[slot + c], votes.start[slot + c + 1]):
                    out[votes.output[p] * block.n + i] += part * votes.value[p]
    return 0


cdef int reach_leaves(
    const Block* block, int64_t i, const Trees* trees, int64_t root, int64_t v,
    vector[Part]* agenda, vector[Part]* leaves,
) except -1 nogil:
    """List the leaves that parts of row i reach from node v.

    Where its value is missing, a row takes all branches that have rows.
    """
    cdef Part here
    cdef int64_t f, first, child
    cdef double x, part, weight
    leaves.clear()
    here.node, here.part = v, 1.0
    agenda.push_back(here)
    while not agenda.empty():
        here = agenda.back()
        agenda.pop_back()
        f = trees.feature[here.node]
        if f < 0:
            leaves.push_back(here)
            continue
        if f < block.n_features:
            x = block.X[f * block.n + i]
        else:
            x = (ones_of(block, f)[i >> 6] >> (i & 63)) & 1
        first = root + trees.first[here.node]
        if isnan(x):
            part, weight = here.part, trees.weight[here.node]
            for child in range(first, first + trees.width[here.node]):
                if trees.weight[child] > 0:
                    here.node, here.part = child, part * trees.weight[child] / weight
                    agenda.push_back(here)
            continue
        if trees.width[here.node] == 2:
            here.node = first + (x > trees.threshold[here.node])
        else:
            here.node = first + <int64_t>x
        agenda.push_back(here)
    return 0


# ---- chains --------------------------------------------------------------------------------


def predict_links(RowBlock rows, nodes, links, uint64_t[:, ::1] decisions, int64_t at, bint votes,
                  double[:, ::1] out):
    """Send all rows of a block down the tree of every link; see ``LinkPredictor.predict``.

    Parameters
    ----------
    rows : RowBlock
        Features of X; those of the trees go on with the labels.
    nodes : tuple of ndarray
        Trees of two classes as :func:`sum_votes` takes them, and the probability of presence.
    links : tuple of ndarray
        The tree and the label of each link, and the line where the decisions of its chain begin.
    decisions : ndarray of uint64
        A line of bits for every label of every chain; those of the block begin at word ``at``.
    votes : bool
        Add up decisions, not probabilities.
    out : ndarray
        A line for every label and a column for every row of the block, or no lines.
    """
    cdef const int64_t[::1] tree = links[0], label = links[1], base = links[2]
    cdef const int64_t[::1] node_start = nodes[0]
    cdef const double[::1] share = nodes[6]
    cdef Trees trees
    cdef Block block = rows.block
    cdef int64_t n = block.n, words = block.words, most = 1, k, v, w, f, root
    cdef uint64_t* here
    cdef double* sums = NULL
    cdef vector[uint64_t] members, decided
    if n == 0 or tree.shape[0] == 0:
        return
    trees = trees_of(nodes)
    with nogil:
        for k in range(tree.shape[0]):
            most = max(most, node_start[tree[k] + 1] - node_start[tree[k]])
        members.resize(most * words)
        block.stride = decisions.shape[1]
        for k in range(tree.shape[0]):
            root = node_start[tree[k]]
            block.labels = &decisions[base[k], at]
            if out.shape[0] > 0:
                sums = &out[label[k], 0]
            set_all(members.data(), n)
            decided.assign(words, 0)
            for v in range(root, node_start[tree[k] + 1]):
                here, f = members.data() + (v - root) * words, trees.feature[v]
                if f >= 0:
                    if block.missing != NULL and f < block.n_features:
                        decide_missing(
                            &block, &trees, &share[0], root, v, here, decided.data(), votes, sums
                        )
                    partition_rows(&block, &trees, v, members.data(), root)
                else:
                    for w in range(words if share[v] >= 0.5 else 0):
                        decided[w] |= here[w]
                    if sums != NULL:
                        add_to_rows(here, n, decision(share[v], votes), sums)
            for w in range(words):
                decisions[base[k] + label[k], at + w] = decided[w]


cdef inline double decision(double share, bint votes) noexcept nogil:
    """Return the probability of presence, or whether that is the vote."""
    return <double>(share >= 0.5) if votes else share


cdef int decide_missing(
    const Block* block, const Trees* trees, const double* share, int64_t root, int64_t v,
    uint64_t* members, uint64_t* decided, bint votes, double* sums,
) except -1 nogil:
    """Decide about the rows of node v whose value is missing there, and take them out."""
    cdef vector[Part] agenda, leaves
    cdef Part leaf
    cdef int64_t w, i
    cdef uint64_t rows
    cdef double total, parts
    for w in range(block.words):
        rows = members[w] & block.missing[trees.feature[v] * block.words + w]
        members[w] ^= rows
        while rows != 0:
            i = (w << 6) + countr_zero(rows)
            total = parts = 0.0
            reach_leaves(block, i, trees, root, v, &agenda, &leaves)
            for leaf in leaves:
                total += leaf.part * share[leaf.node]
                parts += leaf.part
            if total / parts >= 0.5:
                decided[w] |= rows & (~rows + 1)
            if sums != NULL:
                sums[i] += decision(total / parts, votes)
            rows &= rows - 1
    return 0


def stack_rows(data, const int64_t[::1] rows, const int64_t[::1] link_start,
               const int64_t[::1] base, const uint64_t[:, ::1] before,
               const uint8_t[::1] some, int64_t n_labels):
    """Return the cells of some rows of X with the ones of labels after them; see ``stack_links``.

    Labels that are yet to come in a chain do not have ``some`` ones.
    """
    cdef Matrix X
    cdef int64_t i, k, line, e, row
    set_matrix(&X, data)
    cdef int64_t[::1] start = np.zeros(rows.shape[0] + 1, np.int64), place
    with nogil:
        for i in range(rows.shape[0]):
            start[i + 1] = X.row_start[rows[i] + 1] - X.row_start[rows[i]]
        for k in range(base.shape[0]):
            for line in range(base[k], base[k] + n_labels):
                for i in range(link_start[k], link_start[k + 1] if some[line] else 0):
                    start[i + 1] += (before[line, rows[i] >> 6] >> (rows[i] & 63)) & 1
        for i in range(rows.shape[0]):
            start[i + 1] += start[i]
    cdef int32_t[::1] feature = np.full(start[rows.shape[0]] + 1, NO_RANK, np.int32)
    cdef int32_t[::1] rank = np.full(start[rows.shape[0]] + 1, NO_RANK, np.int32)
    place = np.array(start)
    with nogil:
        for i in range(rows.shape[0]):
            for e in range(X.row_start[rows[i]], X.row_start[rows[i] + 1]):
                feature[place[i]], rank[place[i]] = X.row_feature[e], X.row_rank[e]
                place[i] += 1
        for k in range(base.shape[0]):
            for line in range(base[k], base[k] + n_labels):
                for i in range(link_start[k], link_start[k + 1] if some[line] else 0):
                    row = rows[i]
                    if (before[line, row >> 6] >> (row & 63)) & 1:
                        feature[place[i]] = <int32_t>(X.n_features + line - base[k])
                        rank[place[i]] = 1
                        place[i] += 1
    return np.asarray(start), np.asarray(feature), np.asarray(rank)


def stack_columns(data, const int64_t[::1] rows, const int64_t[::1] row_start,
                  const int32_t[::1] row_feature, const int64_t[::1] column_start):
    """Return the same cells column by column; those of X in the order of its columns."""
    cdef Matrix X
    cdef int64_t i, f, t, e
    cdef uint64_t rank
    set_matrix(&X, data)
    cdef int64_t[::1] place = np.array(column_start)
    cdef uint64_t[::1] cells = np.empty(row_start[rows.shape[0]], np.uint64)
    cdef int64_t[::1] last = np.full(X.n_rows, -1, np.int64)  # mention of a row of X, and
    cdef int64_t[::1] mention_before = np.empty(rows.shape[0], np.int64)  # the one before each
    with nogil:
        for i in range(rows.shape[0]):
            mention_before[i], last[rows[i]] = last[rows[i]], i
        for f in range(X.n_features):
            for t in range(X.column_start[f], X.column_start[f + 1]):
                rank, i = X.cells[t] & ~ROW_BITS, last[X.cells[t] & ROW_BITS]
                while i >= 0:
                    cells[place[f]] = rank | <uint64_t>i
                    place[f] += 1
                    i = mention_before[i]
        for i in range(rows.shape[0]):
            e = row_start[i + 1] - 1
            while e >= row_start[i] and row_feature[e] >= X.n_features:
                f = row_feature[e]
                cells[place[f]] = <uint64_t>1 << RANK_SHIFT | <uint64_t>i
                place[f] += 1
                e -= 1
    return np.asarray(cells)
