"""Every kernel gives the bytes that its loop in plain Python gives."""

from functools import partial
from itertools import pairwise

import loops
import numpy as np
import pytest
from harness import Case, compare
from scipy.sparse import csr_array

from labelance._arrays import _kernels as arrays
from labelance.decisions import _kernels as decisions
from labelance.imbalance import _kernels as imbalance
from labelance.learners import _kernels as learners
from labelance.metrics import _kernels as metrics
from labelance.model_selection import _kernels as model_selection
from labelance.model_selection._stratify import (
    RarityHeap,
    Wants,
    label_incidence,
    search_objective,
)
from labelance.neighbors import _kernels as neighbors
from labelance.neighbors._candidates import Bounds, new_scan
from labelance.neighbors._metric import CompiledMetric
from labelance.neighbors._neighborhood import Candidates, new_top_k
from labelance.neighbors._partition import Error, Extents
from labelance.sampling import _kernels as sampling
from labelance.sampling._random import _majority_bags


def make_labels(rng, n):
    return csr_array((rng.random((n, 6)) < [0.5, 0.3, 0.3, 0.1, 0.02, 0]).astype(np.int64))


def make_scores(rng, n, dtype=np.float64):
    scores = np.sort(rng.integers(6, size=(n, 7)).astype(dtype), axis=1)
    relevant = rng.integers(8, size=n)
    indptr = np.concatenate([[0], np.cumsum(relevant)])
    values = [rng.choice(scores[g], relevant[g], replace=False) for g in range(n)]
    padded = np.full((n, 7), np.inf, dtype=dtype)
    for g in range(n):
        padded[g, : relevant[g]] = values[g]
    return scores, np.concatenate([*values, np.empty(0)]).astype(dtype), padded.argsort(1), indptr


def make_lists(rng, n):
    Y = make_labels(rng, n)
    together = (Y.T @ Y).tocsr()
    by_label = Y.tocsc()
    for table in (Y, together, by_label):
        table.sort_indices()
    lists = [x for table in (Y, by_label, together) for x in (table.indptr, table.indices)]
    held = np.diff(Y.indptr)
    return *(x.astype(np.int64) for x in lists), np.append(0, np.cumsum(held * (held - 1) // 2))


def make_phase(rng, n):
    incidence = label_incidence(make_labels(rng, n))
    left = np.diff(incidence.item_indptr)
    weights = np.array([1, 2, 1])
    order = np.argsort(left, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    wants = Wants(np.outer(left, weights), n * weights)
    fold, draws = np.full(n, -1), rng.random(n)
    return incidence, 4, wants, RarityHeap(left, order, place), fold, draws, 0


def make_search(rng, n):
    group_of = np.append(rng.integers(n, size=4 * n), np.arange(n))
    incidence = label_incidence(make_labels(rng, 5 * n), group_of=group_of)
    goal = search_objective(incidence, 3)._replace(size_cost=0.3)
    return incidence, rng.integers(3, size=n), 3, goal, 5000


def make_columns(rng, n, p):
    columns = csr_array((rng.random((n, 4)) < p).astype(np.int64)).tocsc()
    columns.sort_indices()
    return columns


def make_deal(rng, n):
    minority = make_columns(rng, n, 0.3)
    majority = n - np.diff(minority.indptr)
    wanted = np.minimum(rng.integers(1, 4, size=4), majority)
    lists = [part.astype(np.int64) for part in (minority.indptr, minority.indices)]
    return *lists, *lists, n, wanted, 3, rng.random(3 * wanted.sum())


def make_couples(rng, n):
    ones, holes = make_columns(rng, n, 0.4), make_columns(rng, n, 0.2)
    ones = (ones - ones.multiply(holes)).tocsc()
    ones.eliminate_zeros()
    lists = [part.indptr for part in (ones, holes)], [part.indices for part in (ones, holes)]
    lists = [x.astype(np.int64) for pair in zip(*lists) for x in pair]
    label, other = np.array([0, 0, 1, 2]), np.array([-1, 1, 3, -1])
    wanted = rng.integers(1, 3, size=4)
    drawn = loops.draw_balanced(*lists, n, label, other, wanted, np.zeros(3 * n * 4))[0]
    return *lists, n, label, other, wanted, rng.random(len(drawn))


def make_cells(rng, n):
    cells = csr_array(rng.random((n, 5)) * (rng.random((n, 5)) < 0.7))
    cells.data[rng.random(cells.nnz) < 0.1] = 1.0
    return cells, cells.indptr.astype(np.int64)


def make_gains(rng, n):
    cells, starts = make_cells(rng, n)
    return rng.integers(-2, 4, size=cells.nnz).astype(float), starts, 2, bool(rng.integers(2))


def make_improvement(rng, n):
    cells, starts = make_cells(rng, n)
    chosen, p, labels = rng.random(cells.nnz) < 0.4, cells.data, cells.indices.astype(np.int64)

    def count(weights):
        return np.bincount(labels, weights=weights, minlength=5).astype(float)

    logs = count(np.where(chosen & (p < 1), np.log1p(-np.where(p < 1, p, 0)), 0))
    sure = count(chosen & (p == 1)).astype(np.int64)
    counts = count(p * chosen), count(chosen), count(p), logs, sure
    order, exactly = rng.permutation(n), bool(rng.integers(2))
    chosen = chosen.astype(np.uint8)
    return p, labels, starts, order, chosen, *counts, rng.integers(6), 2, exactly, 0.2, 0.1


def make_ranked(rng, n):
    cells, starts = make_cells(rng, n)
    p = [np.sort(cells.data[a:b])[::-1] for a, b in pairwise(starts)]
    return np.concatenate([*p, np.empty(0)]), starts, float(rng.integers(1, 4))


def make_rows(rng, n):
    X = csr_array(rng.integers(-1, 3, size=(n + 1, 6)).astype(rng.choice(["f4", "f8"])))
    X.data[rng.random(X.nnz) < 0.1] = np.nan
    seeds, references = rng.integers(n + 1, size=(2, n))
    categorical, line = rng.integers(2, size=6).astype(np.uint8), bool(rng.integers(2))
    return X.data, X.indices, X.indptr.astype(np.int64), seeds, references, categorical, line


def make_new_rows(rng, n):
    given = make_rows(rng, n)
    offsets, union = loops.count_sparse(*given)
    room = np.zeros(union, given[0].dtype), np.zeros(union, given[1].dtype)
    return *given, rng.random(offsets[-1]), 0, n, *room, np.zeros(n + 1, np.int64)


def make_visit(rng, n):
    Y = make_labels(rng, n)
    neighbors = rng.integers(max(n, 1), size=(n, 3)).astype(rng.choice(["i4", "i8"]))
    place = np.where(rng.random(Y.nnz) < 0.7, 3 * np.arange(Y.nnz), -1)
    cell_of, listed = np.full(6, -1), np.full(3 * Y.nnz, -1)
    return Y.indptr, Y.indices, neighbors, cell_of, place, listed


def make_turns(rng, n):
    Y = make_labels(rng, n)
    counts = np.bincount(Y.indices, minlength=6)
    labels = np.flatnonzero(counts)[::2]
    return Y, counts, labels


def make_clones(rng, n):
    Y, counts, labels = make_turns(rng, n)
    bags = Y[:, labels].tocsc()
    lists = [part.astype(np.int64) for part in (bags.indptr, bags.indices)]
    targets = np.where(rng.random(len(labels)) < 0.5, counts[labels] + 2.0, np.inf)
    at_mean = np.sort(rng.integers(2 * n + 1, size=n + 1))
    given = Y.indptr, Y.indices, labels, *lists, counts, at_mean, targets
    return *given, bool(rng.integers(2)), rng.random(n)


def make_deletions(rng, n):
    Y, counts, labels = make_turns(rng, n)
    at_mean = np.sort(rng.integers(n + 1, size=n + 1))
    bags = _majority_bags(Y, labels, counts, at_mean)
    return Y.indptr, Y.indices, *bags, bool(rng.integers(2)), rng.random(n // 2)


def make_climb(rng, n):
    plus = (np.arange(n) < n // 3).astype(np.uint8)
    weight = np.where(plus, 1 / plus.sum(), 1 / (n - plus.sum()))
    a = rng.normal(size=3)
    return rng.normal(size=(n, 3)), plus, weight, a / np.sqrt(a @ a), 0.01, 4.0, 20, 20, 1e-9


def assign_phase(*given):
    """The kernel, without what is left in its heap."""
    ties = model_selection.assign_phase(*given)
    heap = given[3]
    heap.items[:], heap.place[:] = 0, -1
    return ties


def make_ranking(rng, n, dtype=np.float64, zeros=0.0):
    X = rng.integers(5, size=(8, 6)).astype(dtype)
    X[rng.random(X.shape) < zeros] = 0
    if not zeros:
        X[rng.random(X.shape) < 0.1] = np.nan
    metric = CompiledMetric(
        rng.random(6) + 0.5, np.full(6, -1.0), np.full(6, 6.0), np.arange(6) > 3,
        cosine=bool(zeros) and rng.random() < 0.5,
    )  # fmt: skip
    queries, own = rng.integers(8, size=n), rng.integers(-1, 8, size=n)
    rows = np.sort(rng.random((n, 8)).argsort(axis=1)[:, :6], axis=1)
    candidates = Candidates(rows, rng.integers(1, 7, size=n))
    return X, queries, X[::-1].copy(), own, candidates, metric, new_top_k(n, 3)


def rank_sparse(Q, queries, X, *rest):
    """The kernel for CSR rows, on the same rows."""
    of_q, of_x = ((table.data, table.indices, table.indptr) for table in map(csr_array, (Q, X)))
    neighbors.rank_sparse(*of_q, queries, *of_x, *rest)


def make_distances(rng, n):
    return rng.integers(4, size=(n, 9)).astype(float), rng.integers(-1, 9, n), new_top_k(n, 3)


def make_lines(rng, n, dtype=np.float32):
    corpus, sizes = 2 * n + 70, np.array([3, n + 66])
    first = np.array([n, 0])
    bounds = Bounds(*(rng.random(m).astype(dtype) for m in (corpus, corpus, n + 2)))
    scores = rng.integers(9, size=(n, sizes.sum())).astype(dtype)
    scan = new_scan(n + 1, 4, 3 * corpus, np.dtype(dtype))
    scan.candidates.rows[:], scan.low[:] = 0, 0
    lines = np.sort(rng.choice(n + 1, n, replace=False))
    own = rng.integers(-1, corpus, size=n)
    return scores, first, sizes, rng.random((2, n)) < 0.8, own, lines, 1, bounds, scan


def scan_lines(*given):
    """The kernel, without what it ruled out and left in its lists."""
    neighbors.scan_lines(*given)
    wipe(given[-1])


def loop_lines(*given):
    loops.scan_lines(*given)
    wipe(given[-1])


def wipe(scan):
    unused = np.arange(scan.low.shape[1]) >= scan.candidates.counts[:, np.newaxis]
    scan.candidates.rows[unused], scan.low[unused] = 0, 0


def make_extents(rng, n):
    extents = Extents(*rng.random((4, n + 1)))
    lengths, gaps = rng.random(5), rng.random(n + 1) * (rng.random(n + 1) < 0.7)
    products = rng.random((n + 1, 5)).astype(np.float32)
    bounds = np.zeros((n + 1, 5), dtype=np.float32)
    return products, n // 2, lengths, extents, gaps, Error(1e-3, 1e-9), bounds


CASES = {
    "count_sparse": Case(arrays.count_sparse, loops.count_sparse, make_rows),
    "fill_sparse": Case(arrays.fill_sparse, loops.fill_sparse, make_new_rows, writes=True),
    "visit_same_class": Case(
        imbalance.visit_same_class, loops.visit_same_class, make_visit, writes=True
    ),
    "clone_in_turns": Case(sampling.clone_in_turns, loops.clone_in_turns, make_clones, writes=True),
    "delete_in_turns": Case(
        sampling.delete_in_turns, loops.delete_in_turns, make_deletions, writes=True
    ),
    "take_top": Case(decisions.take_top, loops.take_top, make_gains),
    "improve_rows": Case(decisions.improve_rows, loops.improve_rows, make_improvement, writes=True),
    "count_best": Case(decisions.count_best, loops.count_best, make_ranked),
    "deal_majority": Case(learners.deal_majority, loops.deal_majority, make_deal),
    "draw_balanced": Case(learners.draw_balanced, loops.draw_balanced, make_couples),
    "project": Case(
        learners.project,
        loops.project,
        lambda rng, n: (rng.normal(size=(n, 4)), rng.normal(size=4)),
    ),
    "gradient_ascent": Case(
        learners.gradient_ascent, loops.gradient_ascent, make_climb, least=3, writes=True
    ),
    "count_around": Case(metrics.count_around, loops.count_around, make_scores),
    "write_pairs": Case(model_selection.write_pairs, loops.write_pairs, make_lists),
    "assign_phase": Case(assign_phase, loops.assign_phase, make_phase, writes=True),
    "local_search": Case(model_selection.local_search, loops.local_search, make_search, least=3),
    "rank_dense": Case(neighbors.rank_dense, loops.rank_rows, make_ranking, writes=True),
    "rank_dense_short": Case(
        neighbors.rank_dense, loops.rank_rows, partial(make_ranking, dtype=np.float32), writes=True
    ),
    "rank_sparse": Case(
        rank_sparse, loops.rank_rows, partial(make_ranking, zeros=0.6), writes=True
    ),
    "select_top_k": Case(neighbors.select_top_k, loops.select_top_k, make_distances, writes=True),
    "scan_lines": Case(scan_lines, loop_lines, make_lines, writes=True),
    "scan_lines_long": Case(
        scan_lines, loop_lines, partial(make_lines, dtype=np.float64), writes=True
    ),
    "bound_cells": Case(neighbors.bound_cells, loops.bound_cells, make_extents, writes=True),
}


@pytest.mark.parametrize("n", [0, 1, 3, 12])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_kernel_gives_the_bytes_of_its_loop(case, n):
    for seed in range(5):
        compare(case, case.make(np.random.default_rng(seed), max(n, case.least)))
