"""The loops that kernels stand for, as plain Python."""

from itertools import pairwise, product
from math import exp, isnan, log1p, nan, prod, sqrt

import numpy as np


def count_around(ordered, values, order, indptr):
    counts = np.empty((4, values.size), dtype=np.int32)
    for g, row in enumerate(ordered):
        first, last = indptr[g], indptr[g + 1]
        mine = values[first:last]
        for cell, value in enumerate(mine, start=first):
            counts[:, cell] = [
                (row >= value).sum(), (row > value).sum(),
                (mine >= value).sum(), (mine > value).sum(),
            ]  # fmt: skip
    return counts


def write_pairs(indptr, labels, label_indptr, rows, together_indptr, together, pair_indptr):
    q = len(label_indptr) - 1
    pairs = [
        (j, int(other))
        for j in range(q)
        for other in together[together_indptr[j] : together_indptr[j + 1]]
        if other > j
    ]
    number = {pair: at for at, pair in enumerate(pairs)}
    columns = [
        number[j, other]
        for i in range(len(indptr) - 1)
        for j in labels[indptr[i] : indptr[i + 1]]
        for other in labels[indptr[i] : indptr[i + 1]]
        if other > j
    ]
    return np.array(columns, dtype=np.int64), len(pairs)


def assign_phase(incidence, scale, want, heap, fold, draws, ties):
    """Take the rarest item each time, by looking at all that are left."""
    waiting = list(heap.items)
    while waiting:
        rarest = min(waiting, key=lambda item: (heap.left[item], item))
        for i in incidence.units[incidence.item_indptr[rarest] : incidence.item_indptr[rarest + 1]]:
            if fold[i] >= 0:
                continue
            wants = [(want.items[rarest, f], want.rows[f]) for f in range(len(want.rows))]
            best = [f for f in range(len(wants)) if wants[f] == max(wants)]
            fold[i] = best[0]
            if len(best) > 1:
                fold[i] = best[int(draws[ties] * len(best))]
                ties += 1
            held = slice(incidence.indptr[i], incidence.indptr[i + 1])
            want.rows[fold[i]] -= scale * incidence.sizes[i]
            want.items[incidence.items[held], fold[i]] -= scale * incidence.times[held]
            heap.left[incidence.items[held]] -= incidence.times[held]
        waiting.remove(rarest)
    heap.items[:], heap.place[:] = 0, -1
    return ties


def local_search(incidence, fold, n_folds, objective, budget):
    """Measure an assignment again after every step instead of changing what was measured."""
    table = np.zeros((len(fold), len(objective.odds)), dtype=np.int64)
    unit = np.repeat(np.arange(len(fold)), np.diff(incidence.indptr))
    table[unit, incidence.items] = incidence.times

    def loss_of(fold, f):
        held, rows = table[fold == f].sum(axis=0), incidence.sizes[fold == f].sum()
        loss = objective.size_cost * abs(rows - objective.fold_size) if rows else np.inf
        for j in range(len(held) if rows else 0):
            without = max(rows - held[j], 1e-3)
            loss += objective.importance[j] * abs(held[j] / without - objective.odds[j])
        return loss

    fold = np.array(fold)
    losses = [loss_of(fold, f) for f in range(n_folds)]

    def accept(step, a, b):
        new = loss_of(step, a), loss_of(step, b)
        if not new[0] + new[1] < losses[a] + losses[b] - 1e-12:
            return False
        losses[a], losses[b] = new
        return True

    def moves(i):
        for f in range(n_folds):
            yield lambda fold, f=f: (fold[i], f, [i], [f])

    def swaps(i):
        for m in range(i + 1, len(fold)):
            yield lambda fold, m=m: (fold[i], fold[m], [i, m], [fold[m], fold[i]])

    better = True
    while better and budget > 0:
        better = False
        for steps in (moves, swaps):
            for i in range(len(fold)):
                for step in steps(i):
                    a, b, units, folds = step(fold)
                    if a == b or budget <= 0:
                        continue
                    budget -= 2 * len(objective.odds)
                    changed = fold.copy()
                    changed[units] = folds
                    if accept(changed, a, b):
                        fold, better = changed, True
            if better:
                break
    return fold, sum(losses, 0.0), budget


def deal_majority(indptr, indices, out_indptr, out_indices, n, wanted, n_members, chance):
    """Every member of a label has its minority, and rows of a majority that is dealt in turn."""
    rows, is_rare, chances = [], [], iter(chance)
    for j in range(len(wanted)):
        minority = list(indices[indptr[j] : indptr[j + 1]])
        out = set(out_indices[out_indptr[j] : out_indptr[j + 1]])
        pool, dealt = [i for i in range(n) if i not in out], 0
        for _ in range(n_members):
            begin, held = dealt, 0
            rows += minority
            is_rare += [True] * len(minority) + [False] * wanted[j]
            for _ in range(wanted[j]):
                if dealt == len(pool) - held:
                    held = held or len(pool) - begin  # dealt to this member already
                    dealt = 0
                chosen = dealt + int(next(chances) * (len(pool) - held - dealt))
                pool[dealt], pool[chosen] = pool[chosen], pool[dealt]
                rows.append(pool[dealt])
                dealt += 1
    return np.array(rows, dtype=np.int32), np.array(is_rare, dtype=bool)


def draw_balanced(indptr, indices, hole_indptr, hole_indices, n, label, other, wanted, chance):
    """Of every class of every problem, as many rows as wanted, shuffled as they are drawn."""
    rows, classes, chances = [], [], iter(chance)
    ones = [set(indices[a:b]) for a, b in pairwise(indptr)]
    holes = [set(hole_indices[a:b]) for a, b in pairwise(hole_indptr)]
    for j, k, size in zip(label, other, wanted):
        everything, couple = set(range(n)), k >= 0
        known = everything - holes[j] - (holes[k] if couple else set())
        parts = [known - ones[j], known & ones[j]]
        if couple:
            parts = [known - ones[j] - ones[k], (known & ones[k]) - ones[j], known & ones[j]]
        for c, part in enumerate(parts):
            pool = sorted(part)
            for t in range(min(size, len(pool))):
                chosen = t + int(next(chances) * (len(pool) - t))
                pool[t], pool[chosen] = pool[chosen], pool[t]
                rows.append(pool[t])
                classes.append(c)
    return np.array(rows, dtype=np.int32), np.array(classes, dtype=np.int32)


def project(X, a):
    return np.array([sum((w * x for w, x in zip(a, row) if w), 0.0) for row in X])


def gradient_ascent(Z, plus, weight, a, l1, steepness, steps, halvings, tolerance):
    """Proximal gradient steps up the soft Hellinger distance, halved until one is worth it."""

    def value_and_slopes(at, b):
        soft = [1 / (1 + exp(-steepness * (x - b))) for x in project(Z, at)]
        shares = [0.0, 0.0]
        for g, w, is_plus in zip(soft, weight, plus):
            shares[0 if is_plus else 1] += w * g
        p, m = (min(max(share, 1e-12), 1 - 1e-12) for share in shares)
        right, left = sqrt(p) - sqrt(m), sqrt(1 - p) - sqrt(1 - m)
        H = sqrt(right * right + left * left)
        by = [0.0, 0.0]
        if H >= 1e-12:
            by = [
                (sqrt((1 - m) / (1 - p)) - sqrt(m / p)) / (2 * H),
                (sqrt((1 - p) / (1 - m)) - sqrt(p / m)) / (2 * H),
            ]
        value = (H if H >= 1e-12 else 0.0) - l1 * sum((abs(x) for x in at), 0.0)
        slope, slope_b = np.zeros(len(at)), 0.0
        for row, g, w, is_plus in zip(Z, soft, weight, plus):
            pull = by[0 if is_plus else 1] * w * steepness * g * (1 - g)
            slope += pull * row
            slope_b -= pull
        return value, slope, slope_b

    b = 0.0
    for x, w in zip(project(Z, a), weight):
        b += x * w / 2
    step, (value, slope, slope_b) = 1.0, value_and_slopes(a, b)
    for _ in range(steps):
        for _ in range(halvings):
            to = a + step * slope
            trial = np.maximum(to - step * l1, 0.0) + np.minimum(to + step * l1, 0.0)
            length = sum((x * x for x in trial), 0.0)
            trial = trial / sqrt(length) if length > 1 else trial
            reached, *there = value_and_slopes(trial, b + step * slope_b)
            if reached > value + tolerance:
                break
            step /= 2
        else:
            break
        a[:], b, value, (slope, slope_b) = trial, b + step * slope_b, reached, there
        step *= 2
    return value


def take_top(gains, starts, k, exactly):
    chosen = np.zeros(len(gains), dtype=bool)
    for first, last in pairwise(starts):
        ranked = sorted(range(first, last), key=lambda c: -gains[c])[:k]
        chosen[[c for c in ranked if exactly or gains[c] > 0]] = True
    return chosen


def improve_rows(
    p, labels, starts, order, chosen, tp, pred, expected, logs, sure, utility, k, exactly,
    weight, weight_hit,
):  # fmt: skip
    """Decide a row by the gains of its labels, given what all others count."""
    n = len(order)

    def share(part, whole):
        return part / whole if whole > 0 else 0.0

    def gain(j, x):
        rest = expected[j] + pred[j]
        return (
            lambda: 2 * (tp[j] + x) / (rest + 1) - share(2 * tp[j], rest),
            lambda: share(x, expected[j]),
            lambda: (tp[j] + x) / (pred[j] + 1) - share(tp[j], pred[j]),
            lambda: (share(x, expected[j]) - share(1 - x, n - expected[j])) / 2,
            lambda: x * exp(logs[j]) if sure[j] == 0 else 0.0,
            lambda: x,
        )[utility]()

    def count(c, sign):
        j, x = labels[c], p[c]
        tp[j] += sign * x
        pred[j] += sign
        if x >= 1:
            sure[j] += sign
        else:
            logs[j] += sign * log1p(-x)

    for row in order:
        own = range(starts[row], starts[row + 1])
        gains = []
        for c in own:
            if chosen[c]:
                count(c, -1)
            gains.append(weight * gain(labels[c], p[c]) + weight_hit * p[c])
        chosen[own.start : own.stop] = take_top(np.array(gains), [0, len(own)], k, exactly)
        for c in own:
            if chosen[c]:
                count(c, 1)


def count_best(p, starts, beta2):
    """Expected F of the k most probable labels, over how many labels there may be."""
    best = []
    for first, last in pairwise(starts):
        own, values = p[first:last], []
        for k in range(last - first + 1):
            values.append(0.0)
            for y in product([0, 1], repeat=last - first):
                chance = prod(x if one else 1 - x for x, one in zip(own, y))
                if k:
                    values[-1] += chance * (1 + beta2) * sum(y[:k]) / (beta2 * sum(y) + k)
                else:
                    values[-1] += chance * (sum(y) == 0)
        best.append(int(np.argmax(np.round(values, 12))))
    return np.array(best, dtype=np.int64)


def pair_up(data, indices, indptr, seed, reference):
    """Yield every feature that either row stores, and both values."""
    rows = [slice(indptr[i], indptr[i + 1]) for i in (seed, reference)]
    a, b = (dict(zip(indices[row].tolist(), data[row].tolist())) for row in rows)
    for f in sorted(a | b):
        yield f, a.get(f, 0.0), b.get(f, 0.0)


def count_sparse(data, indices, indptr, seeds, references, categorical, line):
    needed, union = [0], 0
    for pair in zip(seeds, references):
        needed.append(int(line))
        for f, a, b in pair_up(data, indices, indptr, *pair):
            union += 1
            needed[-1] += not isnan(a - b) and a != b and bool(categorical[f] or not line)
    return np.cumsum(needed, dtype=np.int64), union


def fill_sparse(
    data, indices, indptr, seeds, references, categorical, line, numbers, start, stop,
    new_data, new_indices, new_indptr,
):  # fmt: skip
    """A value of each feature between those of both rows; zeros are not stored."""
    chances, end = iter(numbers), new_indptr[start]
    for t in range(start, stop):
        along = next(chances) if line else 0.0
        for f, a, b in pair_up(data, indices, indptr, seeds[t], references[t]):
            known, u = not isnan(a - b), along
            if known and a != b and (categorical[f] or not line):
                u = next(chances)
            value = min(max(a + u * (b - a), min(a, b)), max(a, b)) if known else nan
            if known and a == b:
                value = a
            if categorical[f]:
                value = (a if u < 0.5 else b) if known else (b if isnan(a) else a)
            if value != 0:
                new_data[end], new_indices[end] = value, f
                end += 1
        new_indptr[t + 1] = end


def rank_rows(Q, queries, X, own, candidates, metric, nearest):
    """Measure all candidates and sort them, those that are as near in the order of the list."""
    for i, query in enumerate(queries):
        line = min(i, len(candidates.rows) - 1)
        listed = candidates.rows[line, : candidates.counts[line]]
        found = [(distance(Q[query], X[row], metric), row) for row in listed if row != own[i]]
        for place, (value, row) in enumerate(sorted(found, key=lambda each: each[0])):
            if place < nearest.rows.shape[1] and value < np.inf:
                nearest.rows[i, place], nearest.values[i, place] = row, value


def distance(q, x, metric):
    total = xz = xx = zz = 0.0
    for a, b, width, low, high, nominal in zip(q.astype(float), x.astype(float), *metric[:4]):
        if metric.cosine:
            a, b = a / width, b / width
            xz, xx, zz = xz + a * b, xx + a * a, zz + b * b
        elif nominal:
            total += float(a != b)
        elif np.isnan([a, b]).any():
            known = [value for value in (a, b) if not np.isnan(value)]
            gap = max(high - known[0], known[0] - low) if known else high - low
            total += gap / width * (gap / width)
        else:
            total += (a - b) / width * ((a - b) / width)
    if metric.cosine:
        return max(1 - xz / (np.sqrt(xx) * np.sqrt(zz)), 0.0) if xx and zz else 1.0
    return np.sqrt(total)


def select_top_k(distances, own, nearest):
    for i, line in enumerate(distances):
        rows = [row for row in np.argsort(line, kind="stable") if row != own[i]]
        rows = rows[: nearest.rows.shape[1]]
        nearest.rows[i, : len(rows)], nearest.values[i, : len(rows)] = rows, line[rows]


def scan_lines(scores, first, sizes, needed, own, lines, start, bounds, scan):
    """Scan rows one by one, and drop what the limit rules out at last after each cell."""
    for t, i in enumerate(lines):
        for c in np.flatnonzero(needed[:, t]):
            before = sizes[:c].sum()
            for at in range(sizes[c]):
                row, score = first[c] + at, scores[t, before + at]
                bound = score + bounds.low[row]
                if bound < scan.best.values[i, -1] and row != own[t]:
                    scan.candidates.rows[i, scan.candidates.counts[i]] = row
                    scan.low[i, scan.candidates.counts[i]] = bound
                    scan.candidates.counts[i] += 1
                    put_in(scan.best, i, row, score + bounds.high[row] + bounds.margin[start + i])
            count = scan.candidates.counts[i]
            left = np.flatnonzero(scan.low[i, :count] <= scan.best.values[i, -1])
            for kept in (scan.candidates.rows, scan.low):
                kept[i, : len(left)] = kept[i, left]
            scan.candidates.counts[i] = len(left)


def put_in(best, i, row, value):
    place = np.searchsorted(best.values[i], value, side="right")
    for kept, new in ((best.rows, row), (best.values, value)):
        kept[i, place + 1 :] = kept[i, place:-1]
        kept[i, place : place + 1] = new


def bound_cells(products, group, lengths, extents, gaps, error, bounds):
    centers = extents.lengths[:, np.newaxis]
    share, tiny = error
    squares = lengths + centers - 2 * products.astype(float)
    wrong = share * (lengths + centers) + tiny
    own = lengths + centers[group] - 2 * products[group].astype(float)
    own += share * (lengths + centers[group]) + tiny
    slack = 2 * share * (extents.longest + np.maximum(extents.lengths, centers[group])) + 2 * tiny
    inside = extents.nearest[:, np.newaxis] - np.sqrt(np.maximum(squares + wrong, 0))
    outside = np.sqrt(np.maximum(squares - wrong, 0)) - extents.farthest[:, np.newaxis]
    found = np.maximum(outside, inside)
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (squares - wrong - own - slack[:, np.newaxis]) / (2 * gaps[:, np.newaxis])
    found[gaps > 0] = np.maximum(found, between)[gaps > 0]
    bounds[:] = np.maximum(found, 0) * (1 - 2.0**-18)


def visit_same_class(indptr, indices, neighbors, cell_of, place, listed):
    """Every cell with a place finds the cells of its label in the rows of its row's neighbors."""
    for row, near in enumerate(neighbors):
        for cell in range(indptr[row], indptr[row + 1]):
            if place[cell] < 0:
                continue
            cell_of[indices[cell]] = cell
            for neighbor in near:
                for other in range(indptr[neighbor], indptr[neighbor + 1]):
                    if indices[other] == indices[cell]:
                        if place[cell] < len(listed):
                            listed[place[cell]] = other
                        place[cell] += 1


def clone_in_turns(
    indptr, indices, labels, starts, rows, counts, at_mean, targets, static_max, numbers
):
    """The labels that are still behind clone one of their rows each, turn after turn."""
    clones, active = [], list(range(len(labels)))
    first = largest = max(counts, default=0)
    while active and len(clones) < len(numbers):
        still = []
        for bag in active:
            count = counts[labels[bag]]
            done = count >= targets[bag] or count >= at_mean[largest - first]
            if done or len(clones) == len(numbers):
                continue
            still.append(bag)
            own = rows[starts[bag] : starts[bag + 1]]
            clones.append(own[int(numbers[len(clones)] * len(own))])
            counts[indices[indptr[clones[-1]] : indptr[clones[-1] + 1]]] += 1
            largest = first if static_max else max(counts)
        active = still
    return np.array(clones, dtype=np.int64)


def delete_in_turns(
    indptr, indices, labels, starts, cells, row_of, place_of, counts, at_mean, static_max, numbers
):
    """The labels that are still ahead delete a row each; the last cell takes its place."""
    deleted, active, largest = [], list(range(len(labels))), max(counts, default=-1)
    bag_of = {label: bag for bag, label in enumerate(labels)}
    while active and len(deleted) < len(numbers):
        still = []
        for bag in active:
            size = counts[labels[bag]]
            if len(deleted) == len(numbers) or size == 0 or size <= at_mean[largest]:
                continue
            still.append(bag)
            row = row_of[cells[starts[bag] + int(numbers[len(deleted)] * size)]]
            deleted.append(row)
            for cell in range(indptr[row], indptr[row + 1]):
                counts[indices[cell]] -= 1
                if indices[cell] in bag_of:
                    last = cells[starts[bag_of[indices[cell]]] + counts[indices[cell]]]
                    cells[place_of[cell]], place_of[last] = last, place_of[cell]
            largest = largest if static_max else max(counts)
        active = still
    return np.array(deleted, dtype=np.int64)
