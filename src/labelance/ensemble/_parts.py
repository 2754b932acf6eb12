"""The learners that `RareLabelClassifier` blends: each gives scores of rows it did not learn from.

Every part is fitted by one call, without a search: it returns a model for new rows, with
``scores(table)``, and scores of the training rows by models that did not learn from them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from labelance._progress import run_parallel
from labelance._validation._arguments import Weights, take_weights
from labelance._validation._labels import cell_weights, known_cells, take_unknown
from labelance.decisions._held_out import CV_FOLDS
from labelance.ensemble._calibrated import LabelCurves
from labelance.ensemble._encoding import Floats, Table
from labelance.ensemble._forest import Forest
from labelance.ensemble._kernel_ridge import KernelRidge
from labelance.model_selection._splitters import assign_folds, strata

_MOST_BOOSTED = 32  # labels, of which each takes four fits


class Part(Protocol):
    """A fitted part of the blend."""

    def scores(self, table: Table) -> Floats:
        """Return (n, q) probabilities of new rows."""


class FittedPart(NamedTuple):
    """A part, and the scores of its training rows by models that did not learn from them."""

    model: Part
    held_out: Floats


class Task(NamedTuple):
    """What parts learn from: labels that some rows have and others lack."""

    table: Table
    Y: sp.csr_array
    unknown: sp.csr_array | None
    weight: Weights
    n_trees: int
    n_jobs: int | None

    @property
    def known(self) -> NDArray[np.bool_] | None:
        """A mask of known cells, None if all are."""
        return known_cells(self.unknown)


def fit_forest(task: Task, rng: np.random.Generator, *, splitter: str) -> FittedPart:
    """Fit a random forest ("best") or extra trees ("random"), judged out of bag."""
    Y = task.Y.toarray().astype(float)
    return FittedPart(
        *Forest.fit(
            task.table,
            Y,
            task.weight,
            rng,
            splitter=splitter,
            n_trees=task.n_trees,
            n_jobs=task.n_jobs,
            known=task.known,
        )
    )


@dataclass(frozen=True, eq=False)
class Calibrated:
    """A model whose scores become probabilities by a curve for every label."""

    model: Any
    curves: LabelCurves

    def scores(self, table: Table) -> Floats:
        """Return probabilities."""
        return self.curves(self.model.scores(table))


def fit_kernel(task: Task, rng: np.random.Generator) -> FittedPart:
    """Fit a kernel ridge regression of all labels, judged by leaving one out."""
    Y = task.Y.toarray().astype(float)
    known = task.known
    model, left_out = KernelRidge.fit(task.table, Y, task.weight, rng, known=known)
    curves = LabelCurves.fit(Y, left_out, task.weight, known)
    return FittedPart(Calibrated(model, curves), curves(left_out))


@dataclass(frozen=True, eq=False)
class PerLabelModels:
    """A classifier for every label; None where the rows agree, all without the label or with it.

    The share of a label of which no row is known is NaN.
    """

    models: list[Any]
    share: Floats

    def scores(self, table: Table) -> Floats:
        """Return probabilities."""
        scores = np.tile(self.share, (table.shape[0], 1))
        for label, model in enumerate(self.models):
            if model is not None:
                scores[:, label] = model.predict_proba(table)[:, 1]
        return scores


def fit_each_label(task: Task, rng: np.random.Generator, *, make: Callable[[], Any]) -> FittedPart:
    """Fit a classifier for every label, judged by three stratified folds."""
    n = task.Y.shape[0]
    folds = assign_folds(strata(task.Y, task.unknown), min(CV_FOLDS, n), rng.spawn(1)[0])
    held_out = np.empty(task.Y.shape)
    for fold in range(folds.max() + 1):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        model = _fit_labels(task, train, make)
        held_out[test] = model.scores(task.table[test])
    return FittedPart(_fit_labels(task, np.arange(n), make), held_out)


def _fit_labels(task: Task, rows: Any, make: Callable[[], Any]) -> PerLabelModels:
    table, Y, weight = task.table[rows], task.Y[rows].toarray(), take_weights(task.weight, rows)
    known = known_cells(take_unknown(task.unknown, rows))
    tasks = (
        delayed(_fit_label)(table, column, weight, make, None if known is None else known[:, label])
        for label, column in enumerate(Y.T)
    )
    models = run_parallel(
        Parallel,
        tasks,
        Y.shape[1],
        "Fitting labels",
        "labels",
        n_jobs=task.n_jobs,
        prefer="threads",
    )
    if known is None:
        return PerLabelModels(models, np.average(Y, axis=0, weights=weight))
    counted = cell_weights(weight, known)
    assert counted is not None
    total = counted.sum(axis=0)
    return PerLabelModels(models, (counted * Y).sum(axis=0) / np.where(total > 0, total, np.nan))


def _fit_label(
    table: Table, present: Any, weight: Weights, make: Callable[[], Any], known: Any
) -> Any:
    if known is not None:
        table, present, weight = table[known], present[known], take_weights(weight, known)
    if present.all() or not present.any():
        return None
    # Labels share the cores; threads inside of each would only wait for one another.
    with threadpool_limits(1, user_api="openmp"):
        return make().fit(table, present, sample_weight=weight)


def _boosting() -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(early_stopping=False, random_state=0)


PARTS: dict[str, Callable[[Task, np.random.Generator], FittedPart]] = {
    "random forest": partial(fit_forest, splitter="best"),
    "extra trees": partial(fit_forest, splitter="random"),
    "kernel ridge": fit_kernel,
    "boosting": partial(fit_each_label, make=_boosting),
}


def choose_parts(sparse: bool, n_labels: int) -> tuple[str, ...]:
    """Return the names of the parts for a table: all, or all that take many columns or labels."""
    boosted = not sparse and n_labels <= _MOST_BOOSTED
    return tuple(name for name in PARTS if name != "boosting" or boosted)
