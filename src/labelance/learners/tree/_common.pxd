"""What trees share: X as compiled code sees it, sets of bits, and the criteria of C4.5."""

from libc.math cimport ceil, exp, fabs, log, sqrt
from libc.stdint cimport int32_t, int64_t, uint64_t

cdef extern from *:
    """
    #include <bit>
    #include <stdint.h>

    /* A cell is class << CLASS | rank << RANK | CLOSE | row, see _data.py. */
    #define ROW_BITS UINT64_C(0x7fffffff)
    #define CLOSE_BIT (UINT64_C(1) << 31)
    #define RANK_SHIFT 32
    #define CLASS_SHIFT 63
    #define ALL_ONES (~UINT64_C(0))

    /* Rows that two sets share. The loop is the same everywhere; the instructions need not be: with
       plain x86-64 alone, BinaryRelevance on bibtex took 1.2 to 2.4 times as long. */
    #if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
    __attribute__((target_clones("popcnt", "default")))
    #endif
    static int64_t count_common(const uint64_t *a, const uint64_t *b, int64_t words) {
        int64_t total = 0;
        for (int64_t w = 0; w < words; w++)
            total += std::popcount(a[w] & b[w]);
        return total;
    }
    """
    const uint64_t ROW_BITS
    const uint64_t CLOSE_BIT
    const int RANK_SHIFT
    const int CLASS_SHIFT
    const uint64_t ALL_ONES
    int64_t count_common(const uint64_t* a, const uint64_t* b, int64_t words) noexcept nogil

cdef extern from *:
    """
    #define EPS 1e-6
    #define VALUE_GAP 1e-5
    #define SLACK 1e-3
    #define PRUNE_SLACK 0.1
    #define LN2 0.6931471805599453
    #define MISSING 2147483647
    """
    const double EPS  # tolerance of J48's comparisons
    const double VALUE_GAP  # two numbers closer than this are never separated
    const double SLACK  # how far below the average gain a split may lie
    const double PRUNE_SLACK  # errors by which a smaller tree may be worse and still win
    const double LN2
    const int64_t MISSING  # the rank of a missing cell: after all others

# A feature at a node: can never split below here; cannot split here; can split here; can, but
# does not count in the average gain.
cdef enum Status:
    DEAD = 0
    ALIVE = 1
    VALID = 2
    UNCOUNTED = 3

cdef enum:
    LEAF = -1
    NO_RANK = -1

cdef struct Matrix:  # a TreeData
    int64_t n_rows
    int64_t n_features
    int64_t words
    const int32_t* n_categories
    const int32_t* implicit
    const int64_t* column_start
    const uint64_t* cells
    const int64_t* row_start
    const int32_t* row_feature
    const int32_t* row_rank
    const int64_t* level_start
    const double* levels
    const uint64_t* stored

cdef struct Options:  # C45Options
    double min_samples_leaf
    double confidence
    double z
    bint mdl_correction
    bint collapse
    bint prune
    bint subtree_raising

cdef struct Node:
    int64_t feature  # that it splits on, or LEAF
    int64_t cut  # of a numeric split: up to this rank rows go left
    int64_t first  # child; the others follow it
    int64_t width  # number of children
    int64_t start  # its entries
    int64_t stop


cdef inline int64_t cell_rank(uint64_t cell) noexcept nogil:
    """Return the rank or code of a cell."""
    return <int64_t>((cell >> RANK_SHIFT) & ROW_BITS)  # it has as many bits as the row


cdef inline int64_t rank_of(const Matrix* X, int64_t row, int64_t feature) noexcept nogil:
    """Return the rank of one cell, by binary search in its row."""
    cdef int64_t low = X.row_start[row], end = X.row_start[row + 1], high = end, middle
    if end - low == X.n_features:  # all cells are stored
        return X.row_rank[low + feature]
    if X.words and not (X.stored[row * X.words + (feature >> 6)] >> (feature & 63)) & 1:
        return X.implicit[feature]
    while low < high:
        middle = (low + high) >> 1
        if X.row_feature[middle] < feature:
            low = middle + 1
        else:
            high = middle
    if low < end and X.row_feature[low] == feature:
        return X.row_rank[low]
    return X.implicit[feature]


cdef inline int64_t branch_of(int64_t rank, bint nominal, int64_t cut) noexcept nogil:
    """Return the branch that a row takes by its rank, -1 where its value is missing."""
    if rank == MISSING:
        return -1
    return rank if nominal else <int64_t>(rank > cut)


cdef inline double xlogx(double x) noexcept nogil:
    """Return x ln x, or 0 where x is nearly 0."""
    return 0.0 if x < EPS else x * log(x)


cdef inline double min_side_weight(double known, int64_t C, double min_samples_leaf) noexcept nogil:
    """Return the least weight that a numeric split leaves on either side."""
    cdef double share = 0.1 * known / C
    if share - min_samples_leaf < EPS:
        return min_samples_leaf
    return 25.0 if share - 25.0 > EPS else share


cdef inline int64_t least_rows(int64_t n, int64_t C, double min_samples_leaf) noexcept nogil:
    """Return the least number of rows that a split of ``n`` rows leaves on either side."""
    return max(<int64_t>ceil(min_side_weight(n, C, min_samples_leaf) - EPS), 1)


cdef inline double sum_of(const double* weights, int64_t n) noexcept nogil:
    """Return the sum of ``n`` weights."""
    cdef double total = 0.0
    cdef int64_t i
    for i in range(n):
        total += weights[i]
    return total


cdef inline double largest_of(const double* weights, int64_t n) noexcept nogil:
    """Return the largest of ``n`` weights."""
    cdef double largest = 0.0
    cdef int64_t i
    for i in range(n):
        largest = max(largest, weights[i])
    return largest


cdef inline double _normal_limit(double N, double e, double z) noexcept nogil:
    cdef double f, spread
    if e + 0.5 >= N:
        return max(N - e, 0.0)
    f = (e + 0.5) / N
    spread = z * sqrt(f / N - f * f / N + z * z / (4 * N * N))
    return (f + z * z / (2 * N) + spread) / (1 + z * z / N) * N - e


cdef inline double added_errors(double N, double e, const Options* options) noexcept nogil:
    """Return what a pessimist adds to ``e`` errors among ``N``: an upper confidence limit."""
    cdef double base
    if options.confidence > 0.5:
        return 0.0
    if e < 1:
        base = N * (1 - exp(log(options.confidence) / N))
        if e == 0:
            return base
        return base + e * (_normal_limit(N, 1.0, options.z) - base)
    return _normal_limit(N, e, options.z)


cdef inline double pessimistic_errors(
    const double* histogram, int64_t C, const Options* options
) noexcept nogil:
    """Return the pessimistic errors of a leaf with these class weights."""
    cdef double total = sum_of(histogram, C), errors
    if total < EPS:
        return 0.0
    errors = total - largest_of(histogram, C)
    return errors + added_errors(total, errors, options)


cdef inline double gain_of(double W, double K, double before, double kept) noexcept nogil:
    """Return the information gain in bits.

    ``before`` and minus ``kept`` are the entropy of the known rows before and after the split.
    """
    cdef double numerator = (K / W) * (before + kept) / LN2
    return 0.0 if fabs(numerator) < EPS else numerator / K


cdef inline double ratio_of(double gain, double W, double K, double info) noexcept nogil:
    """Return the gain ratio; ``info`` is minus the sum of xlogx over the branches."""
    cdef double bits = (info - xlogx(W - K) + xlogx(W)) / LN2
    return 0.0 if fabs(bits) < EPS else gain / (bits / W)


cdef inline int set_matrix(Matrix* X, data) except -1:
    """Point to the arrays of a TreeData, which must outlive the pointers."""
    cdef const int32_t[::1] n_categories = data.n_categories, implicit = data.implicit
    cdef const int64_t[::1] column_start = data.column_start, row_start = data.row_start
    cdef const int32_t[::1] row_feature = data.row_feature, row_rank = data.row_rank
    cdef const int64_t[::1] level_start = data.level_start
    cdef const uint64_t[::1] cells = data.cells, stored = data.stored
    cdef const double[::1] levels = data.levels
    X.n_rows, X.n_features, X.words = data.n_rows, n_categories.shape[0], data.words
    X.n_categories = &n_categories[0] if X.n_features else NULL
    X.implicit = &implicit[0] if X.n_features else NULL
    X.cells = &cells[0] if cells.shape[0] else NULL
    X.levels = &levels[0] if levels.shape[0] else NULL
    X.column_start, X.row_start, X.level_start = &column_start[0], &row_start[0], &level_start[0]
    X.row_feature, X.row_rank, X.stored = &row_feature[0], &row_rank[0], &stored[0]
    return 0
