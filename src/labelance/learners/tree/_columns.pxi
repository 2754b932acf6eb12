# The sorted columns of nodes: collected for the root of a tree, handed on to children.

cdef enum:
    ALL_CHANGED = 0
    SPARSE = 16  # where fewer than one row in this many leaves a node, most columns stay the same
    COPIED = 1  # what becomes of the cells of a row
    KEPT = 2


cdef int64_t copy_columns(Grower g, int64_t fewest) except -1 nogil:
    """Copy the columns of all rows that have enough cells; return their number.

    Where there are two classes, that of its row is added to a cell.
    """
    cdef const Matrix* X = &g.X
    cdef uint64_t* cells
    cdef Column* columns
    cdef const int32_t* y = g.y.data()
    cdef int64_t f, t, top = 0, size = 0, of_class = g.C == 2
    make_room(g, X.column_start[X.n_features] + 2, X.n_features + 1)
    cells, columns = g.cells.data(), g.columns.data()
    for f in range(X.n_features):
        if X.column_start[f + 1] - X.column_start[f] >= fewest:
            columns[top].feature, columns[top].begin = f, size
            for t in range(X.column_start[f], X.column_start[f + 1]):
                cells[size] = X.cells[t] | (
                    <uint64_t>(y[X.cells[t] & ROW_BITS] * of_class) << CLASS_SHIFT
                )
                size += 1
            columns[top].end = size
            top += 1
    return top


cdef int make_room(Grower g, int64_t n_cells, int64_t n_columns) except -1 nogil:
    if <int64_t>g.cells.size() < n_cells:
        g.cells.resize(n_cells)
    if <int64_t>g.columns.size() < n_columns:
        g.columns.resize(n_columns)
    return 0


cdef int64_t collect_columns(Grower g, int64_t fewest) except -1 nogil:
    """Do what :func:`copy_columns` does for some rows of X, which may come several times.

    Their cells are marked among all, in the order of the columns, so what is copied is sorted
    as they are. A row is noted where it comes ``first``, and where ``later``.
    """
    cdef const Matrix* X = &g.X
    cdef uint64_t* cells
    cdef Column* columns
    cdef uint64_t* marked = g.marked.data()
    cdef int32_t* first = g.first.data()
    cdef int32_t* later = g.later.data()
    cdef const int32_t* y = g.y.data()
    cdef int64_t top = 0, begin = 0, size = 0, f = -1, of_class = g.C == 2, n_cells = 0
    cdef int64_t i, e, t, w, row
    cdef uint64_t x, cell, last_rank = ALL_ONES
    for i in range(g.n):
        first[g.rows[i]] = -1
        n_cells += X.row_start[g.rows[i] + 1] - X.row_start[g.rows[i]]
    for i in range(g.n - 1, -1, -1):
        row = g.rows[i]
        later[i], first[row] = first[row], <int32_t>i
        for e in range(X.row_start[row], X.row_start[row + 1]):
            marked[g.place_by_row[e] >> 6] |= <uint64_t>1 << (g.place_by_row[e] & 63)
    make_room(g, n_cells + 2, X.n_features + 1)
    cells, columns = g.cells.data(), g.columns.data()
    for w in range(<int64_t>g.marked.size()):
        x, marked[w] = marked[w], 0
        while x != 0:
            t = (w << 6) + countr_zero(x)
            x &= x - 1
            if g.feature_of_cell[t] != f:
                if size - begin >= fewest:
                    top += 1
                    begin = size
                size, f, last_rank = begin, g.feature_of_cell[t], ALL_ONES
                columns[top].feature, columns[top].begin = f, begin
            cell, i = X.cells[t] & ~ROW_BITS, first[X.cells[t] & ROW_BITS]
            while i >= 0:
                # X may have the cell of a row that comes twice only once.
                if cell >> RANK_SHIFT == last_rank:
                    cell |= CLOSE_BIT
                cells[size] = cell | <uint64_t>i | <uint64_t>(y[i] * of_class) << CLASS_SHIFT
                last_rank = cell >> RANK_SHIFT
                i = later[i]
                size += 1
            columns[top].end = size
    return top + (size - begin >= fewest)


cdef int64_t mark_changed(
    Grower g, const int64_t* begin, int64_t width, int64_t largest, int64_t mark
) noexcept nogil:
    """Mark the features of the rows that go to other branches than the largest.

    Returns the mark, or ``ALL_CHANGED`` where enough rows leave for most columns to lose some.
    """
    cdef int64_t first = begin[largest], last = begin[largest + 1], leaving = begin[width] - begin[0]
    cdef int64_t e, t, i
    cdef int64_t* changed = g.changed.data()
    if (leaving - (last - first)) * SPARSE > leaving:
        return ALL_CHANGED
    for e in range(begin[0], begin[width]):
        if not first <= e < last:
            i = g.rows[g.row[e]]
            for t in range(g.X.row_start[i], g.X.row_start[i + 1]):
                changed[g.X.row_feature[t]] = mark
    return mark


cdef void mark_rows(
    Grower g, const int64_t* begin, int64_t width, int64_t copied, int64_t kept
) noexcept nogil:
    """Mark the rows of two branches; a row with a missing value may be in both.

    If they are the same branch, its rows are kept.
    """
    cdef uint8_t* goes = g.goes.data()
    cdef const int32_t* row = g.row.data()
    cdef int64_t e
    for e in range(begin[0], begin[width]):
        goes[row[e]] = 0
    if copied != kept:
        for e in range(begin[copied], begin[copied + 1]):
            goes[row[e]] = COPIED
    if kept >= 0:
        for e in range(begin[kept], begin[kept + 1]):
            goes[row[e]] |= KEPT


cdef int64_t partition_columns(
    Grower g, int64_t low, int64_t top, int64_t mark, int64_t fewest, bint in_place, int64_t to,
    int64_t* end_of_kept,
) noexcept nogil:
    """Copy the cells of some rows after all others; ``in_place``, push those of others together.

    The columns of what is copied come to ``to``. Columns with too few cells are left out. Where
    few rows leave, columns that none of them has are not looked at, and all stay where they begin.
    Returns where the columns of what is copied end, and gives where those of the others do.
    """
    cdef Column* columns = g.columns.data()
    cdef uint64_t* cells = g.cells.data()
    cdef const uint8_t* goes = g.goes.data()
    cdef const int64_t* changed = g.changed.data()
    cdef int64_t copied = columns[to - 1].end, kept = g.cells.size() - 1, place = low
    cdef int64_t i, t, f, begin, end, copied_from, kept_from
    cdef bint alive, same
    cdef uint64_t cell, way
    if in_place:
        kept = columns[low].begin
    for i in range(low, top):
        f, begin, end = columns[i].feature, columns[i].begin, columns[i].end
        alive = g.candidates[i - low].status != DEAD
        same = mark != ALL_CHANGED and changed[f] != mark
        if in_place and mark != ALL_CHANGED:
            kept = begin
        copied_from, kept_from = copied, kept
        if alive and same:
            if in_place:
                kept = end
        elif alive:
            # There is no branch on a row: where it goes is hard to foresee.
            for t in range(begin, end):
                cell = cells[t]
                way = goes[cell & ROW_BITS]
                cells[copied] = cell
                cells[kept] = cell
                copied += way & 1
                kept += way >> 1
        columns[to].feature, columns[to].begin, columns[to].end = f, copied_from, copied
        to += copied - copied_from >= fewest
        copied = copied if copied - copied_from >= fewest else copied_from
        if in_place:
            columns[place].feature, columns[place].begin, columns[place].end = f, kept_from, kept
            place += kept - kept_from >= fewest
            kept = kept if kept - kept_from >= fewest else kept_from
    end_of_kept[0] = place
    return to
