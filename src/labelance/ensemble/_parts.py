"""The learners that `RareLabelClassifier` blends: each gives scores of rows it did not learn from.

A part names the tables that it fits, what it costs, how to fit it once, and how to fit it with
scores of its training rows by models that did not learn from them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import log2, sqrt
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from joblib import Parallel, delayed
from scipy.special import expit, logit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.svm import LinearSVC

from labelance._arrays._cells import stored_cells
from labelance._progress import run_parallel
from labelance._utils._threads import single_threaded_blas, single_threaded_openmp
from labelance._validation._arguments import Weights, take_weights
from labelance._validation._data import cell_weights, labels_known_together, weights_of
from labelance.decisions._calibration import fit_curves
from labelance.decisions._held_out import CV_FOLDS
from labelance.ensemble._encoding import Floats, Table, Task
from labelance.ensemble._forest import BAG, BaggedTrees
from labelance.ensemble._kernel_ridge import KernelRidge, n_landmarks
from labelance.ensemble._logistic import center_and_width, fit_logistic_regressions, label_groups
from labelance.ensemble._network import Network, plan_rounds
from labelance.model_selection._splitters import assign_folds, strata

_FEW_ROWS = 10_000
_MOST_BOOSTED, _MOST_BOOSTED_COLUMNS = 32, 300  # labels, each with four fits, and columns
_C_SPARSE, _C_DENSE = 0.2, 0.03  # rows of length 1; standardised columns
_LEAST = 1e-4  # probability whose log-odds count
_STRENGTH = 20.0  # positives that the common curve is worth, as in thresholds


class Model(Protocol):
    """A fitted part of the blend."""

    def scores(self, table: Table) -> Floats:
        """Return (n, q) probabilities of new rows."""


class FittedPart(NamedTuple):
    """A part, and the scores of its training rows by models that did not learn from them."""

    model: Model
    held_out: Floats


@dataclass(frozen=True, eq=False)
class LabelCurves:
    """A logistic curve for every label, of its scores in units of their spread.

    A label in m rows weighs its own curve by m, and that of all labels together by 20.
    """

    center: Floats
    spread: Floats
    slope: Floats
    intercept: Floats

    @classmethod
    def fit(cls, Y: Floats, scores: Floats, weight: Weights, known: Any = None) -> LabelCurves:
        """Fit curves to known cells of scores of rows that the model did not learn from."""
        counted = cell_weights(weight, known)
        center, spread = center_and_width(scores, counted)
        z = (scores - center) / spread
        if counted is None:
            counted = np.ones(len(Y))
        own_slope, own_intercept = np.hstack(
            [
                fit_curves(Y[:, group], z[:, group], weights_of(counted, group))
                for group in label_groups(z)
            ]
        )
        n_positive = counted @ Y if known is None else (counted * Y).sum(axis=0)
        n = counted.sum(axis=0)
        rarer = np.minimum(n_positive, n - n_positive)
        own = rarer / (rarer + _STRENGTH)
        # The common curve in units of every label's own frequency.
        base = np.log((n_positive + 0.5) / (n - n_positive + 0.5))
        total = own.sum() or 1.0  # no label has rows of both kinds
        common = own @ own_slope / total, own @ (own_intercept - base) / total
        slope = own * own_slope + (1 - own) * common[0]
        intercept = own * own_intercept + (1 - own) * (base + common[1])
        return cls(center, spread, np.maximum(slope, 1e-3), intercept)

    def __call__(self, scores: Floats) -> Floats:
        """Return probabilities, in the order of the scores."""
        return expit(self.slope * (scores - self.center) / self.spread + self.intercept)


@dataclass(frozen=True, eq=False)
class Calibrated:
    """A model whose scores become probabilities by a curve for every label."""

    model: Model
    curves: LabelCurves
    frequency: Floats  # of every label, for scores that the model cannot give (NaN)
    of_odds: bool

    @classmethod
    def fit(cls, model: Model, held_out: Floats, task: Task, *, of_odds: bool) -> Calibrated:
        """Fit the curves to scores of rows that the model did not learn from."""
        Y, known = task.present, task.known
        frequency = Y.sum(axis=0) / (len(Y) if known is None else np.maximum(known.sum(axis=0), 1))
        values = _curved(held_out, frequency, of_odds=of_odds)
        curves = LabelCurves.fit(Y, values, task.weight, known)
        return cls(model, curves, frequency, of_odds)

    def calibrate(self, scores: Floats) -> Floats:
        """Return probabilities for scores of the model."""
        return self.curves(_curved(scores, self.frequency, of_odds=self.of_odds))

    def scores(self, table: Table) -> Floats:
        """Return probabilities."""
        return self.calibrate(self.model.scores(table))


def _curved(scores: Floats, frequency: Floats, *, of_odds: bool) -> Floats:
    """Return what curves are of: scores, or log-odds of scores, unknown ones filled."""
    filled = np.where(np.isnan(scores), frequency, scores)
    return logit(np.clip(filled, _LEAST, 1 - _LEAST)) if of_odds else filled


class Part(ABC):
    """A learner of the blend."""

    name: ClassVar[str]
    of_odds: ClassVar[bool] = False  # whether curves are fitted to log-odds of the scores
    in_one_thread: ClassVar[bool] = False  # whether a fit has no threads of its own
    n_fits: ClassVar[int] = 3  # that work counts: one of all rows, and three of two thirds
    row_work: ClassVar[float]  # about how many CPU seconds the scores of a row take, of 150 trees

    def fits(self, table: Table, n_labels: int) -> bool:
        """Say whether the part can learn from such a table."""
        return True

    @abstractmethod
    def work(self, n: int, task: Task) -> float:
        """Return about how many CPU seconds a fit to n such rows takes, with held-out scores.

        It is counted from shapes, never measured, so that what is fitted does not depend on the
        computer. The constants are from one of 2026.
        """

    @abstractmethod
    def fit_once(self, task: Task, rng: np.random.Generator) -> Model:
        """Return a model of all rows."""

    def try_on(self, task: Task, judged: Task, rng: np.random.Generator) -> Floats:
        """Return scores of rows that are not learned from, as probabilities by their own curves."""
        model = self.fit_once(task, rng)
        scores = model.scores(judged.table)
        return Calibrated.fit(model, scores, judged, of_odds=self.of_odds).calibrate(scores)

    def fit(self, task: Task, rng: np.random.Generator) -> FittedPart:
        """Return a model of all rows, and scores of the rows by models that lacked them.

        A curve for every label makes probabilities of both, so that parts can be averaged: those
        of a forest are too near to each other, those of a network too far from 0.5.
        """
        model, held_out = self.fit_held_out(task, rng)
        calibrated = Calibrated.fit(model, held_out, task, of_odds=self.of_odds)
        return FittedPart(calibrated, calibrated.calibrate(held_out))

    def fit_held_out(self, task: Task, rng: np.random.Generator) -> FittedPart:
        """Return a model of all rows, and scores of the rows in three stratified folds."""
        n_folds = min(CV_FOLDS, task.Y.shape[0])
        streams = rng.spawn(n_folds + 2)
        folds = assign_folds(strata(task.Y, task.unknown), n_folds, streams[-1])
        held_out = np.empty(task.Y.shape)

        def learn(fold: int) -> Any:
            if fold == n_folds:
                return self.fit_once(task, streams[fold])
            rows, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            model = self.fit_once(task.take(rows), streams[fold])
            return test, model.scores(task.table[test])

        *folded, model = run_parallel(
            Parallel,
            (delayed(learn)(fold) for fold in range(n_folds + 1)),
            n_folds + 1,
            f"Fitting {self.name}",
            "folds",
            n_jobs=task.n_jobs if self.in_one_thread else 1,
            require="sharedmem",
        )
        for test, scores in folded:
            held_out[test] = scores
        return FittedPart(model, held_out)


# --- one model for each label ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PerLabelModels:
    """A classifier for every label; None where the rows agree, all without the label or with it.

    The share of a label of which no row is known is NaN. Margins of -1 and 1 are scores 0 and 1.
    """

    models: list[Any]
    share: Floats

    def scores(self, table: Table) -> Floats:
        """Return probabilities."""
        # Threads that meet after each of a hundred trees cost few rows more than they save.
        if table.shape[0] < _FEW_ROWS:
            with single_threaded_openmp():
                return self._scores(table)
        return self._scores(table)

    def _scores(self, table: Table) -> Floats:
        scores = np.tile(self.share, (table.shape[0], 1))
        for label, model in enumerate(self.models):
            if model is not None:
                if hasattr(model, "predict_proba"):
                    scores[:, label] = model.predict_proba(table)[:, 1]
                else:
                    scores[:, label] = (1 + model.decision_function(table)) / 2
        return scores


class _PartOfLabels(Part):
    """A part with one of scikit-learn's classifiers for each label."""

    @abstractmethod
    def make(self) -> Any:
        """Return the classifier of a label."""

    def fit_once(self, task: Task, rng: np.random.Generator) -> Model:
        table, Y, known = task.table, task.Y.tocsc(), task.known
        tasks = (
            delayed(self._fit_label)(
                table,
                Y[:, [label]].toarray().ravel(),
                task.weight,
                None if known is None else known[:, label],
            )
            for label in range(Y.shape[1])
        )
        models = run_parallel(
            Parallel,
            tasks,
            Y.shape[1],
            f"Fitting {self.name}",
            "labels",
            n_jobs=task.n_jobs,
            require="sharedmem",
        )
        return PerLabelModels(models, _shares(task))

    def _fit_label(self, table: Table, present: Any, weight: Weights, known: Any) -> Any:
        if known is not None:
            table, present, weight = table[known], present[known], take_weights(weight, known)
        if present.all() or not present.any():
            return None
        return self.fit_classifier(table, present, weight)

    def fit_classifier(self, table: Table, present: Any, weight: Weights) -> Any:
        """Return the classifier of a label that some of the rows have and others lack."""
        return self.make().fit(table, present, sample_weight=weight)


def _shares(task: Task) -> Floats:
    """Return the weighted share of the known rows of every label that have it."""
    counted, Y = cell_weights(task.weight, task.known), task.Y.toarray()
    if counted is None or counted.ndim == 1:
        return np.average(Y, axis=0, weights=counted)
    total = counted.sum(axis=0)
    return (counted * Y).sum(axis=0) / np.where(total > 0, total, np.nan)


class Boosting(_PartOfLabels):
    """Boosted trees for each label, on tables of few columns and labels."""

    name = "boosting"
    of_odds = True
    row_work = 1e-4

    def fits(self, table: Table, n_labels: int) -> bool:
        few = n_labels <= _MOST_BOOSTED and table.shape[1] <= _MOST_BOOSTED_COLUMNS
        return few and stored_cells(table) is None

    def work(self, n: int, task: Task) -> float:
        # A tree has at most 31 leaves, and fewer where that would leave them too few rows.
        leaves = min(n / 30, 31)
        return 4 * task.n_labels * (0.1 + 2e-5 * n + 3e-4 * task.table.shape[1] * leaves)

    def make(self) -> Any:
        return HistGradientBoostingClassifier(early_stopping=False, random_state=0)

    def fit_classifier(self, table: Table, present: Any, weight: Weights) -> Any:
        # Labels share the cores; threads inside of each would only wait for one another.
        with single_threaded_openmp():
            return super().fit_classifier(table, present, weight)


class LinearRows(_PartOfLabels):
    """A linear support vector machine for each label, on sparse rows of length 1.

    On all rows of goemotions (TF-IDF) its mean average precision is .437, that of logistic
    regressions .426, in the same time.
    """

    name = "linear"
    row_work = 3e-6

    def fits(self, table: Table, n_labels: int) -> bool:
        return stored_cells(table) is not None

    def work(self, n: int, task: Task) -> float:
        rows, columns = task.table.shape
        stored = n * task.table.nnz / max(rows, 1)
        return 3 * task.n_labels * (2e-3 + 2e-7 * columns + 1.6e-7 * stored)

    def make(self) -> Any:
        return LinearSVC(C=_C_SPARSE, dual=False)


# --- all labels at once ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LinearModels:
    """Logistic regressions of all labels; a label without one has its share."""

    coef: Floats  # (q, d)
    intercept: Floats

    def scores(self, table: Table) -> Floats:
        """Return probabilities."""
        return expit(table @ self.coef.T + self.intercept)


class LinearColumns(Part):
    """Logistic regressions of all labels side by side, on standardised columns."""

    name = "linear"
    row_work = 3e-6
    of_odds = True

    def fits(self, table: Table, n_labels: int) -> bool:
        return stored_cells(table) is None

    def work(self, n: int, task: Task) -> float:
        d, q = task.table.shape[1], task.n_labels
        m = min(n, d)  # principal axes
        return 3 * (5e-3 * q + 1.4e-8 * n * m * q + 2e-10 * n * d * m + 1e-9 * m**3)

    def fit_once(self, task: Task, rng: np.random.Generator) -> Model:
        coef, share = np.zeros((task.n_labels, task.table.shape[1])), _shares(task)
        with np.errstate(divide="ignore"):
            intercept = np.log(share / (1 - share))  # of labels on which the rows agree
        learned = np.flatnonzero((share > 0) & (share < 1))
        if len(learned):
            present = task.present[:, learned]
            counted = cell_weights(task.weight, task.known)
            if counted is not None:
                counted = weights_of(counted, learned)
            found = fit_logistic_regressions(task.table, present, _C_DENSE, counted)
            coef[learned], intercept[learned] = found
        return LinearModels(coef, intercept)


class Kernel(Part):
    """A kernel ridge regression of all labels, judged by leaving one out."""

    name = "kernel ridge"
    row_work = 6e-5
    n_fits = 1  # rows are left out in closed form

    def work(self, n: int, task: Task) -> float:
        groups = len(labels_known_together(task.known))
        m = min(n, n_landmarks(groups))
        return 0.02 + 1.6e-10 * n * m * (groups * m + 2 * task.n_labels) + 4e-10 * groups * m**3

    def fit_once(self, task: Task, rng: np.random.Generator) -> Model:
        return self.fit_held_out(task, rng).model

    def fit_held_out(self, task: Task, rng: np.random.Generator) -> FittedPart:
        return FittedPart(*KernelRidge.fit(task, rng))


class Perceptron(Part):
    """A network of one hidden layer for all labels, on standardised columns."""

    name = "network"
    row_work = 6e-6
    of_odds = True
    in_one_thread = True

    def fits(self, table: Table, n_labels: int) -> bool:
        return stored_cells(table) is None

    def work(self, n: int, task: Task) -> float:
        _, rounds = plan_rounds(n)
        columns = task.table.shape[1] + task.n_labels
        return 3 * rounds * n * (4e-8 * columns + 1.2e-5) + 0.5 * columns / 400

    def fit_once(self, task: Task, rng: np.random.Generator) -> Model:
        return Network.fit(task, rng)

    def fit_held_out(self, task: Task, rng: np.random.Generator) -> FittedPart:
        with single_threaded_blas():  # folds share the cores
            return super().fit_held_out(task, rng)


class Trees(Part):
    """A random forest ("best") or extra trees ("random"), judged out of bag."""

    n_fits = 1
    row_work = 7e-5

    def __init__(self, name: str, splitter: str) -> None:
        self.name, self.splitter = name, splitter  # type: ignore[misc]

    def work(self, n: int, task: Task) -> float:
        bag, outputs = min(n, BAG), min(task.n_labels, 64)
        rows, columns = task.table.shape
        tried = sqrt(columns)
        stored = stored_cells(task.table)
        if stored is not None:  # both kinds look for the stored cells of a column
            tried *= 0.35 + 10 * stored / max(rows * columns, 1)
        elif self.splitter == "random":
            tried *= 0.3
        grown = 2e-8 * bag * log2(bag + 2) * tried * (1 + 0.08 * outputs)
        return task.n_trees * (2e-3 + grown + 1.5e-6 * n)

    def fit_once(self, task: Task, rng: np.random.Generator) -> Model:
        return self.fit_held_out(task, rng).model

    def fit_held_out(self, task: Task, rng: np.random.Generator) -> FittedPart:
        return FittedPart(*BaggedTrees.fit(task, rng, self.splitter))


PARTS: tuple[Part, ...] = (
    LinearRows(),
    LinearColumns(),
    Perceptron(),
    Kernel(),
    Trees("random forest", "best"),
    Trees("extra trees", "random"),
    Boosting(),
)
