# distutils: language = c++
"""Growing, pruning and packing C4.5 trees: one call for many problems over one X."""

cimport cython
from libc.math cimport INFINITY, NAN, ceil, fabs, log2
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libcpp.bit cimport countr_zero
from libcpp.vector cimport vector

import numpy as np
from scipy.special import ndtri

from labelance.learners.tree._common cimport (
    ALL_ONES, CLASS_SHIFT, CLOSE_BIT, EPS, LEAF, MISSING, NO_RANK, PRUNE_SLACK, RANK_SHIFT,
    ROW_BITS, SLACK, VALUE_GAP, Matrix, Node, Options, Status, ALIVE, DEAD, UNCOUNTED, VALID,
    branch_of, cell_rank, count_common, gain_of, largest_of, least_rows, min_side_weight,
    pessimistic_errors, rank_of, ratio_of, set_matrix, sum_of, xlogx,
)

cdef struct Column:  # the sorted cells of a node in one feature
    int64_t feature
    int64_t begin
    int64_t end

cdef struct Candidate:  # the best split on a feature of a node
    int64_t status
    double gain
    double ratio
    int64_t low  # the ranks on both sides of the best cut
    int64_t high

cdef struct Waiting:  # a node to be split, and its columns
    int64_t node
    int64_t low
    int64_t top

cdef struct Branch:  # a node that entries are partitioned along, and these entries
    int64_t node
    int64_t start
    int64_t stop


@cython.final
cdef class Grower:
    """The tree that grows, the trees that are done, and arrays that serve every tree."""

    cdef Matrix X
    cdef Options options
    cdef bint all_rows, weighted, nominal, complete
    cdef const double* weight  # of the rows of X
    cdef const double* log_table  # n log2 n for every n
    cdef const double* price  # what so many cuts take from n times the gain
    cdef const int64_t* place_by_row  # in the columns, of every cell in the order of rows
    cdef const int32_t* feature_of_cell  # in the order of columns
    # The problem: its rows of X, and their classes.
    cdef int64_t n, C
    cdef vector[int32_t] rows, y
    # The tree: nodes, their class weights, and their rows with the weight of each that is there.
    cdef vector[Node] nodes
    cdef vector[double] histogram
    cdef vector[int32_t] row
    cdef vector[double] part
    cdef int64_t n_entries
    # Growing over sorted columns.
    cdef vector[Waiting] waiting
    cdef vector[Column] columns
    cdef vector[uint64_t] cells
    cdef vector[uint64_t] marked  # a bit for every cell of X
    cdef vector[int32_t] first, later, branch
    cdef vector[uint8_t] goes, can_split
    cdef int64_t trees_before  # nodes of all trees so far
    cdef vector[int64_t] changed  # the last split that took a row from each feature
    cdef vector[double] share  # of the known weight that each branch has
    cdef vector[int64_t] begin, branch_place  # where the entries of each branch begin
    cdef vector[Candidate] candidates
    cdef vector[int64_t] place, sums_start  # per class
    cdef vector[double] sums, score
    cdef vector[double] row_weight, branches, known, left, right
    cdef vector[uint8_t] averaged
    # Growing by counting bits.
    cdef vector[uint64_t] explicit_rows, of_class, members, own
    cdef vector[int32_t] listed
    cdef vector[uint32_t] counts, parent, smaller
    cdef vector[int64_t] place_of
    cdef vector[double] gains
    # Pruning.
    cdef vector[int64_t] next_row, moved, leaf_of, stack, walk, below
    cdef vector[double] as_leaf, estimate, extra
    cdef vector[uint8_t] touched
    cdef vector[Branch] branches_to_go
    # The trees that are done.
    cdef vector[int64_t] sizes
    cdef vector[int32_t] feature, first_child, n_children
    cdef vector[double] threshold, node_weight, class_weights


include "_columns.pxi"
include "_split.pxi"
include "_sorted.pxi"
include "_binary.pxi"
include "_pruning.pxi"


def grow_and_prune(data, problems, index, weight, options, log_table, price, bint complete,
                   bint in_bits):
    """Grow the tree of every problem, prune it, and return all trees as arrays.

    Parameters
    ----------
    data : TreeData
    problems : Problems
    index : CellIndex
    weight : ndarray of float64 or None
        Of the rows of X; None where all are 1 and no value is missing, so rows can be counted.
    options : C45Options
    log_table, price : ndarray of float64
        n log2 n, and what so many cuts take from n times the gain.
    complete : bool
        No value is missing.
    in_bits : bool
        Count bits, see ``_binary.pxi``: every feature has two categories, weight is None.

    Returns
    -------
    tuple of ndarray
        ``sizes``, ``feature``, ``threshold``, ``first``, ``width``, ``weight``, ``histogram``.
    """
    cdef Grower g = Grower()
    cdef const double[::1] logs = log_table, prices = price, weights
    cdef const int64_t[::1] place = index.place
    cdef const int32_t[::1] feature = index.feature
    cdef const int32_t[::1] n_classes = problems.n_classes
    cdef const int64_t[::1] start = problems.start
    cdef const int32_t[::1] rows = problems.rows, targets = problems.targets
    cdef int64_t p, most = logs.shape[0] - 1, C = 0
    set_matrix(&g.X, data)
    (
        g.options.min_samples_leaf, g.options.confidence, g.options.mdl_correction,
        g.options.collapse, g.options.prune, g.options.subtree_raising,
    ) = options
    g.options.z = ndtri(1 - options.confidence)
    g.all_rows, g.complete, g.weighted = problems.all_rows, complete, weight is not None
    g.nominal = g.weighted or data.n_categories.any()
    g.log_table, g.price = &logs[0], &prices[0]
    if g.weighted:
        weights = weight
        g.weight = &weights[0] if weights.shape[0] else NULL
    if not g.all_rows and place.shape[0]:
        g.place_by_row, g.feature_of_cell = &place[0], &feature[0]
    for p in range(n_classes.shape[0]):
        C = max(C, n_classes[p])
    make_buffers(g, most, C, 3 if len(data.n_categories) == 0 else max(3, data.n_categories.max()))
    with nogil:
        for p in range(n_classes.shape[0]):
            load_problem(g, n_classes[p], start[p], start[p + 1], rows, targets)
            if in_bits:
                grow_binary(g)
            else:
                grow_sorted(g)
            g.trees_before += g.nodes.size()
            finish(g)
    return (
        as_array(g.sizes.data(), g.sizes.size()),
        as_array(g.feature.data(), g.feature.size()),
        as_array(g.threshold.data(), g.threshold.size()),
        as_array(g.first_child.data(), g.first_child.size()),
        as_array(g.n_children.data(), g.n_children.size()),
        as_array(g.node_weight.data(), g.node_weight.size()),
        as_array(g.class_weights.data(), g.class_weights.size()),
    )


ctypedef fused number:
    int32_t
    int64_t
    double


cdef as_array(number* values, int64_t n):
    """Return a copy as an array."""
    return np.asarray(<number[:n]>values).copy()


cdef int make_buffers(Grower g, int64_t n, int64_t C, int64_t widest) except -1 nogil:
    """Make what is as long as the largest problem of ``n`` rows and ``C`` classes."""
    cdef int64_t d = g.X.n_features
    g.rows.resize(n)
    g.y.resize(n)
    g.marked.resize(0 if g.all_rows else (g.X.column_start[d] + 63) >> 6)
    g.first.resize(0 if g.all_rows else g.X.n_rows)
    g.later.resize(n)
    g.branch.resize(n)
    g.goes.resize(n)
    g.changed.resize(d)
    g.share.resize(widest)
    g.begin.resize(widest + 1)
    g.branch_place.resize(widest)
    g.can_split.resize(widest)
    g.waiting.resize(1)
    g.candidates.resize(d)
    g.place.resize(C)
    g.sums_start.resize(C + 1)
    g.sums.resize(n + C + n + 1)
    g.score.resize(n + 1)
    g.row_weight.assign(n, 1.0)
    g.branches.resize(widest * C)
    g.known.resize(C)
    g.left.resize(C)
    g.right.resize(C)
    g.averaged.resize(d)
    g.next_row.resize(n)
    g.moved.resize(n)
    g.leaf_of.resize(n)
    g.extra.resize(C)
    return 0


cdef int load_problem(
    Grower g, int64_t C, int64_t start, int64_t stop, const int32_t[::1] rows,
    const int32_t[::1] targets,
) except -1 nogil:
    """List the rows of a problem, and their classes; see ``Problems``."""
    cdef int64_t i
    g.C, g.n = C, g.X.n_rows if g.all_rows else stop - start
    if g.all_rows:
        for i in range(g.n):
            g.rows[i], g.y[i] = <int32_t>i, 0
        for i in range(start, stop):
            g.y[rows[i]] = targets[i]
    else:
        for i in range(start, stop):
            g.rows[i - start], g.y[i - start] = rows[i], targets[i]
    return 0


cdef int finish(Grower g) except -1 nogil:
    """Collapse, prune and pack the tree that has grown."""
    cdef int64_t n_nodes = g.nodes.size()
    if <int64_t>g.estimate.size() < n_nodes:
        g.as_leaf.resize(n_nodes)
        g.estimate.resize(n_nodes)
        g.stack.resize(2 * n_nodes + 1)
        g.walk.resize(n_nodes + 1)
        g.below.resize(n_nodes)
    if g.options.collapse:
        collapse(g)
    if g.options.prune and g.nodes[0].feature != LEAF:
        prune(g)
    return pack(g)
