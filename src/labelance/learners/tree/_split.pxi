# The best split of a node: on each of its features, and among them (choose_split).
#
# Where all rows have weight 1 and no value is missing, rows are counted. What a cut keeps of the
# entropy is a sum over classes and sides of n log2 n, and the same counts come up again for every
# feature. So these sums are written down once for the node.

cdef struct Cells:  # the explicit cells of a node in one feature, in ascending order
    int64_t begin
    int64_t end
    int64_t implicit  # rank or code of the rows without a cell; -1 if there are none
    int64_t middle  # where rows without a cell have their place: before the first of higher rank
    int64_t width  # number of categories
    const double* values  # of all ranks of the feature


cdef inline bint far_apart(const Cells* column, int64_t low, int64_t high) noexcept nogil:
    """Tell whether a cut may lie between two ranks."""
    # Most close cells of counts are equal.
    return low != high and column.values[low] + VALUE_GAP < column.values[high]


cdef int64_t choose_split(const Candidate* candidates, int64_t n) noexcept nogil:
    """Return which of ``n`` candidate splits is the best, or -1 for a leaf.

    The largest gain ratio wins among the splits of at least average gain; the first feature
    keeps a tie.
    """
    cdef double total = 0.0, least, best = 0.0
    cdef int64_t i, count = 0, winner = -1
    for i in range(n):
        if candidates[i].status == VALID:
            total += candidates[i].gain
            count += 1
    if count == 0:
        return -1
    least = total / count - SLACK
    for i in range(n):
        if (
            candidates[i].status >= VALID
            and candidates[i].gain >= least
            and candidates[i].ratio - best > EPS
        ):
            best = candidates[i].ratio
            winner = i
    return winner


cdef int64_t cut_between(const double* values, int64_t low, int64_t high) noexcept nogil:
    """Return the last rank on the left of the middle between two ranks.

    Values of other nodes may lie between; rows that have them come here by raising.
    """
    cdef double middle
    cdef int64_t rank
    if low == high:  # a nominal feature: it has no values
        return low
    middle = (values[low] + values[high]) / 2
    if middle == values[high]:
        high = low
    while high - low > 1:
        rank = (low + high) >> 1
        if values[rank] <= middle:
            low = rank
        else:
            high = rank
    return low


# ---- rows are counted ----------------------------------------------------------------------


cdef void evaluate_counted(
    Grower g, const Column* columns, int64_t n_columns, const double* classes, int64_t n
) noexcept nogil:
    """Find the best split on each numeric column of a node of ``n`` rows by counting rows."""
    cdef const Matrix* X = &g.X
    cdef const uint64_t* cells = g.cells.data()
    cdef const double* sums
    cdef const double* score = g.score.data()
    cdef double before, uncut, most, penalty, gained, info
    cdef int64_t C = g.C, i, f, usual, middle, tries, ones, n_close, place, n_left
    cdef int64_t least = least_rows(n, C, g.options.min_samples_leaf)
    cdef int64_t fewest = <int64_t>ceil(g.options.min_samples_leaf - EPS)
    cdef Cells column
    cdef Candidate* here
    tabulate_sums(g, classes, n, &before, &uncut)
    sums = g.sums.data()
    for i in range(n_columns):
        here = &g.candidates[i]
        f = columns[i].feature
        here.status = DEAD
        column.begin, column.end = columns[i].begin, columns[i].end
        usual = X.implicit[f] if n > column.end - column.begin else -1
        column.implicit, column.values = usual, X.levels + X.level_start[f]
        if X.n_categories[f] > 0 or column.end - column.begin < fewest:
            continue
        if not values_differ(cells, &column):
            continue
        here.status = ALIVE
        if column.end - column.begin < least:
            continue
        middle = column.middle = first_above(cells, &column)
        tries = most_cuts(&column, n, least)
        count_cells(cells, &column, &ones, &n_close)
        penalty = g.price[max(tries - n_close - 1, 1)]  # of as many cuts as there are at least
        if C == 2:
            if usual >= 0:
                most = before + highest_score(
                    ones, column.end - column.begin, least, g.sums_start.data(), sums
                )
                if most - penalty < EPS / 2:  # half of what is asked for: rounding is no matter
                    continue
            most = score_two_class_cuts(g, cells, &column, least)
        else:
            most = score_cuts(g, cells, &column, uncut)
        if before + most - penalty < EPS / 2:  # which few columns exceed
            continue
        place = best_cut(cells, score, &column, n, least, before, &gained)
        if place >= 0:
            if gained - penalty < EPS:
                continue
            # Rows without a cell have nothing to say that they are close to the cell below them.
            if g.options.mdl_correction and (n_close or (usual >= 0 and middle > column.begin)):
                tries = count_cuts(cells, &column, n, least)
            gained -= g.price[tries]
        if place >= 0 and gained / n >= EPS:
            n_left = place - column.begin if place < middle else n - column.end + place
            n_left = middle - column.begin if place == column.end else n_left
            info = g.log_table[n] + sums[g.sums_start[C] + n_left]
            here.status, here.gain, here.ratio = VALID, gained / n, gained / info
            ranks_around(cells, &column, place, here)


cdef bint values_differ(const uint64_t* cells, const Cells* column) noexcept nogil:
    """Tell whether a column has values with a gap between them.

    It has if the highest is not close to lower ones; else it takes a look at the values.
    """
    cdef int64_t usual = column.implicit
    cdef int64_t lowest = cell_rank(cells[column.begin]), highest = cell_rank(cells[column.end - 1])
    cdef bint close = cells[column.end - 1] & CLOSE_BIT != 0 or usual > highest
    if 0 <= usual < lowest:
        lowest = usual
    highest = max(usual, highest)
    return far_apart(column, lowest, highest) if close else lowest != highest


cdef void tabulate_sums(
    Grower g, const double* classes, int64_t n, double* before, double* uncut
) noexcept nogil:
    """Tabulate what the counts on the left of a cut bring.

    With k rows of class c on the left, the two sides add ``sums[start[c] + k]`` for the class;
    with k rows of any class on the left they add ``sums[start[C] + k]``, which is negative. Of
    more than two classes, ``sums[start[c] + k]`` is what the next row of the class changes.
    Gives n times the entropy before the cut, and what the classes add where all is right of it.
    """
    cdef const double* log_table = g.log_table
    cdef double* sums = g.sums.data()
    cdef int64_t* start = g.sums_start.data()
    cdef int64_t c, k, own, at = 0
    before[0], uncut[0] = log_table[n], 0.0
    for c in range(g.C):
        own = <int64_t>classes[c]
        start[c] = at
        for k in range(own + 1):
            sums[at + k] = log_table[k] + log_table[own - k]
        for k in range(own if g.C > 2 else 0):
            sums[at + k] = sums[at + k + 1] - sums[at + k]
        at += own + 1
        before[0] -= log_table[own]
        uncut[0] += log_table[own]
    start[g.C] = at
    for k in range(n + 1):
        sums[at + k] = -log_table[k] - log_table[n - k]


cdef int64_t first_above(const uint64_t* cells, const Cells* column) noexcept nogil:
    """Return the ``middle`` of a column."""
    cdef int64_t begin = column.begin, end = column.end, usual = column.implicit, middle
    if usual < 0:
        return end
    if cell_rank(cells[begin]) > usual:
        return begin
    while begin < end:
        middle = (begin + end) >> 1
        if cell_rank(cells[middle]) < usual:
            begin = middle + 1
        else:
            end = middle
    return begin


cdef int64_t most_cuts(const Cells* column, int64_t n, int64_t least) noexcept nogil:
    """Return how many cuts leave enough rows on both sides, if all cells are far apart."""
    cdef int64_t below = column.middle - column.begin, above = column.end - column.middle
    cdef int64_t left = n - above
    cdef int64_t tries = max(0, min(below, n - least + 1) - least)
    if column.implicit >= 0:
        tries += least <= below <= n - least
        tries += max(0, min(above, n - least + 1 - left) - max(0, least - left))
    return tries


cdef void count_cells(
    const uint64_t* cells, const Cells* column, int64_t* ones, int64_t* close
) noexcept nogil:
    """Give how many cells are of class 1, and how many may be too close to lower ones."""
    cdef uint64_t n_ones = 0, n_close = 0
    cdef int64_t t
    for t in range(column.begin, column.end):
        n_ones += cells[t] >> CLASS_SHIFT
        n_close += cells[t] & CLOSE_BIT
    ones[0], close[0] = <int64_t>n_ones, <int64_t>(n_close >> 31)


cdef double highest_score(
    int64_t ones, int64_t n_cells, int64_t least, const int64_t* start, const double* sums
) noexcept nogil:
    """Return what no cut of two classes can exceed, however its column is sorted.

    One side of a cut has cells only, and at least ``least`` of them. The score grows the purer
    that side is: all of one class, and of the other only what it takes for enough rows.
    """
    cdef int64_t zeros = n_cells - ones
    cdef int64_t few_zeros = max(least - ones, 0), few_ones = max(least - zeros, 0)
    return max(
        sums[few_zeros] + sums[start[1] + ones] + sums[start[2] + few_zeros + ones],
        sums[zeros] + sums[start[1] + few_ones] + sums[start[2] + zeros + few_ones],
    )


cdef double score_two_class_cuts(
    Grower g, const uint64_t* cells, const Cells* column, int64_t least
) noexcept nogil:
    """Score the cut before each cell: minus the entropy that it leaves, times n.

    Rows without a cell have their place before cell ``middle``, and the score of the cut before
    them comes last. Cells before them are counted from the left, and cells after them from the
    right, so their classes need not be known. Cuts that leave less than ``least`` rows on the side
    that is counted need no score. Returns what no score exceeds.
    """
    cdef double* score = g.score.data()
    cdef const double* of_zeros = g.sums.data()
    cdef const double* of_ones = of_zeros + g.sums_start[1]
    cdef const double* of_all = of_zeros + g.sums_start[2]
    cdef int64_t first = column.begin, middle = column.middle, end = column.end, few, t
    cdef int64_t left, left_ones = 0
    cdef double here, most = -INFINITY
    few = min(least, middle - first)
    for t in range(first, first + few):
        left_ones += <int64_t>(cells[t] >> CLASS_SHIFT)
    left = few
    for t in range(first + few, middle):
        here = of_zeros[left - left_ones] + of_ones[left_ones] + of_all[left]
        score[t - first] = here
        most = max(most, here)
        left += 1
        left_ones += <int64_t>(cells[t] >> CLASS_SHIFT)
    here = of_zeros[left - left_ones] + of_ones[left_ones] + of_all[left]
    score[end - first] = here
    most = max(most, here)
    # All rows are left of the last cut.
    left = g.sums_start[2] - 2
    left_ones = g.sums_start[2] - g.sums_start[1] - 1
    few = min(least - 1, end - middle)
    for t in range(end - 1, end - 1 - few, -1):
        left_ones -= <int64_t>(cells[t] >> CLASS_SHIFT)
    left -= few
    for t in range(end - 1 - few, middle - 1, -1):
        left -= 1
        left_ones -= <int64_t>(cells[t] >> CLASS_SHIFT)
        here = of_zeros[left - left_ones] + of_ones[left_ones] + of_all[left]
        score[t - first] = here
        most = max(most, here)
    return most


cdef double score_cuts(
    Grower g, const uint64_t* cells, const Cells* column, double uncut
) noexcept nogil:
    """Do what :func:`score_two_class_cuts` does for any number of classes."""
    cdef double* score = g.score.data()
    cdef const double* sums = g.sums.data()
    cdef const int64_t* start = g.sums_start.data()
    cdef const double* of_all = sums + start[g.C]
    cdef const int32_t* y = g.y.data()
    cdef int64_t* place = g.place.data()
    cdef int64_t begin = column.begin, middle = column.middle, end = column.end, t, c, left = 0
    cdef double here, now = uncut, most = -INFINITY
    for c in range(g.C):
        place[c] = start[c]
    for t in range(begin, middle):
        here = now + of_all[left]
        score[t - begin] = here
        most = max(most, here)
        left += 1
        c = y[cells[t] & ROW_BITS]
        now += sums[place[c]]
        place[c] += 1
    here = now + of_all[left]
    score[end - begin] = here
    most = max(most, here)
    for c in range(g.C):
        place[c] = start[c + 1] - 1
    now, left = uncut, start[g.C] - g.C
    for t in range(end - 1, middle - 1, -1):
        left -= 1
        c = y[cells[t] & ROW_BITS]
        place[c] -= 1
        now -= sums[place[c]]
        here = now + of_all[left]
        score[t - begin] = here
        most = max(most, here)
    return most


cdef int64_t best_cut(
    const uint64_t* cells, const double* score, const Cells* column, int64_t n, int64_t least,
    double before, double* gained,
) noexcept nogil:
    """Return the cell after the best cut, and give n times its gain.

    The end stands for rows without a cell; -1 for no cut at all. Only where a cut would be the
    best is it asked whether it lies between cells that are far enough apart.
    """
    cdef int64_t begin = column.begin, middle = column.middle, end = column.end
    cdef int64_t usual = column.implicit, left = 0, place = -1, part, first, last, a, b, t
    cdef double margin = EPS * n, best = -before, bar = best + margin, here
    for part in range(2):
        first = begin if part == 0 else middle
        last = middle if part == 0 else end
        if part == 1 and usual >= 0:
            if least <= left <= n - least:
                here = score[end - begin]
                if here > bar and far_apart(column, cell_rank(cells[middle - 1]), usual):
                    best, place, bar = here, end, here + margin
            left = n - (end - middle)
        # Cuts that leave too few rows on one side are not looked at.
        a = max(first, first + least - left)
        b = max(a, min(last, first + n - least + 1 - left))
        for t in range(a, b):
            here = score[t - begin]
            if here > bar and (cells[t] & CLOSE_BIT == 0 or may_cut_before(cells, column, t)):
                best, place, bar = here, t, here + margin
        left += last - first
    gained[0] = before + best
    return place


cdef inline bint may_cut_before(
    const uint64_t* cells, const Cells* column, int64_t t
) noexcept nogil:
    """Tell whether cell ``t`` is far enough from the cell, or other rows, below it."""
    cdef int64_t usual = column.implicit
    cdef int64_t below = usual if usual >= 0 and t == column.middle else cell_rank(cells[t - 1])
    return far_apart(column, below, cell_rank(cells[t]))


cdef int64_t count_cuts(
    const uint64_t* cells, const Cells* column, int64_t n, int64_t least
) noexcept nogil:
    """Return the number of cuts between cells, or a cell and other rows, that are far apart."""
    cdef int64_t middle = column.middle, usual = column.implicit, tries = 0, left = 0
    cdef int64_t part, first, last, a, b, t
    for part in range(2):
        first = column.begin if part == 0 else middle
        last = middle if part == 0 else column.end
        if part == 1 and usual >= 0:
            if least <= left <= n - least:
                tries += far_apart(column, cell_rank(cells[middle - 1]), usual)
            left = n - (column.end - middle)
        a = max(first, first + least - left)
        b = max(a, min(last, first + n - least + 1 - left))
        for t in range(a, b):
            tries += may_cut_before(cells, column, t)
        left += last - first
    return tries


cdef void ranks_around(
    const uint64_t* cells, const Cells* column, int64_t place, Candidate* found
) noexcept nogil:
    """Note the ranks on both sides of the cut before cell ``place``, see :func:`best_cut`."""
    found.low = found.high = column.implicit
    if place == column.end:
        found.low = cell_rank(cells[column.middle - 1])
    else:
        found.high = cell_rank(cells[place])
        if place != column.middle:
            found.low = cell_rank(cells[place - 1])


# ---- rows have weights, features are nominal -----------------------------------------------


cdef void average_features(Grower g) noexcept nogil:
    """Note which features count in the average gain: not those of very many categories.

    If all features have very many categories, all count.
    """
    cdef double weight = sum_of(g.histogram.data(), g.C)
    cdef bint any_few = False
    cdef int64_t f
    for f in range(g.X.n_features):
        g.averaged[f] = g.X.n_categories[f] == 0 or 0.3 * weight - g.X.n_categories[f] > EPS
        any_few = any_few or g.averaged[f]
    for f in range(g.X.n_features):
        g.averaged[f] = g.averaged[f] or not any_few


cdef void evaluate_others(
    Grower g, const Column* columns, int64_t n_columns, const double* classes, int64_t n
) noexcept nogil:
    """Find the best split on each nominal column, and on numeric ones where rows have weights.

    A nominal feature has a single split, into all categories; a numeric one may have missing
    values.
    """
    cdef double weight = sum_of(classes, g.C)
    cdef Cells column
    cdef Candidate* here
    cdef int64_t i, f
    for i in range(n_columns):
        f, here = columns[i].feature, &g.candidates[i]
        if not g.weighted and g.X.n_categories[f] == 0:
            continue
        column.begin, column.end = columns[i].begin, columns[i].end
        column.implicit = g.X.implicit[f] if n > column.end - column.begin else -1
        column.values, column.width = g.X.levels + g.X.level_start[f], g.X.n_categories[f]
        if column.width == 0:
            weighted_split(g, classes, &column, weight, here)
            continue
        here.low = here.high = 0
        nominal_split(g, classes, &column, weight, here)
        if not g.averaged[f] and here.status == VALID:
            here.status = UNCOUNTED


cdef void nominal_split(
    Grower g, const double* classes, const Cells* column, double W, Candidate* found
) noexcept nogil:
    """Find status, gain and gain ratio of the split into all categories."""
    cdef int64_t usual = column.implicit, C = g.C, code, heavy = 0, t, b, c
    cdef double* known = g.known.data()
    cdef double* branches = g.branches.data()
    cdef const double* weight = g.row_weight.data()
    cdef const uint64_t* cells = g.cells.data()
    cdef const int32_t* y = g.y.data()
    cdef double kept = 0.0, info = 0.0, K = 0.0, before = 0.0, total
    cdef uint64_t row
    for c in range(column.width * C):
        branches[c] = 0.0
    for c in range(C):
        known[c] = classes[c]
        if usual >= 0:
            branches[usual * C + c] = known[c]
    for t in range(column.begin, column.end):
        code, row = cell_rank(cells[t]), cells[t] & ROW_BITS
        if usual >= 0:
            branches[usual * C + y[row]] -= weight[row]
        if code == MISSING:
            known[y[row]] -= weight[row]
        else:
            branches[code * C + y[row]] += weight[row]
    for b in range(column.width):
        total = 0.0
        for c in range(b * C, (b + 1) * C):
            total += branches[c]
            kept += xlogx(branches[c])
        kept -= xlogx(total)
        info -= xlogx(total)
        K += total
        heavy += g.options.min_samples_leaf - total < EPS
    for c in range(C):
        before -= xlogx(known[c])
    found.gain = gain_of(W, max(K, EPS), before + xlogx(K), kept)
    found.ratio = ratio_of(found.gain, W, K, info)
    found.status = VALID if heavy >= 2 else DEAD


cdef void weighted_split(
    Grower g, const double* classes, const Cells* column, double W, Candidate* found
) noexcept nogil:
    """Find status, corrected gain, gain ratio and ranks around the best cut of a numeric column."""
    cdef Cells complete = column[0]
    cdef const uint64_t* cells = g.cells.data()
    cdef const double* weight = g.row_weight.data()
    cdef double* known = g.known.data()
    cdef double* usual = g.branches.data()
    cdef const int32_t* y = g.y.data()
    cdef uint64_t row
    cdef int64_t c, t
    for c in range(g.C):
        known[c] = classes[c]
    while complete.end > complete.begin and cell_rank(cells[complete.end - 1]) == MISSING:
        complete.end -= 1
        row = cells[complete.end] & ROW_BITS
        known[y[row]] -= weight[row]
    for c in range(g.C):
        usual[c] = known[c]
    # Rows without a cell share one value: what the cells leave moves to the left together.
    for t in range(complete.begin, complete.end if complete.implicit >= 0 else complete.begin):
        row = cells[t] & ROW_BITS
        usual[y[row]] -= weight[row]
    scan_weighted(g, &complete, W, found)


cdef void scan_weighted(Grower g, const Cells* column, double W, Candidate* found) noexcept nogil:
    """Try all cuts of a column without missing values; see :func:`weighted_split`."""
    cdef int64_t end = column.end, implicit = column.implicit, C = g.C
    cdef int64_t c, a, b, rank, tries = 0, low = 0, high = 0, lowest = -1, last = -1
    cdef int64_t t = column.begin
    cdef const uint64_t* cells = g.cells.data()
    cdef const double* values = column.values
    cdef const double* weight = g.row_weight.data()
    cdef const double* known = g.known.data()
    cdef const double* usual = g.branches.data()
    cdef double* left = g.left.data()
    cdef double* right = g.right.data()
    cdef const int32_t* y = g.y.data()
    cdef double K = 0.0, before = 0.0, kept_left = 0.0, kept_right = 0.0, best = 0.0
    cdef double best_left = 0.0, weight_left = 0.0, least, kept, gain, moved
    cdef bint together
    cdef uint64_t row
    for c in range(C):
        left[c], right[c] = 0.0, known[c]
        K += known[c]
        before -= xlogx(known[c])
        kept_right += xlogx(right[c])
    before, least = before + xlogx(K), min_side_weight(K, C, g.options.min_samples_leaf)
    while t < end or implicit >= 0:
        together = implicit >= 0 and (t == end or cell_rank(cells[t]) > implicit)
        rank = implicit if together else cell_rank(cells[t])
        if (
            last >= 0
            and values[last] + VALUE_GAP < values[rank]
            and least - weight_left < EPS
            and least - (K - weight_left) < EPS
        ):
            tries += 1
            kept = kept_left + kept_right - xlogx(weight_left) - xlogx(K - weight_left)
            gain = gain_of(W, K, before, kept)
            if gain - best > EPS:
                best, low, high, best_left = gain, last, rank, weight_left
        row = 0 if together else cells[t] & ROW_BITS
        a = 0 if together else y[row]
        b = C if together else a + 1
        for c in range(a, b):
            moved = usual[c] if together else weight[row]
            kept_left += xlogx(left[c] + moved) - xlogx(left[c])
            kept_right += xlogx(right[c] - moved) - xlogx(right[c])
            left[c] += moved
            right[c] -= moved
            weight_left += moved
        lowest, last = (rank if last < 0 else lowest), rank
        implicit = -1 if together else implicit
        t += not together
    if tries > 0 and g.options.mdl_correction:
        best -= log2(tries) / W
    # Below here rows between two values may go, so only the range of all says what is dead.
    found.status, found.ratio = DEAD, 0.0
    found.gain, found.low, found.high = best, low, high
    if last >= 0 and far_apart(column, lowest, last):
        found.status = VALID if tries > 0 and best >= EPS else ALIVE
    if found.status == VALID:
        found.ratio = ratio_of(best, W, K, -xlogx(best_left) - xlogx(K - best_left))
