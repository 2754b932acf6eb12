"""Classifiers that decide with a guarantee of recall, or within a budget."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import scipy.sparse as sp
from sklearn.frozen import FrozenEstimator

from labelance._arrays._containers import column_counts
from labelance._arrays._labels import mark_unknown
from labelance._arrays._open import take_rows
from labelance._utils._compat import HasMethods, Interval, StrOptions
from labelance._utils._random import as_generator
from labelance._validation._arguments import Weights, take_weights
from labelance._validation._data import Data
from labelance._validation._labels import take_unknown
from labelance._validation._predictions import Scored
from labelance.decisions._budget import Utility, decide_within_budget
from labelance.decisions._guarantee import Guarantees, TooFew, find_recall_thresholds
from labelance.decisions._held_out import (
    ScoringClassifier,
    check_no_single_label_estimator,
    check_rows_for_folds,
    choose_source,
)
from labelance.model_selection._splitters import assign_folds, strata

_SHARE = [Interval(Real, 0, 1, closed="neither")]


class RecallGuarantee(ScoringClassifier):
    """A classifier whose recall of every label is guaranteed.

    By default the estimator learns from one part of the rows, and the thresholds are found on the
    other by :func:`guarantee_recall`. The parts are stratified, and which of them calibrates is
    drawn at random, so that any row may do so with the same probability. Stratified parts are
    more alike than drawn ones, which the theory does not know; for an exact guarantee draw a
    validation set at random, and pass a :class:`~sklearn.frozen.FrozenEstimator`.

    Parameters
    ----------
    estimator : classifier
        Any multi-label classifier with ``predict_proba`` or ``decision_function``. A
        :class:`~sklearn.frozen.FrozenEstimator` is not fitted: all rows calibrate, and must be
        rows that it did not learn from.
    recall : float, default=0.9
        The smallest share of positives to find, between 0 and 1.
    confidence : float, optional
        How probable it must be that the recall holds, between 0 and 1. By default it holds in
        expectation.
    too_few : {"refuse", "always", "never", "pool"}, default="refuse"
        What to do with labels with too few positives, as in :func:`guarantee_recall`: raise an
        error before anything is fitted, always predict them, never predict them, or give them a
        common threshold.
    tune_on : {"split", "oob", "cv"}, default="split"
        Whose scores the thresholds are found on. "split": rows that the estimator does not learn
        from. "oob" and "cv": all rows, out of bag or out of 3 folds, as ``tune_on`` of
        :class:`LabelThresholds`, while the estimator learns from all rows. These are estimates
        without a guarantee.
    n_splits : int, default=2
        Into how many parts "split" cuts the rows; one of them calibrates.
    random_state : int, RandomState, Generator or None, default=None
        For the parts and folds.

    Attributes
    ----------
    estimator_ : classifier
        Fitted.
    thresholds_ : ndarray of shape (n_labels,)
        A label is predicted where its score is at least this; -inf: always, inf: never.
    guarantees_ : Guarantees
        What holds for every label, and why.

    See Also
    --------
    guarantee_recall : The same for scores of any model, and when a guarantee breaks.
    LabelThresholds : Thresholds for the largest F and other objectives.

    Notes
    -----
    Weights of rows are handed to the estimator. Calibration rows count alike.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.decisions import RecallGuarantee
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = make_multilabel_imbalanced(1000, random_state=0)
    >>> model = RecallGuarantee(KNeighborsClassifier(15), random_state=0)
    >>> model.fit(X[:600], y[:600]).guarantees_.guaranteed.sum()
    np.int64(10)
    >>> model.predict(X[600:]).shape
    (400, 10)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"])],
        "recall": _SHARE,
        "confidence": [*_SHARE, None],
        "too_few": [StrOptions(set(get_args(TooFew)))],
        "tune_on": [StrOptions({"split", "oob", "cv"})],
        "n_splits": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        recall: float = 0.9,
        confidence: float | None = None,
        too_few: TooFew = "refuse",
        tune_on: Literal["split", "oob", "cv"] = "split",
        n_splits: int = 2,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.recall = recall
        self.confidence = confidence
        self.too_few = too_few
        self.tune_on = tune_on
        self.n_splits = n_splits
        self.random_state = random_state

    def _fit(self, data: Data, X: Any, weight: Weights = None) -> None:
        check_no_single_label_estimator(self.estimator, caller=type(self).__name__)
        rng = as_generator(self.random_state)
        inner = self._weights_of_estimator(weight)
        if isinstance(self.estimator, FrozenEstimator):
            every = np.arange(data.n_samples)
            self.guarantees_ = self._calibrate_part(data, every[:0], every, None)
        elif self.tune_on == "split":
            train, rest = self._split(data, rng)
            self.guarantees_ = self._calibrate_part(data, train, rest, inner)
        else:
            self.guarantees_ = self._estimate(self.tune_on, data, inner, rng)
        self.thresholds_ = self.guarantees_.thresholds

    def _split(self, data: Data, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows to learn from and those to calibrate on."""
        what = f'tune_on="split" with n_splits={self.n_splits}'
        check_rows_for_folds(data.n_samples, self.n_splits, what)
        # With unequal parts, stratification gives labelsets in single rows to the larger one. A
        # random one of equal parts has every row with the same probability.
        folds = assign_folds(strata(data.Y, data.unknown), self.n_splits, rng.spawn(1)[0])
        chosen = folds == rng.integers(self.n_splits)
        return np.flatnonzero(~chosen), np.flatnonzero(chosen)

    def _calibrate_part(
        self, data: Data, train: np.ndarray, rest: np.ndarray, weight: Weights
    ) -> Guarantees:
        """Fit on some rows, and calibrate on others; a frozen estimator has none to fit on."""
        self._check_no_impossible(data.take(rest))
        learned = data.take(train) if len(train) else data
        self._fit_estimator(learned, take_weights(weight, train))
        reference = None
        if self.too_few == "pool" and len(train):
            learned_from = mark_unknown(data.Y[train], take_unknown(data.unknown, train))
            reference = (learned_from, self._scores_of(data, train))
        return self._find(data, rest, self._scores_of(data, rest), reference)

    def _estimate(
        self,
        source: Literal["oob", "cv"],
        data: Data,
        weight: Weights,
        rng: np.random.Generator,
    ) -> Guarantees:
        """Fit on all rows, and find thresholds on scores of models that left rows out."""
        choose_source(source, self.estimator)
        if source == "cv":
            check_rows_for_folds(data.n_samples)
        self._check_no_impossible(data)
        self._fit_estimator(data, weight)
        known = self._held_out(source, data, weight, rng)
        found = self._find(data, known.rows, known.scores)
        how = "out of bag" if source == "oob" else "out of fold"
        reasons = (
            reason.replace("guaranteed", f"estimate: scores {how}") if sure else reason
            for sure, reason in zip(found.guaranteed, found.reasons)
        )
        none = np.zeros(len(found.guaranteed), dtype=bool)
        return replace(found, guaranteed=none, reasons=tuple(reasons))

    def _check_no_impossible(self, data: Data) -> None:
        """Raise before anything is fitted: whether positives suffice does not depend on scores."""
        self._find(data, slice(None), sp.csr_array(data.Y.shape))

    def _find(self, data: Data, rows: Any, scores: Any, reference: Any = None) -> Guarantees:
        return find_recall_thresholds(
            Scored(data.Y[rows], scores, take_unknown(data.unknown, rows), names=data.labels.names),
            recall=self.recall,
            confidence=self.confidence,
            too_few=self.too_few,
            reference=reference,
        )

    def _scores_of(self, data: Data, rows: np.ndarray) -> np.ndarray:
        return self._scores(data.X[rows], take_rows(data.features.container.native, rows))


class BudgetClassifier(ScoringClassifier):
    """A classifier that decides all rows of a batch together, within a budget.

    ``predict`` gives the probabilities of the estimator to :func:`decide_within_budget`.
    Calibrate them after class weights or resampling (:class:`LabelCalibration`). The decisions of a
    row depend on the other rows of the batch.

    Parameters
    ----------
    estimator : classifier
        Any multi-label classifier with ``predict_proba``; a
        :class:`~sklearn.frozen.FrozenEstimator` is not fitted again.
    per_row : int, optional
        The most labels of a row, 1 to q.
    exactly : bool, default=False
        Whether a row gets exactly ``per_row`` labels.
    per_label : int or array-like of shape (q,), optional
        The most rows of a label in a batch.
    total : int, optional
        The most decisions for a label in a whole batch.
    utility : str, default="macro_f1"
        What the decisions maximize: "macro_f1", "macro_recall", "macro_precision",
        "balanced_accuracy", "coverage" or "precision". Labels per row together with another budget
        need "macro_recall", "balanced_accuracy" or "precision".
    random_state : int, RandomState, Generator or None, default=None
        Draws the order in which rows are decided.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on all rows.

    See Also
    --------
    decide_within_budget : The same for probabilities of any model, with its value and counts.
    find_budget_rule : A rule for rows that come one by one.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.decisions import BudgetClassifier, LabelCalibration
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = make_multilabel_imbalanced(400, random_state=0)
    >>> forest = LabelCalibration(RandomForestClassifier(20, random_state=0))
    >>> model = BudgetClassifier(forest, per_row=2, random_state=0).fit(X[:200], y[:200])
    >>> model.predict(X[200:]).sum(axis=1).max()
    np.int64(2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict_proba"])],
        "per_row": [Interval(Integral, 1, None, closed="left"), None],
        "exactly": ["boolean"],
        "per_label": [Interval(Integral, 0, None, closed="left"), "array-like", None],
        "total": [Interval(Integral, 0, None, closed="left"), None],
        "utility": [StrOptions(set(get_args(Utility)))],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        per_row: int | None = None,
        exactly: bool = False,
        per_label: Any = None,
        total: int | None = None,
        utility: Utility = "macro_f1",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.per_row = per_row
        self.exactly = exactly
        self.per_label = per_label
        self.total = total
        self.utility = utility
        self.random_state = random_state

    def _fit(self, data: Data, X: Any, weight: Weights = None) -> None:
        check_no_single_label_estimator(self.estimator, caller=type(self).__name__)
        self._seed = int(as_generator(self.random_state).integers(2**32))
        # A budget that a single row cannot keep is impossible: raise before anything is fitted.
        self._decide(np.full((1, data.Y.shape[1]), 0.5))
        self._seen = column_counts(data.Y) > 0
        self._fit_estimator(data, self._weights_of_estimator(weight))

    def _decide(self, proba: np.ndarray) -> np.ndarray:
        found = decide_within_budget(
            proba,
            per_row=self.per_row,
            exactly=self.exactly,
            per_label=self.per_label,
            total=self.total,
            utility=self.utility,
            random_state=self._seed,
        )
        return found.y.toarray()

    def _predict(self, clean: Any, X: Any) -> np.ndarray:
        # Some learners smooth the scores of labels that no row had, which would decide for them.
        return self._decide(np.where(self._seen, self._scores(clean, X), 0.0))
