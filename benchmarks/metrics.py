"""Metrics beside a loop over scikit-learn's functions: python benchmarks/metrics.py [rows labels].

Processor seconds, best of a few, all in one process; the ratio is theirs over ours. Equal to
1e-12 or it stops.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import metrics as theirs

from labelance import metrics as ours


def seconds(work: Callable[[], Any], repeat: int) -> tuple[float, Any]:
    """Best processor time of a few runs, and what the work returned."""
    best, result = np.inf, None
    for _ in range(repeat):
        start = time.process_time()
        result = work()
        best = min(best, time.process_time() - start)
    return best, result


def compare(name: str, our_work: Callable[[], Any], their_work: Callable[[], Any]) -> None:
    our_seconds, our_values = seconds(our_work, repeat=5)
    their_seconds, their_values = seconds(their_work, repeat=1)
    np.testing.assert_allclose(our_values, their_values, rtol=0, atol=1e-12)
    ratio = their_seconds / our_seconds
    print(f"{name:<34}{our_seconds:>9.3f} s{their_seconds:>9.3f} s{ratio:>8.1f}x")


def make(n: int, q: int, density: float, decimals: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    scores = rng.random((n, q)).round(decimals)
    Y = (rng.random((n, q)) < rng.uniform(0.2, 1.8, q) * density).astype(np.int8)
    return Y, scores


def areas(Y: np.ndarray, scores: np.ndarray) -> None:
    """Per label: both areas from one sort, and each area alone."""
    columns = list(zip(Y.T, scores.T))

    def their_roc() -> list[float]:
        return [theirs.roc_auc_score(y, s) for y, s in columns]

    def their_pr() -> list[float]:
        return [theirs.average_precision_score(y, s) for y, s in columns]

    def our_both() -> list[np.ndarray]:
        both = ours.label_areas(sparse_Y, scores)
        return [both.auc_roc, both.auc_pr]

    sparse_Y = sparse.csr_array(Y)
    compare("  both areas, sparse Y", our_both, lambda: [their_roc(), their_pr()])
    compare("  AUC-ROC, dense Y", lambda: ours.macro_auc_roc(Y, scores, average=None), their_roc)
    compare("  AUCPR, dense Y", lambda: ours.macro_auc_pr(Y, scores, average=None), their_pr)


def rankings(Y: np.ndarray, scores: np.ndarray) -> None:
    """Per row: scikit-learn's own functions on the whole table."""
    pairs = {
        "  ranking loss": (ours.ranking_loss, theirs.label_ranking_loss),
        "  coverage": (ours.coverage_error, theirs.coverage_error),
        "  LRAP": (
            ours.label_ranking_average_precision,
            theirs.label_ranking_average_precision_score,
        ),
    }
    for name, (our, their) in pairs.items():
        compare(name, lambda: our(Y, scores), lambda: their(Y, scores))  # noqa: B023
    compare(
        "  nDCG@5",
        lambda: ours.ndcg_at_k(Y, scores, k=5),
        lambda: theirs.ndcg_score(Y, scores, k=5),
    )


def predictions(Y: np.ndarray, scores: np.ndarray) -> None:
    Y_pred = (scores > 0.9).astype(np.int8)
    Y, Y_pred = sparse.csr_array(Y), sparse.csr_array(Y_pred)
    compare(
        "  macro F, sparse",
        lambda: ours.macro_f1(Y, Y_pred, zero_division=1),
        lambda: theirs.f1_score(Y, Y_pred, average="macro", zero_division=1),
    )


def main() -> None:
    n, q = map(int, sys.argv[1:3]) if len(sys.argv) > 2 else (10_000, 1_000)
    tiny = make(20, 3, 0.5, 3)
    ours.label_areas(*tiny)  # compile before the clock runs
    print(f"{n} rows, {q} labels{'labelance':>26}{'scikit-learn':>13}{'ratio':>8}")
    for title, density, decimals in [
        ("5% ones, few ties", 0.05, 17),
        ("5% ones, heavy ties", 0.05, 1),
        ("50% ones, few ties", 0.5, 17),
    ]:
        print(title)
        Y, scores = make(n, q, density, decimals)
        areas(Y, scores)
        if density < 0.5:
            rankings(Y, scores)
            predictions(Y, scores)


if __name__ == "__main__":
    main()
