"""The loops that kernels stand for, as plain Python."""

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
