# Growing trees where every feature has two categories: only counts matter, nothing is sorted.
#
# Rows of a node are a set of bits, and so are the rows where a feature has its explicit code;
# a split is a few ANDs. For each feature that can still split, a node knows how many of its
# rows are explicit, class by class. After a split the rows of the smaller child are counted;
# what its parent had beyond that belongs to the larger child.
#
# The counts of a feature at a node are a line: the feature, and then the number of its explicit
# rows of each class.

cdef enum:
    MOST_WAITING = 66  # the smaller child goes first, so each waiting node is at most half as large


cdef int grow_binary(Grower g) except -1 nogil:
    """Grow the tree of a problem; its entries are the rows of its leaves."""
    cdef int64_t size = 1, done = 0, depth = 0, top, v, low, here, k, n, best, f, m, usual, b, i
    cdef int64_t words = (g.n + 63) >> 6, stride = 1 + g.C
    cdef int64_t least = <int64_t>ceil(g.options.min_samples_leaf - EPS)
    cdef int64_t[2] child
    cdef bint[2] is_open
    # Every leaf has at least one row.
    make_nodes(g, 1, g.n)
    make_binary_room(g, words, stride)
    top = add_root(g, words, least)
    if top >= 0:
        g.waiting[0].node, g.waiting[0].low = 0, 0
        depth = 1
    else:
        list_bits(g.members.data(), words, g.row.data())
    while depth > 0:
        depth -= 1
        v, low, here = g.waiting[depth].node, g.waiting[depth].low, depth * words
        k, n = top - low, g.nodes[v].stop - g.nodes[v].start
        g.nodes[v].start, g.nodes[v].stop, top = done, done + n, low
        best = choose_feature(g, low, k, v, n)
        if best < 0:
            done += list_bits(g.members.data() + here, words, g.row.data() + done)
            continue
        make_nodes(g, size + 2, g.n)
        f = g.counts[(low + best) * stride]
        g.nodes[v].feature, g.nodes[v].first, g.nodes[v].width = f, size, 2
        usual = size + g.X.implicit[f]
        m = split_node(g, v, here, words, usual, &child[0], &child[1])
        is_open[0], is_open[1] = set_leaf(g, child[0], 0, n - m), set_leaf(g, child[1], 0, m)
        if is_open[0] or is_open[1]:
            count_smaller(g, low, here + words, words, m, k)
        for b in range(2):  # the larger child, then the smaller
            if is_open[b]:
                for i in range(words if depth * words != here else 0):
                    g.members[depth * words + i] = g.members[here + i]
                g.waiting[depth].node, g.waiting[depth].low = child[b], top
                depth += 1
                top = push_child(g, top, k, b, m if b else n - m, least)
            else:
                g.nodes[child[b]].start = done
                done += list_bits(g.members.data() + here, words, g.row.data() + done)
                g.nodes[child[b]].stop = done
            here += words
        size += 2
    return 0


cdef int make_binary_room(Grower g, int64_t words, int64_t stride) except -1 nogil:
    """Make the sets of explicit rows of all features, and room for the others and the counts."""
    cdef int64_t d = g.X.n_features, f, t, i, row
    if <int64_t>g.members.size() < MOST_WAITING * words:
        g.members.resize(MOST_WAITING * words)
        g.own.resize(words)
        g.listed.resize((words << 6) + 1)
    if <int64_t>g.waiting.size() < MOST_WAITING:
        g.waiting.resize(MOST_WAITING)
        g.place_of.assign(d, d)
        g.gains.resize(d)
    if <int64_t>g.counts.size() < MOST_WAITING * d * stride:
        g.counts.resize(MOST_WAITING * d * stride)
        g.parent.resize(d * stride)
        g.smaller.resize((d + 1) * g.C)
    g.of_class.assign(g.C * words, 0)
    if not g.all_rows:
        g.explicit_rows.assign(d * words, 0)
        for i in range(g.n):
            row = g.rows[i]
            for t in range(g.X.row_start[row], g.X.row_start[row + 1]):
                f = g.X.row_feature[t]
                g.explicit_rows[f * words + (i >> 6)] |= <uint64_t>1 << (i & 63)
    elif g.explicit_rows.size() == 0:  # the same for all problems
        g.explicit_rows.assign(d * words, 0)
        for f in range(d):
            for t in range(g.X.column_start[f], g.X.column_start[f + 1]):
                row = g.X.cells[t] & ROW_BITS
                g.explicit_rows[f * words + (row >> 6)] |= <uint64_t>1 << (row & 63)
    return 0


cdef int64_t list_bits(const uint64_t* bits, int64_t words, int32_t* out) noexcept nogil:
    """Write the rows of a set; return how many there are."""
    cdef int64_t w, at = 0
    cdef uint64_t x
    for w in range(words):
        x = bits[w]
        while x != 0:
            out[at] = <int32_t>((w << 6) + countr_zero(x))
            at += 1
            x &= x - 1
    return at


cdef int64_t add_root(Grower g, int64_t words, int64_t least) noexcept nogil:
    """Make the root, its sets and its counts; return the top of the stack, -1 for a leaf."""
    cdef int64_t i, c, f
    for c in range(g.C):
        g.histogram[c] = 0.0
    for i in range(words):
        g.members[i] = 0
    for i in range(g.n):
        g.histogram[g.y[i]] += 1
        g.of_class[g.y[i] * words + (i >> 6)] |= <uint64_t>1 << (i & 63)
        g.members[i >> 6] |= <uint64_t>1 << (i & 63)
    if not set_leaf(g, 0, 0, g.n):
        return -1
    for f in range(g.X.n_features):
        g.parent[f * (1 + g.C)] = <uint32_t>f
    count_root(g)
    return push_child(g, 0, g.X.n_features, True, g.n, least)


cdef void count_root(Grower g) noexcept nogil:
    """Count the explicit rows of every feature.

    Where all rows take part, the counts of the largest class are what the others leave.
    """
    cdef int64_t i, c, f, largest = 0, m = 0, rest
    for c in range(1, g.C):
        largest = c if g.histogram[c] > g.histogram[largest] else largest
    for i in range(g.n):
        g.listed[m] = <int32_t>i
        m += not g.all_rows or g.y[i] != largest
    count_rows(g, m, g.X.n_features)
    if not g.all_rows:
        return
    for f in range(g.X.n_features):
        rest = g.X.column_start[f + 1] - g.X.column_start[f]
        for c in range(g.C):
            if c != largest:
                rest -= g.smaller[f * g.C + c]
        g.smaller[f * g.C + largest] = <uint32_t>rest


cdef int64_t split_node(
    Grower g, int64_t v, int64_t here, int64_t words, int64_t usual, int64_t* large, int64_t* small
) noexcept nogil:
    """Split the set of node v, leaving the larger half in its place and the smaller after it.

    Implicit rows go to the child ``usual``, explicit ones to the other. Returns the number of rows
    of the smaller child.
    """
    cdef int64_t C = g.C, m = 0, w, c, n = g.nodes[v].stop - g.nodes[v].start
    cdef int64_t other = 2 * g.nodes[v].first + 1 - usual
    cdef double* histogram = g.histogram.data()
    cdef uint64_t* members = g.members.data() + here
    cdef uint64_t* taken = members + words
    cdef const uint64_t* explicit_rows = g.explicit_rows.data() + g.nodes[v].feature * words
    for w in range(words):
        taken[w] = members[w] & explicit_rows[w]
        members[w] ^= taken[w]
    for c in range(C):
        histogram[other * C + c] = count_common(taken, g.of_class.data() + c * words, words)
        m += <int64_t>histogram[other * C + c]
        histogram[usual * C + c] = histogram[v * C + c] - histogram[other * C + c]
    large[0], small[0] = usual, other
    if 2 * m > n:
        large[0], small[0], m = other, usual, n - m
        for w in range(words):
            members[w], taken[w] = taken[w], members[w]
    return m


cdef void count_smaller(
    Grower g, int64_t low, int64_t bits, int64_t words, int64_t m, int64_t k
) noexcept nogil:
    """Put aside what the parent counted, and count the ``m`` rows of its smaller child.

    The parent has ``k`` features, from ``low`` on; the child's rows are the set at ``bits``.
    """
    cdef int64_t stride = 1 + g.C, i
    cdef int64_t cells_per_row = (g.X.column_start[g.X.n_features] + 1) // g.X.n_rows
    for i in range(k * stride):
        g.parent[i] = g.counts[low * stride + i]
    if m * cells_per_row > k * g.C * (2 + words // 8):
        count_bits(g, g.members.data() + bits, words, k)
    else:
        list_bits(g.members.data() + bits, words, g.listed.data())
        count_rows(g, m, k)


cdef void count_rows(Grower g, int64_t m, int64_t k) noexcept nogil:
    """Count, for the ``k`` features of the parent and every class, the explicit of ``m`` rows."""
    cdef int64_t C = g.C, stride = 1 + g.C, i, e, t, row
    cdef const int64_t* row_start = g.X.row_start
    cdef const int32_t* row_feature = g.X.row_feature
    cdef const uint32_t* parent = g.parent.data()
    cdef uint32_t* smaller = g.smaller.data()
    cdef int64_t* place = g.place_of.data()
    for i in range(k * C):
        smaller[i] = 0
    for i in range(k):
        place[parent[i * stride]] = i
    for e in range(m):
        i = g.listed[e]
        row = g.rows[i]
        for t in range(row_start[row], row_start[row + 1]):
            smaller[place[row_feature[t]] * C + g.y[i]] += 1
    for i in range(k):
        place[parent[i * stride]] = g.X.n_features  # a line for those that do not count


cdef void count_bits(Grower g, const uint64_t* members, int64_t words, int64_t k) noexcept nogil:
    """Do what :func:`count_rows` does by counting bits, which pays for many rows."""
    cdef uint64_t* own = g.own.data()
    cdef const uint64_t* of_class
    cdef int64_t c, w, i
    for c in range(g.C):
        of_class = g.of_class.data() + c * words
        for w in range(words):
            own[w] = members[w] & of_class[w]
        for i in range(k):
            g.smaller[i * g.C + c] = <uint32_t>count_common(
                own, g.explicit_rows.data() + g.parent[i * (1 + g.C)] * words, words
            )


cdef int64_t push_child(
    Grower g, int64_t top, int64_t k, bint is_smaller, int64_t n, int64_t least
) noexcept nogil:
    """Put the counts of a child of ``n`` rows on the stack; return its new top.

    A feature stays if both its branches have enough rows: below, they only get fewer.
    """
    cdef int64_t C = g.C, stride = 1 + g.C, i, c, explicit
    cdef uint32_t here
    cdef uint32_t* counts = g.counts.data()
    cdef const uint32_t* parent = g.parent.data()
    cdef const uint32_t* smaller = g.smaller.data()
    # No branch: which features stay is hard to foresee, and a wrong guess is expensive.
    for i in range(k):
        explicit = 0
        for c in range(C):
            here = smaller[i * C + c]
            here = here if is_smaller else parent[i * stride + 1 + c] - here
            counts[top * stride + 1 + c] = here
            explicit += here
        counts[top * stride] = parent[i * stride]
        top += (explicit >= least) & (explicit <= n - least)
    return top


cdef int64_t choose_feature(Grower g, int64_t low, int64_t k, int64_t v, int64_t n) noexcept nogil:
    """Return which of the ``k`` features of node v, from ``low`` on, is the best, or -1."""
    cdef const double* log_table = g.log_table
    cdef const double* classes = g.histogram.data() + v * g.C
    cdef const uint32_t* counts = g.counts.data() + low * (1 + g.C)
    cdef double* gain = g.gains.data()
    cdef double before = log_table[n], total = 0.0, gained, least, bar, info
    cdef int64_t C = g.C, stride = 1 + g.C, i, c, explicit, a, b, winner = -1
    cdef int64_t zeros = <int64_t>classes[0], ones = <int64_t>classes[C - 1]
    for c in range(C):
        before -= log_table[<int64_t>classes[c]]
    for i in range(k):
        gained, explicit = before, 0
        if C == 2:
            a, b = counts[i * stride + 1], counts[i * stride + 2]
            explicit = a + b
            gained += log_table[a] + log_table[b] + log_table[zeros - a] + log_table[ones - b]
        else:
            for c in range(C):
                a = counts[i * stride + 1 + c]
                explicit += a
                gained += log_table[a] + log_table[<int64_t>classes[c] - a]
        gained -= log_table[explicit] + log_table[n - explicit]
        gain[i] = gained if gained >= EPS else 0.0
        total += gain[i]
    # Everything is n times too large, which spares divisions.
    least, bar = total / max(k, 1) - SLACK * n, EPS
    for i in range(k):
        explicit = 0
        for c in range(C):
            explicit += counts[i * stride + 1 + c]
        info = log_table[n] - log_table[explicit] - log_table[n - explicit]
        if gain[i] > bar * info and gain[i] >= least:
            winner, bar = i, gain[i] / info + EPS
    return winner
