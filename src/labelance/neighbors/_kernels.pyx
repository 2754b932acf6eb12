"""The loops of neighbor search: distances, the k nearest, scans by bounds."""

from cython cimport floating
from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

import numpy as np

from labelance.neighbors._tensor_metric import FAINT, LIFT

ctypedef fused real:  # as `floating`, of the rows searched where queries have another type
    float
    double

ctypedef fused integer:
    int32_t
    int64_t

cdef extern from *:
    """
    /* What processors do eight or sixteen at a time; no bit depends on how many. */
    #if defined(__x86_64__) && defined(__GLIBC__)
    #define CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
    #else
    #define CLONES
    #endif
    CLONES static void add_singles(Py_ssize_t n, float a, const float *x, float *y) {
        for (Py_ssize_t i = 0; i < n; i++) y[i] += a * x[i];
    }
    CLONES static void add_doubles(Py_ssize_t n, double a, const double *x, double *y) {
        for (Py_ssize_t i = 0; i < n; i++) y[i] += a * x[i];
    }
    """
    void add_singles(Py_ssize_t n, float a, const float *x, float *y) noexcept nogil
    void add_doubles(Py_ssize_t n, double a, const double *x, double *y) noexcept nogil

cdef enum:
    STRIDE = 64  # rows tested together; nearly always none of them is below the limit

cdef double UP = 1.0 + 2.0**-50  # sums a few units apart may have the same root
cdef double LIFTED = LIFT
cdef double FAINT_SQUARE = FAINT * FAINT
cdef double SAFE = 1 - 2.0**-18  # keeps a bound below what float32 may round it to


cdef inline void insert(
    int64_t row, floating value, int64_t *rows, floating *values, Py_ssize_t k
) noexcept nogil:
    # After all that are as near, so that the lower of two rows wins a tie; the last one falls out.
    cdef Py_ssize_t p = k - 1
    while p > 0 and values[p - 1] > value:
        values[p] = values[p - 1]
        rows[p] = rows[p - 1]
        p -= 1
    values[p] = value
    rows[p] = row


cdef inline bint insert_nearer(
    int64_t row, double value, int64_t *rows, double *values, Py_ssize_t k
) noexcept nogil:
    # Whether no other row can be nearer, as k have the distance 0.
    if value < values[k - 1]:
        insert(row, value, rows, values, k)
    return values[k - 1] == 0


# ``_metric.CompiledMetric``.
cdef struct Metric:
    const double *width
    const double *low
    const double *high
    const uint8_t *nominal
    bint cosine
    Py_ssize_t size


cdef Metric point_into(object metric) except *:
    # The arrays live as long as the tuple that the caller holds.
    cdef const double[::1] width = metric.width, low = metric.low, high = metric.high
    cdef const uint8_t[::1] nominal = metric.nominal
    return Metric(&width[0], &low[0], &high[0], &nominal[0], metric.cosine, width.shape[0])


cdef inline double squared_gap(
    double x, double z, Py_ssize_t f, const Metric *metric, double lift
) noexcept nogil:
    cdef double gap, low, high, known, above, below
    if metric.nominal[f]:
        return lift * lift if x != z else 0.0  # NaN differs from everything, itself included
    gap = (x - z) / metric.width[f]
    if gap != gap:  # the largest difference that the missing value, or values, could make
        low = metric.low[f]
        high = metric.high[f]
        if x != x and z != z:
            gap = high - low
        else:
            known = z if x != x else x
            above = high - known
            below = known - low
            gap = below if below > above else above
        gap = gap / metric.width[f]
    return gap * lift * (gap * lift)


cdef inline double cosine_distance(double xz, double xx, double zz) noexcept nogil:
    cdef double distance
    if xx == 0.0 or zz == 0.0:
        return 1.0
    distance = 1.0 - xz / (sqrt(xx) * sqrt(zz))
    return distance if distance > 0.0 else 0.0


cdef inline double dense_pair(
    const floating *q, const real *z, const Metric *metric, double limit
) noexcept nogil:
    # Where the distance is not below the limit, any number that is not either.
    cdef double xz = 0, xx = 0, zz = 0, total = 0, lift = 1, enough = limit * limit * UP, a, b
    cdef Py_ssize_t f
    if metric.cosine:
        for f in range(metric.size):
            a = <double>q[f] / metric.width[f]
            b = <double>z[f] / metric.width[f]
            xz = xz + a * b
            xx = xx + a * a
            zz = zz + b * b
        return cosine_distance(xz, xx, zz)
    while True:
        for f in range(metric.size):
            total += squared_gap(<double>q[f], <double>z[f], f, metric, lift)
            if total >= enough:  # the sum never falls
                break
        if total >= FAINT_SQUARE or lift > 1.0:
            return sqrt(total) / lift
        # Rows are equal, or squares have vanished. What overflows now is beyond a faint limit.
        total = 0.0
        lift = LIFTED
        enough = INFINITY


# The products of two sparse rows, or the sum of their squared differences.
cdef struct Sums:
    double xz, xx, zz, total


cdef inline Sums sparse_sums(
    const floating *a, const integer *in_a, Py_ssize_t n_a,
    const real *b, const integer *in_b, Py_ssize_t n_b,
    const Metric *metric, double enough, double lift,
) noexcept nogil:
    cdef Sums sums = Sums(0, 0, 0, 0)
    cdef Py_ssize_t p = 0, r = 0, f
    cdef double x, z
    while (p < n_a or r < n_b) and sums.total < enough:
        if r == n_b or (p < n_a and in_a[p] <= in_b[r]):
            f = in_a[p]
        else:
            f = in_b[r]
        x = 0.0
        z = 0.0
        if p < n_a and in_a[p] == f:
            x = a[p]
            p += 1
        if r < n_b and in_b[r] == f:
            z = b[r]
            r += 1
        if metric.cosine:
            x = x / metric.width[f]
            z = z / metric.width[f]
            sums.xz = sums.xz + x * z
            sums.xx = sums.xx + x * x
            sums.zz = sums.zz + z * z
        else:
            sums.total += squared_gap(x, z, f, metric, lift)
    return sums


cdef inline double sparse_pair(
    const floating *a, const integer *in_a, Py_ssize_t n_a,
    const real *b, const integer *in_b, Py_ssize_t n_b,
    const Metric *metric, double limit,
) noexcept nogil:
    # What dense_pair would return, from the stored entries alone.
    cdef Sums sums = sparse_sums(a, in_a, n_a, b, in_b, n_b, metric, limit * limit * UP, 1.0)
    if metric.cosine:
        return cosine_distance(sums.xz, sums.xx, sums.zz)
    if sums.total >= FAINT_SQUARE:
        return sqrt(sums.total)
    sums = sparse_sums(a, in_a, n_a, b, in_b, n_b, metric, INFINITY, LIFTED)
    return sqrt(sums.total) / LIFTED


# Candidates are in ascending order, or in that of an earlier ranking followed by higher rows; so who
# comes later in the list loses a tie. One line of candidates may serve all queries.


def rank_dense(
    const floating[:, ::1] Q, const int64_t[::1] queries, const real[:, ::1] X,
    const int64_t[::1] own, object candidates, object metric, object nearest,
):
    """Fill ``nearest`` from the candidates of each query, ties by their order."""
    cdef Metric by = point_into(metric)
    cdef const int64_t[:, ::1] rows = candidates.rows
    cdef const int64_t[::1] counts = candidates.counts
    cdef int64_t[:, ::1] best = nearest.rows
    cdef double[:, ::1] values = nearest.values
    cdef Py_ssize_t i, c, line, row, k = values.shape[1]
    cdef double distance
    with nogil:
        for i in range(queries.shape[0]):
            line = i if rows.shape[0] > 1 else 0
            for c in range(counts[line]):
                row = rows[line, c]
                if row == own[i]:
                    continue
                distance = dense_pair(&Q[queries[i], 0], &X[row, 0], &by, values[i, k - 1])
                if insert_nearer(row, distance, &best[i, 0], &values[i, 0], k):
                    break


def rank_sparse(
    const floating[::1] q_data, const integer[::1] q_indices, const integer[::1] q_indptr,
    const int64_t[::1] queries,
    const real[::1] data, const integer[::1] indices, const integer[::1] indptr,
    const int64_t[::1] own, object candidates, object metric, object nearest,
):
    """Do the same for CSR rows."""
    cdef Metric by = point_into(metric)
    cdef const int64_t[:, ::1] rows = candidates.rows
    cdef const int64_t[::1] counts = candidates.counts
    cdef int64_t[:, ::1] best = nearest.rows
    cdef double[:, ::1] values = nearest.values
    cdef const floating *asked = &q_data[0] if q_data.shape[0] else NULL
    cdef const integer *asked_in = &q_indices[0] if q_data.shape[0] else NULL
    cdef const real *stored = &data[0] if data.shape[0] else NULL
    cdef const integer *stored_in = &indices[0] if data.shape[0] else NULL
    cdef Py_ssize_t i, c, line, row, p, n_p, r, k = values.shape[1]
    cdef double distance
    with nogil:
        for i in range(queries.shape[0]):
            line = i if rows.shape[0] > 1 else 0
            p = q_indptr[queries[i]]
            n_p = q_indptr[queries[i] + 1] - p
            for c in range(counts[line]):
                row = rows[line, c]
                if row == own[i]:
                    continue
                r = indptr[row]
                distance = sparse_pair(
                    asked + p, asked_in + p, n_p,
                    stored + r, stored_in + r, indptr[row + 1] - r, &by, values[i, k - 1],
                )
                if insert_nearer(row, distance, &best[i, 0], &values[i, 0], k):
                    break


def select_top_k(const double[:, ::1] distances, const int64_t[::1] own, object nearest):
    """Fill ``nearest`` from a table of distances; the lower row wins a tie."""
    cdef int64_t[:, ::1] best = nearest.rows
    cdef double[:, ::1] values = nearest.values
    cdef Py_ssize_t i, row, k = values.shape[1]
    with nogil:
        for i in range(distances.shape[0]):
            for row in range(distances.shape[1]):
                if row != own[i]:
                    insert_nearer(row, distances[i, row], &best[i, 0], &values[i, 0], k)


cdef inline bint any_below(
    const floating *scores, const floating *low, floating limit
) noexcept nogil:
    cdef bint found = False
    cdef Py_ssize_t t
    for t in range(STRIDE):
        found |= scores[t] + low[t] < limit
    return found


cdef inline void scan_row(
    const floating *scores, Py_ssize_t size, Py_ssize_t start, Py_ssize_t own,
    const floating *low, const floating *high, floating margin, Py_ssize_t k,
    int64_t *best, floating *values, int64_t *rows, floating *kept_low, int64_t *n_rows,
) noexcept nogil:
    # Scan the rows start, start + 1, ... for a query; ``low`` and ``high`` begin with them. Rows are
    # not kept if there is no room for any.
    cdef Py_ssize_t part, first, last, t, c, count = n_rows[0], left = 0
    cdef floating bound, upper, limit = values[k - 1]
    for part in range((size + STRIDE - 1) // STRIDE):
        first = part * STRIDE
        last = first + STRIDE
        if last > size:
            last = size
        elif not any_below(scores + first, low + first, limit):
            continue
        for t in range(first, last):
            bound = scores[t] + low[t]
            if bound < limit and start + t != own:
                if rows != NULL:
                    rows[count] = start + t
                    kept_low[count] = bound
                    count += 1
                upper = scores[t] + high[t] + margin
                if upper < limit:
                    insert(start + t, upper, best, values, k)
                    limit = values[k - 1]
    # The limit has fallen, and rules out some early ones.
    for c in range(count):
        if kept_low[c] <= limit:
            rows[left] = rows[c]
            kept_low[left] = kept_low[c]
            left += 1
    n_rows[0] = left


def scan_lines(
    const floating[:, ::1] scores, const int64_t[::1] first, const int64_t[::1] sizes,
    const uint8_t[:, ::1] needed, const int64_t[::1] own, const int64_t[::1] lines,
    Py_ssize_t start, object bounds, object scan,
):
    """Scan the rows of cells for some lines of a block of queries, whose first is ``start``.

    Cell c has ``sizes[c]`` rows from number ``first[c]`` on, whose scores follow those of cell c - 1.
    """
    cdef const floating[::1] low = bounds.low, high = bounds.high, margin = bounds.margin
    cdef int64_t[:, ::1] best = scan.best.rows, rows = scan.candidates.rows
    cdef floating[:, ::1] values = scan.best.values, kept_low = scan.low
    cdef int64_t[::1] counts = scan.candidates.counts
    cdef Py_ssize_t t, c, i, at
    with nogil:
        for t in range(lines.shape[0]):
            at = 0
            i = lines[t]
            for c in range(first.shape[0]):
                if needed[c, t]:
                    scan_row(
                        &scores[t, at], sizes[c], first[c], own[t], &low[first[c]],
                        &high[first[c]], margin[start + i], best.shape[1], &best[i, 0],
                        &values[i, 0], &rows[i, 0] if rows.shape[1] else NULL,
                        &kept_low[i, 0] if rows.shape[1] else NULL, &counts[i],
                    )
                at += sizes[c]


def score_rows(
    const floating[::1] q_data, const integer[::1] q_indices, const integer[::1] q_indptr,
    Py_ssize_t start, object index, floating[:, ::1] scores,
):
    """Fill ``scores`` with -2 x·z for the queries from ``start`` on and all rows z."""
    cdef const floating[::1] stored = index.values, category_scores = index.category_scores
    cdef const int32_t[::1] rows = index.rows, starts = index.starts, strip_of = index.strip_of
    cdef const floating[:, ::1] strips = index.strips
    cdef const uint8_t[::1] many = index.many
    cdef Py_ssize_t i, p, r, f, n = scores.shape[1]
    cdef floating value, twice
    with nogil:
        for i in range(scores.shape[0]):
            memset(&scores[i, 0], 0, n * sizeof(floating))
            for p in range(q_indptr[start + i], q_indptr[start + i + 1]):
                f = q_indices[p]
                value = q_data[p]
                twice = -(value + value)
                if many[f]:
                    for r in range(starts[f], starts[f + 1]):
                        scores[i, rows[r]] += category_scores[stored[r] == value]
                elif strip_of[f] >= 0:
                    if floating is float:
                        add_singles(n, twice, &strips[strip_of[f], 0], &scores[i, 0])
                    else:
                        add_doubles(n, twice, &strips[strip_of[f], 0], &scores[i, 0])
                else:
                    for r in range(starts[f], starts[f + 1]):
                        scores[i, rows[r]] += twice * stored[r]


def bound_cells(
    const floating[:, ::1] products, Py_ssize_t group, const double[::1] lengths,
    object extents, const double[::1] gaps, object error, float[:, ::1] bounds,
):
    """Fill ``bounds`` with less than the distance of every query to any row of every cell."""
    cdef const double[::1] centers = extents.lengths, longest = extents.longest
    cdef const double[::1] nearest = extents.nearest, farthest = extents.farthest
    cdef double share = error.share, tiny = error.tiny
    cdef double length, reach, inside, gap, slack, wrong, square, low, high, own, bound
    cdef Py_ssize_t cell, i
    with nogil:
        for cell in range(products.shape[0]):
            length = centers[cell]
            reach = farthest[cell]
            inside = nearest[cell]
            gap = gaps[cell]
            # The rows of a cell are nearer to its center up to the error of two distances.
            slack = 2 * share * (longest[cell] + max(length, centers[group])) + 2 * tiny
            for i in range(lengths.shape[0]):
                wrong = share * (lengths[i] + length) + tiny
                square = lengths[i] + length - 2 * <double>products[cell, i]
                low = square - wrong
                high = square + wrong
                own = lengths[i] + centers[group] - 2 * <double>products[group, i]
                own += share * (lengths[i] + centers[group]) + tiny
                bound = max(sqrt(max(low, 0.0)) - reach, inside - sqrt(max(high, 0.0)))
                if gap > 0:
                    bound = max(bound, (low - own - slack) / (2 * gap))
                bounds[cell, i] = <float>(max(bound, 0.0) * SAFE)
