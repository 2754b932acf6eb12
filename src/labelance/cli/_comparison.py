"""What ``labelance demo`` compares: samplers alone and in ensembles, under two learners."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelance.cli._console import progress

N_REPEATS = 3  # times two folds


@dataclass(frozen=True)
class Score:
    """How one learner does with one method, averaged over the folds."""

    learner: str
    method: str
    macro_f1: float
    macro_auc_roc: float
    macro_auc_pr: float

    def figures(self) -> tuple[float, float, float]:
        return self.macro_f1, self.macro_auc_roc, self.macro_auc_pr


def compare(X: np.ndarray, Y: np.ndarray, seed: int, *, quiet: bool) -> list[Score]:
    """Return the mean scores over stratified folds, for every learner and method."""
    from labelance.model_selection import RepeatedIterativeStratifiedKFold

    folds = RepeatedIterativeStratifiedKFold(n_splits=2, n_repeats=N_REPEATS, random_state=seed)
    splits = list(folds.split(X, Y))
    scores = []
    with progress("Comparing", 2 * len(splits), quiet=quiet) as bar:
        for name, learner in _learners().items():
            measured: dict[str, list[tuple[float, ...]]] = {}
            for train, test in splits:
                for method, model in fit_methods(learner, X[train], Y[train], seed):
                    measured.setdefault(method, []).append(_measure(model, X[test], Y[test]))
                bar.advance(bar.task_ids[0])
            scores += [Score(name, method, *np.mean(m, axis=0)) for method, m in measured.items()]
    return scores


def _learners() -> dict[str, Any]:
    from labelance.learners import BinaryRelevance, MLkNN

    return {"BR of C4.5": BinaryRelevance(), "MLkNN": MLkNN()}


def fit_methods(learner: Any, X: np.ndarray, Y: np.ndarray, seed: int) -> Iterator[tuple[str, Any]]:
    """Yield every method's fitted model.

    A member of an ensemble is the learner after one draw of the sampler, so that the first
    one is the sampler alone, and costs nothing more.
    """
    from sklearn.base import clone

    from labelance.ensemble import EMLSMOTE, EMLSOL

    yield "no sampling", clone(learner).fit(X, Y)
    ensembles = [make(learner, random_state=seed).fit(X, Y) for make in (EMLSMOTE, EMLSOL)]
    for name, ensemble in zip(("MLSMOTE", "MLSOL"), ensembles):
        yield name, ensemble.estimators_[0]
    for name, ensemble in zip(("EMLSMOTE", "EMLSOL"), ensembles):
        yield name, ensemble


def _measure(model: Any, X: np.ndarray, Y: np.ndarray) -> tuple[float, ...]:
    from labelance.metrics import macro_auc_pr, macro_auc_roc, macro_f1

    relevance = model.predict_proba(X)
    return (
        macro_f1(Y, model.predict(X)),
        macro_auc_roc(Y, relevance),
        macro_auc_pr(Y, relevance),
    )
