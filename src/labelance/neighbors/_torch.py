"""Engine for tensors on a GPU: products of blocks find candidates, float64 ranks them.

For a block of queries the lower bounds of all distances are one product, held for that moment.
The smallest bound of every group of 32 rows says enough for a limit: groups are disjoint, so the
k-th smallest of their upper bounds is an upper bound of the k-th smallest distance. Whatever
could be among the k nearest has a lower bound of at most the limit, and is measured exactly.
How wrong a product can be is said in ``_candidates``; it holds for any order of summation, so
for any device, as long as float32 products are not shortened to TF32.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labelance._arrays._torch import column_sums, has_triton, to_device, to_host, torch_module
from labelance._progress import loop
from labelance.neighbors._candidates import Bounds, bounds_of
from labelance.neighbors._embedding import is_ordinary, safe_factor
from labelance.neighbors._neighborhood import TopK
from labelance.neighbors._search import Search
from labelance.neighbors._tensor_metric import measure

_GROUP = 32  # rows of which only the smallest bound is compared at first
_MANY = 1 << 14  # rows from which on all pairs are scored in Triton, where there is one
_FEW = 4096  # rows that are too few for groups
_CELLS = 1 << 28  # scores held at once, 1 GiB of float32
_PAIRS = 1 << 24  # candidates ranked at once
_TOO_MANY = 1024  # float32 bounds that leave more candidates a query than this are too coarse


def search_tensors(search: Search) -> TopK:
    """Return the k nearest rows of X for every row of Q, both tensors on one device."""
    if search.Q is search.X and len(search.X) >= _MANY and search.k <= 64 and has_triton(search.X):
        with torch_module().cuda.device(search.X.device):
            return _search_all_pairs(search)
    return _search_blocks(search)


def _search_all_pairs(search: Search) -> TopK:
    """Let Triton find the candidates; search the few rows that it leaves in blocks."""
    from labelance.neighbors import _cuda

    X, metric = search.X, search.metric.compiled
    n, d = X.shape
    if _cuda.bytes_needed(n, d, search.k) > _free_bytes(X):
        return _search_blocks(search)
    width = to_device(metric.width, X)
    points = _cuda.place_points(X, _center(search), width, unit=metric.cosine)
    if points is None:
        return _search_blocks(search)
    queries, rows, left = _cuda.find_candidates(points, search.k)
    del points
    if not len(left):
        return _to_top_k(*rank_pairs(search, queries, rows))
    nearest = TopK(np.empty((len(X), search.k), dtype=np.int64), np.empty((len(X), search.k)))
    if len(queries):
        ready = to_host(torch_module().unique_consecutive(queries))
        nearest.rows[ready], nearest.values[ready] = _to_top_k(*rank_pairs(search, queries, rows))
    rest = to_host(left)
    nearest.rows[rest], nearest.values[rest] = _search_blocks(replace(search, Q=X[left], own=rest))
    return nearest


def _free_bytes(X: Any) -> int:
    """Return how much memory the device has left, with what torch keeps for itself."""
    cuda = torch_module().cuda
    kept = cuda.memory_reserved(X.device) - cuda.memory_allocated(X.device)
    return int(cuda.mem_get_info(X.device)[0] + kept)


def _to_top_k(rows: Any, values: Any) -> TopK:
    return TopK(to_host(rows), to_host(values))


def _search_blocks(search: Search) -> TopK:
    """Hold the scores of a block of queries at once, and rank what they cannot rule out."""
    scores = _prepare(search)
    rows, values = [], []
    m, step = len(search.Q), max(1, _CELLS // scores.width)
    start = 0
    with loop("Searching neighbors", m, "rows") as progress:
        while start < m:
            stop = min(m, start + step)
            pairs = scores.candidates(start, stop)
            if pairs is None:  # too many at once
                step = max(1, (stop - start) // 4)
                continue
            if scores.is_single and len(pairs[0]) > (stop - start) * _TOO_MANY:
                scores = scores.in_double()
                continue
            nearest = rank_pairs(search, *pairs)
            rows.append(nearest[0].cpu().numpy())
            values.append(nearest[1].cpu().numpy())
            progress.advance(stop - start)
            start = stop
    return TopK(np.concatenate(rows), np.concatenate(values))


def rank_pairs(search: Search, queries: Any, rows: Any) -> tuple[Any, Any]:
    """Return the k nearest of the candidates of each query, and their distances.

    Parameters
    ----------
    search : Search
        What is searched.
    queries, rows : tensors of int64
        A query and a candidate each, in ascending order of both; at least k for each query.
    """
    torch = torch_module()
    distances = measure(search.Q, search.X, queries, rows, search.metric.compiled)
    # Two stable sorts order by query, then distance, then row.
    order = distances.argsort(stable=True)
    order = order[queries[order].argsort(stable=True)]
    counts = torch.unique_consecutive(queries, return_counts=True)[1]
    first = counts.cumsum(0) - counts
    chosen = order[first[:, None] + torch.arange(search.k, device=first.device)]
    return rows[chosen], distances[chosen]


@dataclass(frozen=True, eq=False)
class Scores:
    """Points whose products bound all distances from below, and how far they may be off.

    Parameters
    ----------
    search : Search
        What is searched.
    queries, corpus : tensors of shape (m, d) and (n, d)
        The points, in float32 or float64.
    low, slack : tensors of shape (width,)
        What to add to -2 x·z for a lower bound, and from there to an upper one; rows are
        padded to whole groups.
    margin : tensor of shape (m,)
        What to add as well for an upper bound, for each query.
    group : int
        How many rows are in a group.
    """

    search: Search
    queries: Any
    corpus: Any
    low: Any
    slack: Any
    margin: Any
    group: int

    @property
    def width(self) -> int:
        return len(self.low)

    @property
    def is_single(self) -> bool:
        return self.corpus.dtype is torch_module().float32

    def in_double(self) -> Scores:
        """Return the same in float64, whose bounds are 2^29 times as tight."""
        return _prepare(self.search, double=True)

    def candidates(self, start: int, stop: int) -> tuple[Any, Any] | None:
        """Return pairs of query and row that the bounds cannot rule out; None if too many."""
        bounds = self._lower_bounds(start, stop).view(stop - start, -1, self.group)
        smallest = bounds.amin(dim=2)
        slack = self.slack.view(-1, self.group).amax(dim=1)
        k = self.search.k
        reach = (smallest + slack).topk(k, dim=1, largest=False, sorted=False).values.amax(dim=1)
        limit = reach + self.margin[start:stop]
        query, group = (smallest <= limit[:, None]).nonzero(as_tuple=True)
        if len(query) * self.group > 4 * _PAIRS and stop - start > 1:
            return None
        hit, place = (bounds[query, group] <= limit[query, None]).nonzero(as_tuple=True)
        if len(hit) > _PAIRS and stop - start > 1:
            return None
        rows = group[hit] * self.group + place
        real = rows < len(self.corpus)
        return query[hit][real] + start, rows[real]

    def _lower_bounds(self, start: int, stop: int) -> Any:
        """Return a lower bound for every query and row, infinite for a query's own row."""
        torch = torch_module()
        n = len(self.corpus)
        bounds = torch.full(
            (stop - start, self.width), torch.inf, dtype=self.low.dtype, device=self.low.device
        )
        torch.matmul(-2.0 * self.queries[start:stop], self.corpus.t(), out=bounds[:, :n])
        bounds[:, :n] += self.low[:n]
        own = to_device(self.search.own[start:stop], bounds)
        has = (own >= 0).nonzero().ravel()
        bounds[has, own[has]] = torch.inf
        return bounds


@dataclass(frozen=True, eq=False)
class TensorPlacement:
    """How rows become points: ``(x - center) / width``, times a power of two; unit or not."""

    center: Any
    width: Any
    unit: bool
    dtype: Any
    factor: float = 1.0

    def points(self, X: Any) -> tuple[Any, Any]:
        """Return the points of the rows of X, and their squared lengths in float64."""
        torch = torch_module()
        out = torch.empty(X.shape, dtype=self.dtype, device=X.device)
        lengths = torch.empty(len(X), dtype=torch.float64, device=X.device)
        step = max(1, (1 << 26) // X.shape[1])
        for start in range(0, len(X), step):
            part = slice(start, start + step)
            moved = (X[part] - self.center).div_(self.width).mul_(self.factor)  # float64, as center
            lengths[part] = (moved * moved).sum(dim=1)
            if self.unit:
                moved /= lengths[part].sqrt().masked_fill_(lengths[part] == 0, 1.0)[:, None]
            out[part] = moved
        return out, lengths


def _shortens_float32(torch: Any) -> bool:
    """Say whether products of float32 may be taken in TF32 or bfloat16, too short for the bounds.

    torch has an older switch and newer ones, which do not always show in each other.
    """
    backends = torch.backends
    newer = (backends, backends.cuda.matmul, getattr(backends, "mkldnn", None))
    if any(getattr(one, "fp32_precision", "none") not in ("none", "ieee") for one in newer):
        return True
    try:
        return bool(torch.get_float32_matmul_precision() != "highest")
    except RuntimeError:  # both kinds of switches were used, and torch does not say which holds
        return True


def _prepare(search: Search, *, double: bool = False) -> Scores:
    """Turn rows into points, and bound the error of their products."""
    torch = torch_module()
    double = double or _shortens_float32(torch)
    compiled, X = search.metric.compiled, search.X
    dtype = torch.float64 if double else torch.float32
    place = TensorPlacement(_center(search), to_device(compiled.width, X), compiled.cosine, dtype)
    both = _place_both(search, place)
    lengths = torch.cat([both[1], both[3]]).cpu().numpy()
    if not is_ordinary(lengths, each=place.unit):
        return _no_scores(search, both[0], both[2])
    factor = 1.0 if place.unit else safe_factor(lengths)
    if factor != 1:
        both = _place_both(search, replace(place, factor=factor))
    corpus, corpus_lengths, queries, query_lengths = both
    bounds = bounds_of(
        corpus_lengths.cpu().numpy(),
        query_lengths.cpu().numpy(),
        X.shape[1],
        np.dtype(np.float64 if double else np.float32),
        cosine=place.unit,
    )
    return _make_scores(search, corpus, queries, bounds)


def _center(search: Search) -> Any:
    """Return what rows are moved by: their mean, or nothing where directions count."""
    torch = torch_module()
    if search.metric.compiled.cosine:
        return torch.zeros(search.X.shape[1], dtype=torch.float64, device=search.X.device)
    return column_sums(search.X) / len(search.X)


def _no_scores(search: Search, corpus: Any, queries: Any) -> Scores:
    """Return scores that rule nothing out: squares overflow or fade away even in float64."""
    nothing = np.zeros(len(corpus), dtype=np.float64)
    bounds = Bounds(nothing, nothing, np.zeros(len(queries)))
    return _make_scores(search, corpus.double().zero_(), queries.double().zero_(), bounds)


def _place_both(search: Search, place: TensorPlacement) -> tuple[Any, Any, Any, Any]:
    corpus = place.points(search.X)
    return *corpus, *(corpus if search.Q is search.X else place.points(search.Q))


def _make_scores(search: Search, corpus: Any, queries: Any, bounds: Bounds) -> Scores:
    n = len(corpus)
    group = 1 if n <= max(_FEW, 2 * _GROUP * search.k) else _GROUP
    fill = (0, -n % group)
    slack = (bounds.high - bounds.low) * bounds.low.dtype.type(1 + 1e-6)
    return Scores(
        search,
        queries,
        corpus,
        low=to_device(np.pad(bounds.low, fill, constant_values=np.inf), corpus),
        slack=to_device(np.pad(slack, fill), corpus),
        margin=to_device(bounds.margin, corpus),
        group=group,
    )
