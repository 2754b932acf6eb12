"""Are decisions right, do guarantees hold, how long do they take? Oracles, simulations, seconds.

    python benchmarks/decisions.py --oracles       # xcolumns, mapie and crepes where installed
    python benchmarks/decisions.py --coverage      # simulated and promised, in six settings
    python benchmarks/decisions.py --speed         # 1,000,000 x 100, and 100,000 x 10,000 sparse

``--oracles`` prints how many results are equal to those of other packages and of exhaustive search,
and the largest difference of values. ``--coverage`` draws calibration rows again and again; the
error is what may differ by chance (4 standard errors). Without a flag, all three run.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import product

import numpy as np
import scipy.sparse as sp
from scipy import stats

from labelance.decisions import (
    decide_within_budget,
    find_budget_rule,
    find_thresholds,
    guarantee_precision,
    guarantee_recall,
    limit_alarms,
    maximize_expected_f,
)

Result = tuple[str, int, int, float]  # what is compared, equal, of all, largest difference


def from_xcolumns() -> Iterator[Result]:
    ascent, frank_wolfe = map(import_module, ("xcolumns.block_coordinate", "xcolumns.frank_wolfe"))
    for ours, theirs in {"macro_f1": "macro_f1_score", "macro_recall": "macro_recall"}.items():
        equal, worst = 0, 0.0
        for seed in range(20):
            p = np.random.default_rng(seed).random((100, 12)) ** 2
            found = decide_within_budget(
                p, per_row=3, exactly=True, utility=ours, random_state=seed
            )
            predict = getattr(ascent, f"predict_optimizing_{theirs}_using_bc")
            other = predict(p, 3, init_y_pred="top", seed=seed)
            equal += bool((found.y.toarray() == other).all())
            worst = max(worst, abs(utility_of(p, other, ours) - found.value))
        yield f"xcolumns, {ours}, 3 labels a row", equal, 20, worst
    equal, worst = 0, 0.0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        p = rng.random((2000, 6)) ** 3
        y = (rng.random(p.shape) < p).astype(float)
        metric = frank_wolfe.macro_fbeta_score_on_conf_matrix
        _, meta = frank_wolfe.find_classifier_using_fw(
            y, p, metric, 2, init_classifier="top", return_meta=True
        )
        gap = meta["utilities"][-1] - find_budget_rule(y, p, per_row=2, exactly=True).value
        equal, worst = equal + (abs(gap) < 1e-3), max(worst, abs(gap))
    yield "xcolumns, Frank-Wolfe, value within 0.001", equal, 5, worst


def from_mapie() -> Iterator[Result]:
    control = import_module("mapie.risk_control").MultiLabelClassificationController
    equal, worst, grid = 0, 0.0, np.arange(0, 1, 0.01)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        m = 10 * int(rng.integers(1, 10)) + 3  # 0.1 (m + 1) is no integer: mapie wants less than it
        scores = rng.random((m, 1))
        theirs = control(lambda X: X, method="crc", target_level=0.9, predict_params=grid)
        theirs.calibrate(scores, np.ones((m, 1)))
        threshold = guarantee_recall(np.ones((m, 1)), scores, recall=0.9).thresholds[0]
        best = grid[grid < threshold].max()
        gap = abs(best - theirs.best_predict_param[0])
        equal, worst = equal + (gap < 1e-9), max(worst, gap)
    yield "mapie, recall in expectation, on its grid", equal, 60, worst


def from_crepes() -> Iterator[Result]:
    classifier, equal, worst = import_module("crepes").ConformalClassifier, 0, 0.0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        m = int(rng.integers(9, 200))
        scores, new = np.round(rng.random((m, 1)), 2), np.round(rng.random((300, 1)), 2)
        theirs = classifier().fit(-scores[:, 0]).predict_p(-new, smoothing=False)[:, 0]
        found = guarantee_recall(np.ones((m, 1)), scores, recall=0.9).predict(new)[:, 0]
        differ = np.count_nonzero((theirs > 0.1 + 1e-9) != found)
        equal, worst = equal + (differ == 0), max(worst, differ / 300)
    yield "crepes, labels in the prediction set", equal, 60, worst


def from_search() -> Iterator[Result]:
    every = np.array(list(product([0, 1], repeat=16))).reshape(-1, 4, 4)
    one_a_row = every[(every.sum(axis=2) == 1).all(axis=1)]
    for restarts in (1, 30):
        gaps = []
        for seed in range(100):
            p = np.random.default_rng(seed).random((4, 4))
            found = decide_within_budget(
                p, per_row=1, exactly=True, n_restarts=restarts, random_state=seed
            )
            gaps.append(utility_of(p, one_a_row, "macro_f1").max() - found.value)
        yield f"exhaustive, 1 label a row, {restarts} starts", *count_small(gaps)
    gaps = []
    for seed in range(100):
        p = np.random.default_rng(seed).random((4, 4)) ** 2
        allowed = every[every.sum(axis=(1, 2)) <= 5]
        gaps.append(
            utility_of(p, allowed, "macro_f1").max() - decide_within_budget(p, total=5).value
        )
    yield "exhaustive, 5 in total", *count_small(gaps)
    yield "exhaustive, instance F of 6 labels", *count_small(instance_gaps())


def instance_gaps() -> list[float]:
    """Return what instance F misses of the best of all 64 decisions."""
    sets = np.array(list(product([0, 1], repeat=6)))
    whole = sets.sum(axis=1)[:, None] + sets.sum(axis=1)
    f = np.divide(2 * sets @ sets.T, whole, out=np.ones(whole.shape), where=whole > 0)
    rows = np.random.default_rng(0).random((100, 6)) ** 2
    gaps = []
    for p, y in zip(rows, maximize_expected_f(rows, average="samples")):
        value = np.where(sets == 1, p, 1 - p).prod(axis=1) @ f
        gaps.append(float(value.max() - value[(sets == y).all(axis=1)][0]))
    return gaps


def utility_of(p: np.ndarray, y: np.ndarray, utility: str) -> np.ndarray:
    tp, positive = (p * y).sum(axis=-2), p.sum(axis=0)
    value = 2 * tp / (y.sum(axis=-2) + positive) if utility == "macro_f1" else tp / positive
    return value.mean(axis=-1)


def count_small(gaps: list[float]) -> tuple[int, int, float]:
    return int((np.array(gaps) < 1e-9).sum()), len(gaps), float(np.max(gaps))


def show_oracles() -> None:
    print(f"{'compared with':<44}{'equal':>7}{'of':>6}{'difference':>13}")
    for oracle in (from_search, from_xcolumns, from_mapie, from_crepes):
        try:
            for name, equal, of, worst in oracle():
                print(f"{name:<44}{equal:>7}{of:>6}{worst:>13.2g}", flush=True)
        except ImportError as missing:
            print(f"{oracle.__name__}: not installed ({missing})")


def show_coverage(runs: int) -> None:
    """Print how often promises are broken, with the theory of uniform scores."""
    rng = np.random.default_rng(0)
    print(f"{'setting':<46}{'found':>9}{'theory':>9}{'error':>9}{'promise':>9}")

    def show(name: str, found: float, theory: float, error: float, promise: float) -> None:
        print(f"{name:<46}{found:>9.4f}{theory:>9.4f}{error:>9.4f}{promise:>9.2f}", flush=True)

    for m, recall in ((9, 0.9), (50, 0.95)):
        missed = guarantee_recall(np.ones((m, runs)), rng.random((m, runs)), recall=recall)
        rank = int((1 - recall) * (m + 1) + 1e-9)
        error = 4 * np.sqrt(rank * (m + 1 - rank) / ((m + 1) ** 2 * (m + 2) * runs))
        name = f"recall {recall}, {m} positives: mean miss rate"
        show(name, missed.thresholds.mean(), rank / (m + 1), error, 1 - recall)
    for m, ties in ((22, False), (60, False), (60, True)):
        scores = rng.random((m, runs))
        scores = np.floor(scores * 20) / 20 if ties else scores
        found = guarantee_recall(np.ones((m, runs)), scores, confidence=0.9).thresholds
        ranks = np.arange(1, m + 1)
        rank = ranks[stats.binom.cdf(ranks - 1, m, 0.1) <= 0.1].max()
        theory = stats.beta.sf(0.1, rank, m + 1 - rank) if not ties else np.nan
        kind = ", ties" if ties else ""
        broken = float((found > 0.1 + 1e-12).mean())
        show(f"recall 0.9 with confidence 0.9, {m}{kind}", broken, theory, sd(0.1, runs), 0.1)
    few = max(runs // 10, 1)
    thresholds = limit_alarms(rng.random((1000, few)), n_alarms=5, n_rows=200)
    broken = float((rng.binomial(200, 1 - thresholds) > 5).mean())
    theory = stats.betabinom.sf(5, 200, 14, 987)
    show("5 alarms in 200 rows, 1000 reference rows", broken, theory, sd(theory, few), 0.1)
    y = rng.random((600, few)) < 0.3
    grid = np.linspace(2.6, -1, 60)
    found = guarantee_precision(
        y, 1.5 * y + rng.normal(size=y.shape), precision=0.7, candidates=grid
    )
    t = found.thresholds[found.guaranteed]
    hit, false = 0.3 * stats.norm.sf(t - 1.5), 0.7 * stats.norm.sf(t)
    broken = np.count_nonzero(hit / (hit + false) < 0.7) / few
    show("precision 0.7 with confidence 0.9, 600 rows", broken, np.nan, sd(0.1, few), 0.1)


def sd(share: float, runs: int) -> float:
    return 4 * float(np.sqrt(share * (1 - share) / runs))


def show_speed(size: float) -> None:
    rng = np.random.default_rng(0)
    n = int(1_000_000 * size)
    scores = rng.random((n, 100), dtype=np.float32)
    y = sp.csr_array(rng.random((n, 100), dtype=np.float32) < 0.05 * scores)
    show_seconds(f"find_thresholds, {n:,} x 100", lambda: find_thresholds(y, scores))
    show_seconds(f"guarantee_recall, {n:,} x 100", lambda: guarantee_recall(y, scores))
    n = int(100_000 * size)
    labels = (rng.random((n, 50)) ** 2 * 10_000).astype(int).ravel()
    place = (np.repeat(np.arange(n), 50), labels)
    p = sp.csr_array((rng.random(n * 50) ** 4, place), shape=(n, 10_000))
    p.data = np.minimum(p.data, 1.0)  # labels drawn twice in a row are summed
    shape = f"{n:,} x 10,000 with {p.nnz:,} stored"
    decide_within_budget(p[:10], per_row=1)  # compiles
    maximize_expected_f(p[:10], average="samples")
    for budget in ({"per_row": 5}, {"per_label": 100}, {"total": n}):
        named = ", ".join(f"{name}={value:,}" for name, value in budget.items())
        show_seconds(f"{named}, {shape}", lambda b=budget: decide_within_budget(p, **b))
    show_seconds(f"instance F, {shape}", lambda: maximize_expected_f(p, average="samples"))


def show_seconds(name: str, call: Callable[[], object]) -> None:
    start = time.perf_counter()
    found = call()
    passes = getattr(found, "n_iter", 0)
    more = f", {passes} passes" if passes else ""
    print(f"{name}: {time.perf_counter() - start:.1f} s{more}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for flag in ("oracles", "coverage", "speed"):
        parser.add_argument(f"--{flag}", action="store_true")
    parser.add_argument("--runs", type=int, default=20_000, help="calibrations of --coverage")
    parser.add_argument("--size", type=float, default=1.0, help="share of the rows of --speed")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    every = not (options.oracles or options.coverage or options.speed)
    if options.oracles or every:
        show_oracles()
    if options.coverage or every:
        show_coverage(options.runs)
    if options.speed or every:
        show_speed(options.size)


if __name__ == "__main__":
    main()
