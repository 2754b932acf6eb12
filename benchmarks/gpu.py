"""Exact neighbors and MLSOL on a GPU, beside what torch offers; needs an NVIDIA GPU and torch.

    python benchmarks/gpu.py [--rows 1000000] [--features 512] [--labels 1000] [--sketch FOLDER]
    python benchmarks/gpu.py --table

Every dataset is searched by ``find_neighbors`` and checked on 5,000 rows against float64 distances
to all rows. The other side is ``torch.cdist`` and ``topk`` in blocks, for some of the queries, its
time scaled to all of them. ``--sketch`` names a folder with a CUDA program to run beside ours
(``knn.py`` with ``build`` and ``knn``). Times are the best of two after one that compiles, results
on the host included; memory is what the device held at most, less what it held before.

``--table`` lists what takes tensors instead, with the times for 50,000 rows on the device and on
the CPU, and whether both gave the same.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn.functional import normalize

from labelance import metrics
from labelance.imbalance import irlbl, local_distribution, profile, scumble
from labelance.learners import MLkNN
from labelance.neighbors import Neighborhood, find_neighbors
from labelance.neighbors import _torch as engine
from labelance.sampling import (
    LPROS,
    LPRUS,
    MLROS,
    MLRUS,
    MLSMOTE,
    MLSOL,
    MLTL,
    MLUL,
    REMEDIAL,
    MLeNN,
    label_weights,
    sample_weights,
)

KINDS = ("normal", "clusters 0.3", "duplicates", "clusters 0.1", "clusters 0.05", "heavy tails")
K = 5


def make_rows(kind: str, n: int, d: int) -> torch.Tensor:
    random = torch.Generator(device="cuda").manual_seed(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=random, device="cuda")

    def choose(most: int) -> torch.Tensor:
        return torch.randint(most, (n,), generator=random, device="cuda")

    name, _, noise = kind.partition(" ")
    if name == "clusters":
        centers = normalize(normal(1000, d))[choose(1000)]
        return normalize(centers + float(noise) / d**0.5 * normal(n, d))
    X = normal(n, d)
    if name == "duplicates":
        shuffled = torch.randperm(n, generator=random, device="cuda")
        X[shuffled[: n // 10]] = X[shuffled[n // 10 : 2 * (n // 10)]]
    if name == "heavy":
        X *= normal(n, 1).exp()
    return X


def measured(
    call: Callable[[], Any], repeats: int = 2, *, compiled: bool = False
) -> tuple[Any, float, float]:
    """Return what the call returns, its best time in seconds, and its peak in GiB."""
    if not compiled:
        call()
    times = []
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    for _ in range(repeats):
        out = None
        start = time.perf_counter()
        out = call()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return out, min(times), (torch.cuda.max_memory_allocated() - before) / 2**30


def with_cdist(X: torch.Tensor, queries: int, block: int = 2048) -> float:
    """Return the seconds that cdist and topk would take for all rows."""
    queries = min(queries, len(X))

    def search() -> None:
        for start in range(0, queries, block):
            torch.cdist(X[start : start + block], X).topk(K + 1, largest=False)

    return measured(search, 1)[1] * len(X) / queries


def exact_share(X: torch.Tensor, found: Any, k: int = K, rows: int = 5000) -> float:
    """Return the share of some rows whose neighbors are those by float64 distances to all rows."""
    chosen = torch.randperm(len(X), device="cuda")[:rows]
    everybody, same = X.double(), []
    for part in chosen.split(max(1, 500_000_000 // len(X))):
        near = torch.cdist(everybody[part], everybody, compute_mode="use_mm_for_euclid_dist")
        near[torch.arange(len(part)), part] = torch.inf
        candidates = near.topk(4 * k, largest=False).indices.sort().values
        squares = (everybody[part][:, None] - everybody[candidates]).square().sum(dim=2)
        order = squares.argsort(dim=1, stable=True)[:, :k]
        nearest = candidates.gather(1, order).cpu().numpy()
        same.append((nearest == found.indices[part.cpu().numpy()]).all(axis=1))
    return float(np.concatenate(same).mean())


def describe_search(X: torch.Tensor, k: int, **options: Any) -> str:
    """Search, and tell how long it took, in how much memory, and how right it is.

    Rows that the engine for all pairs leaves are searched in blocks, and counted there.
    """
    left = []
    blocks = engine._search_blocks
    engine._search_blocks = lambda search: left.append(len(search.Q)) or blocks(search)
    found, seconds, peak = measured(lambda: left.clear() or find_neighbors(X, k), **options)
    engine._search_blocks = blocks
    share = sum(left) / len(X)
    return f"{seconds:7.3f} s {peak:5.2f} GiB, {share:.4%} left, exact {exact_share(X, found, k)}"


def compare_searches(n: int, d: int, sketch: Any) -> None:
    print(f"{n} x {d}, k = {K}; rows left to be searched in blocks; exact share of 5,000")
    for kind in KINDS:
        X = make_rows(kind, n, d)
        line = f"  {kind:14} {describe_search(X, K)}"
        if kind == "normal":
            line += f" | cdist + topk {with_cdist(X, 20_000):6.2f} s"
        if sketch is not None:
            room = 512 if kind == "clusters 0.05" else 128
            line += f" | sketch {measured(lambda X=X, room=room: sketch(X, room))[1]:6.3f} s"
        print(line, flush=True)


def load_sketch(folder: str | None) -> Any:
    if folder is None:
        return None
    sys.path.insert(0, folder)
    import knn

    program = knn.build()
    return lambda X, room: knn.knn(program, X, K, cap=room)


def other_sizes(sizes: list[tuple[int, int, int]]) -> None:
    for rows, d, k in sizes:
        X = make_rows("normal", rows, d)
        told = describe_search(X, k, repeats=1, compiled=rows > 5_000_000)
        print(f"  {rows} x {d}, k = {k}: {told}", flush=True)
        del X


def whole_samplers(n: int, d: int, q: int) -> None:
    X = make_rows("clusters 0.3", n, d)
    random = torch.Generator(device="cuda").manual_seed(1)
    share = torch.logspace(-4, -1.3, q, device="cuda")
    y = torch.rand((n, q), generator=random, device="cuda") < share
    print(f"{n} x {d}, {q} labels, {int(y.sum())} ones")
    few = y[:, : max(1, q // 20)].contiguous()
    work = {
        "MLSOL, ratio 0.3": lambda: MLSOL(random_state=0).fit_resample(X, y),
        "  its search alone": lambda: find_neighbors(X, K),
        "MLSMOTE": lambda: MLSMOTE(random_state=0).fit_resample(X, few),
        "profile": lambda: profile(X, y),
    }
    for name, call in work.items():
        _, seconds, peak = measured(call)
        print(f"  {name:20} {seconds:6.2f} s {peak:6.2f} GiB", flush=True)


def beside_the_cpu(n: int, d: int) -> None:
    X = make_rows("clusters 0.3", n, d)
    y = torch.rand((n, 20), device="cuda") < torch.linspace(0.02, 0.3, 20, device="cuda")
    host = X.cpu().numpy(), y.cpu().numpy()
    found, seconds, _ = measured(lambda: find_neighbors(X, K))
    expected, cpu, _ = measured(lambda: find_neighbors(host[0], K), 1)
    same = np.array_equal(found.indices, expected.indices)
    bits = np.array_equal(found.distances, expected.distances)
    made = MLSOL(random_state=0).fit_resample(X, y)
    known = MLSOL(random_state=0).fit_resample(*host)
    rows = np.array_equal(made[0].cpu().numpy(), known[0])
    labels = np.array_equal(made[1].cpu().numpy(), known[1])
    print(
        f"{n} x {d} beside the CPU: {seconds:.3f} s and {cpu:.2f} s; neighbors equal {same}, "
        f"distances {bits}, MLSOL's rows {rows}, labels {labels}"
    )


def calls_by_name() -> dict[str, Callable[[Any, Any], Any]]:
    """Return all that takes tensors on a device, as functions of X and y."""
    seeded = (MLSOL, MLSMOTE, MLUL, MLROS, MLRUS, LPROS, LPRUS)
    samplers = [*(kind(random_state=0) for kind in seeded), MLeNN(), MLTL(), REMEDIAL()]

    def predict(X: Any, y: Any) -> Any:
        half = len(X) // 2
        return MLkNN().fit(X[:half], y[:half]).predict_proba(X[half:])

    return {
        **{type(sampler).__name__: sampler.fit_resample for sampler in samplers},
        "find_neighbors": find_neighbors_of,
        "local_distribution": lambda X, y: local_distribution(y, find_neighbors_of(X, y)).weights,
        "profile": lambda X, y: str(profile(X, y)),
        "irlbl": lambda X, y: irlbl(y),
        "scumble": lambda X, y: scumble(y),
        "label_weights": lambda X, y: label_weights(y),
        "sample_weights": sample_weights,
        "macro_f1": lambda X, y: metrics.macro_f1(y, X[:, : y.shape[1]] > 0),
        "macro_auc_roc": lambda X, y: metrics.macro_auc_roc(y, X[:, : y.shape[1]]),
        "MLkNN, half for the other": predict,
    }


def find_neighbors_of(X: Any, y: Any) -> Any:
    return find_neighbors(X, K)


def to_parts(out: Any) -> list[Any]:
    """Return a result as arrays and words that can be compared."""
    parts = out if isinstance(out, tuple) else (out,)
    if isinstance(out, Neighborhood):
        parts = out.indices, out.distances
    return [part.cpu().numpy() if torch.is_tensor(part) else part for part in parts]


def table_of_calls(n: int = 50_000, d: int = 128, q: int = 50) -> None:
    X = make_rows("clusters 0.3", n, d)
    random = torch.Generator(device="cuda").manual_seed(1)
    share = torch.logspace(-1.7, -0.7, q, device="cuda")
    y = torch.rand((n, q), generator=random, device="cuda") < share
    host = X.cpu().numpy(), y.cpu().numpy()
    print(f"{n} x {d}, {q} labels: seconds on the device, on the CPU, and whether equal")
    for name, call in calls_by_name().items():
        found, seconds, _ = measured(lambda call=call: call(X, y))
        call(host[0][:1000], host[1][:1000])  # compiles
        expected, cpu, _ = measured(lambda call=call: call(*host), 1, compiled=True)
        same = all(map(np.array_equal, to_parts(found), to_parts(expected)))
        print(f"  {name:26} {seconds:8.4f} {cpu:8.3f}  {same}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=512)
    parser.add_argument("--labels", type=int, default=1000)
    parser.add_argument("--sketch")
    parser.add_argument("--large", action="store_true", help="10,000,000 x 256 too")
    parser.add_argument("--table", action="store_true", help="what takes tensors, and nothing else")
    options = parser.parse_args()
    n = options.rows
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    if options.table:
        table_of_calls()
        sys.exit()
    beside_the_cpu(min(n, 50_000), options.features)
    compare_searches(n, options.features, load_sketch(options.sketch))
    sizes = [(n, 128, K), (n, 768, K), (n, 1024, K), (n, options.features, 10)]
    other_sizes(sizes + ([(10_000_000, 256, K)] if options.large else []))
    whole_samplers(n, options.features, options.labels)
