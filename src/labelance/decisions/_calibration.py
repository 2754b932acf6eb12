"""Probabilities instead of scores, label by label; correction for a changed prior."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression
from scipy.special import expit

from labelance._arrays._containers import column_counts
from labelance._utils._compat import HasMethods, Interval, StrOptions
from labelance._utils._random import as_generator
from labelance._validation._arguments import (
    Weights,
    check_choice,
    check_positive,
    take_weights,
    validate_weights,
)
from labelance._validation._data import (
    Data,
    cell_weights,
    count_known,
    known_cells,
    take_unknown,
    weights_of,
)
from labelance._validation._predictions import (
    validate_probabilities,
    validate_score_table,
    validate_scores,
)
from labelance.decisions._held_out import (
    ScoringClassifier,
    check_no_single_label_estimator,
    check_rows_for_folds,
    choose_source,
)
from labelance.decisions._objectives import as_numbers
from labelance.decisions._table import LabelTable
from labelance.exceptions import InputError

Floats = NDArray[np.float64]
CalibrationMethod = Literal["sigmoid", "isotonic"]

_NEWTON_STEPS = 60
_SOFT = 0.05  # none of 100 votes is no impossibility; the best Brier loss for votes of trees
_HARD = 0.001  # a regression means what it says: 0.002 is another score than 0.02
_COMMON = 5.0  # positives that the common curve is worth


class LabelCalibration(ScoringClassifier):
    """A classifier whose scores are made probabilities, label by label.

    Of the rows that get 0.2 for a label, about a fifth should have it. Boosted trees, forests,
    naive Bayes and everything that learned from resampled rows say other numbers; a map for
    every label, found on rows that the model did not learn from, puts them right. The order of
    the rows stays (with "isotonic" some become equal), so areas under curves do not gain; it
    is turned round only by a sigmoid of a label that those rows rank worse than chance does.

    Parameters
    ----------
    estimator : classifier
        Any multi-label classifier with ``predict_proba`` or ``decision_function``.
    method : {"sigmoid", "isotonic"}, default="sigmoid"
        A logistic curve of the score's log-odds, two numbers for each label, fitted to Platt's
        smoothed targets; or any increasing steps, which need more rows, hundreds with the label
        at best. The log-odds are softened, ``log((s + a) / (1 + a - s))``: by a = 0.05, for votes,
        of which 0 and 1 are less certain than they look, or by a = 0.001, for scores of which small
        ones differ, whichever fits the rows better. A label in m rows weighs its own curve by
        m, and one common to all labels by 5.
    tune_on : {"auto", "oob", "cv"}, default="auto"
        Whose scores the maps are found on: rows that members of the estimator left out, or
        out-of-fold scores of 3 stratified folds; as ``tune_on`` of
        :class:`LabelThresholds`. The estimator itself learns from all rows.
    min_class_count : int, default=10
        A label that fewer rows have (or lack) has too little for a map of its own: all such
        labels share one sigmoid, fitted to their cells together. A label that all rows agree on
        keeps its score.
    random_state : int, RandomState, Generator or None, default=None
        For the folds.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on all rows.
    calibrated_by_ : ndarray of str, of shape (n_labels,)
        "sigmoid", "isotonic", "pooled" or "nothing".

    See Also
    --------
    find_calibration : The same for scores that exist already.
    correct_prior : The correction that needs no rows, where a sampler changed a label's share.
    LabelThresholds : Decisions; they need no probabilities.
    labelance.metrics.macro_calibration_error : What this makes small.

    Notes
    -----
    scikit-learn's ``CalibratedClassifierCV`` calibrates one label; inside
    ``MultiOutputClassifier`` it fits the whole estimator again for every label, and refuses labels
    in fewer rows than folds. Here the estimator is fitted once (out of bag) or four times, for
    all labels together.

    References
    ----------
    .. [1] J. Platt, Probabilistic outputs for support vector machines and comparisons to
           regularized likelihood methods. Advances in Large Margin Classifiers, 1999.
    .. [2] B. Zadrozny and C. Elkan, Transforming classifier scores into accurate multiclass
           probability estimates. KDD 2002.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.decisions import LabelCalibration
    >>> from labelance.metrics import macro_brier_loss
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from labelance.learners import BinaryRelevance
    >>> X, y = make_multilabel_imbalanced(400, random_state=0)
    >>> plain = BinaryRelevance(GaussianNB()).fit(X[:200], y[:200])
    >>> calibrated = LabelCalibration(plain, random_state=0).fit(X[:200], y[:200])
    >>> losses = [macro_brier_loss(y[200:], m.predict_proba(X[200:])) for m in (plain, calibrated)]
    >>> losses[1] < losses[0]
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"])],
        "method": [StrOptions({"sigmoid", "isotonic"})],
        "tune_on": [StrOptions({"auto", "oob", "cv"})],
        "min_class_count": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        method: CalibrationMethod = "sigmoid",
        tune_on: Literal["auto", "oob", "cv"] = "auto",
        min_class_count: int = 10,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.tune_on = tune_on
        self.min_class_count = min_class_count
        self.random_state = random_state

    def _fit(self, data: Data, X: Any, weight: Weights = None) -> None:
        check_no_single_label_estimator(self.estimator, caller=type(self).__name__)
        source = choose_source(self.tune_on, self.estimator)
        if source == "cv":
            check_rows_for_folds(data.n_samples)
        inner = self._weights_of_estimator(weight)
        self._fit_estimator(data, inner)
        known = self._held_out(source, data, inner, as_generator(self.random_state))
        self._maps = fit_calibrators(
            data.Y[known.rows],
            known.scores,
            take_weights(weight, known.rows),
            take_unknown(data.unknown, known.rows),
            method=self.method,
            min_class_count=self.min_class_count,
        )
        self.calibrated_by_ = self._maps.calibrated_by

    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        return self._maps(super()._scores(clean, X))


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(LabelTable):
    """Maps that make the scores of a model probabilities, as `find_calibration` finds them.

    Attributes
    ----------
    calibrated_by : ndarray of str, of shape (n_labels,)
        "sigmoid", "isotonic" or "pooled", as in :class:`LabelCalibration`; "share" for labels that
        all rows agree on, whose score says nothing: of n rows p have it, and every row gets
        (p + 1) / (n + 2).
    n_positive, n_known : ndarray of shape (n_labels,)
        Rows with the label, and rows in which it is known.
    names : tuple or None
        Names of the labels, where they are given, or the labels or scores have them.
    """

    calibrated_by: NDArray[np.str_]
    n_positive: NDArray[np.intp]
    n_known: NDArray[np.intp]
    names: tuple[Any, ...] | None
    _maps: LabelMaps
    _margin: float | None  # the scale of margins; None for scores between 0 and 1

    def predict_proba(self, y_score: Any) -> np.ndarray:
        """Return probabilities of rows with these scores.

        Parameters
        ----------
        y_score : array, tensor or data frame of shape (n, n_labels)
            Scores of any rows, by the same model.

        Returns
        -------
        proba : ndarray of shape (n, n_labels)
            The share of rows with such a score that have the label.
        """
        caller = "Calibration.predict_proba"
        table = validate_score_table(
            y_score, len(self.calibrated_by), caller=caller, names=self.names
        )
        if self._margin is None and (table.min(initial=0) < 0 or table.max(initial=0) > 1):
            raise InputError(
                f"{caller} needs scores in [0, 1], as those that the calibration was found on",
                f"Got scores from {table.min():.3g} to {table.max():.3g}",
            )
        return self._maps(_open_margins(np.asarray(table, dtype=float), self._margin))

    def _columns(self) -> dict[str, Any]:
        return self._take("calibrated_by", "n_positive", "n_known")

    def _caption(self) -> str:
        kinds, counts = np.unique(self.calibrated_by, return_counts=True)
        words = ", ".join(f"{count} {kind}" for kind, count in zip(kinds, counts))
        return f"Calibration of {len(self.calibrated_by)} labels: {words}"


def find_calibration(
    y_true: Any,
    y_score: Any,
    *,
    method: CalibrationMethod = "sigmoid",
    min_class_count: int = 10,
    sample_weight: Any = None,
    label_names: Sequence[Any] | None = None,
) -> Calibration:
    """Find the maps that make scores of rows with known labels probabilities.

    For scores that exist already, of any model. The rows must be rows that the model did not
    learn from: a validation set, out-of-bag or out-of-fold rows.

    Parameters
    ----------
    y_true : array, sparse matrix or data frame of shape (n, q)
        The labels, 0 or 1. Unknown cells (NaN) are left out.
    y_score : array, tensor or data frame of shape (n, q)
        A score for every row and label: all between 0 and 1, or margins, which are taken for
        log-odds on a scale of their own.
    method : {"sigmoid", "isotonic"}, default="sigmoid"
        The kind of map, as in :class:`LabelCalibration`.
    min_class_count : int, default=10
        Labels that fewer rows have (or lack) share one sigmoid, as in :class:`LabelCalibration`.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows. Rows of weight 0 are left out.
    label_names : sequence, optional
        Names of the labels; those of the columns of y_true or y_score unless given.

    Returns
    -------
    calibration : Calibration
        ``predict_proba`` gives the probabilities of other rows.

    See Also
    --------
    LabelCalibration : The same around a classifier, which finds the scores, too.
    decide_within_budget : Decisions that need probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.decisions import find_calibration
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random((1000, 2)) * [0.5, 0.1]
    >>> y = rng.random(p.shape) < p
    >>> found = find_calibration(y, np.sqrt(p))  # scores that say too much
    >>> np.sqrt(p).mean(axis=0).round(2), found.predict_proba(np.sqrt(p)).mean(axis=0).round(2)
    (array([0.47, 0.21]), array([0.27, 0.04]))
    """
    caller = "find_calibration"
    check_choice("method", method, get_args(CalibrationMethod))
    check_positive("min_class_count", min_class_count, caller=caller)
    scored = validate_scores(
        y_true, y_score, caller=caller, needs_all=None, label_names=label_names
    )
    rows, weight = validate_weights(sample_weight, scored.Y.shape[0], caller=caller)
    Y, unknown, table = scored.Y, scored.unknown, np.asarray(scored.scores, dtype=float)
    if rows is not None:
        Y, unknown, table = Y[rows], take_unknown(unknown, rows), table[rows]
    known_here = known_cells(unknown)
    seen = table if known_here is None else table[known_here]
    inside = ((seen >= 0) & (seen <= 1)).all()
    margin = None if inside else float(seen.std()) or 1.0
    if known_here is not None:
        table = np.where(known_here, table, 0.0)  # unknown cells weigh nothing, whatever they are
    scores, soft = _open_margins(table, margin), None if margin is None else _SOFT
    options: dict[str, Any] = {"method": method, "min_class_count": min_class_count, "soft": soft}
    found = fit_calibrators(Y, scores, weight, unknown, **options)
    positive, known = column_counts(Y), count_known(Y, unknown)
    agreed = np.flatnonzero(found.calibrated_by == "nothing")
    found.calibrated_by[agreed] = "share"
    odds = (positive + 1) / (known - positive + 1)
    found.maps.append((agreed, Sigmoids(np.zeros(len(agreed)), np.log(odds)[agreed])))
    return Calibration(found.calibrated_by, positive, known, scored.names, found, margin)


def _open_margins(scores: Floats, scale: float | None) -> Floats:
    """Return margins as scores whose softened log-odds are the margins, in units of a scale."""
    if scale is None:
        return scores
    # Beyond 20 units expit is 0 or 1 to the last digits, and its log-odds would be infinite.
    return (1 + 2 * _SOFT) * expit(np.clip(scores / scale, -20, 20)) - _SOFT


class LabelMaps(NamedTuple):
    """Maps of labels to probabilities, and which of them has which."""

    calibrated_by: NDArray[np.str_]
    maps: list[tuple[NDArray[np.intp], Callable[[Floats], Floats]]]

    def __call__(self, scores: Any) -> Floats:
        """Return probabilities; labels without a map keep their scores."""
        found = np.array(scores, dtype=float)
        for labels, to_probabilities in self.maps:
            found[:, labels] = to_probabilities(found[:, labels])
        return found


def fit_calibrators(
    Y: sp.csr_array,
    scores: Floats,
    weight: Weights = None,
    unknown: sp.csr_array | None = None,
    *,
    method: CalibrationMethod,
    min_class_count: int,
    soft: float | None = None,
) -> LabelMaps:
    """Fit a map for every label that has enough rows, and one for the others.

    ``soft`` is by how much log-odds are softened; None finds it.
    """
    counts = column_counts(Y)
    rarer = np.minimum(counts, count_known(Y, unknown) - counts)
    calibrated_by = np.full(Y.shape[1], method, dtype="<U8")
    calibrated_by[rarer < min_class_count] = "pooled"
    calibrated_by[rarer == 0] = "nothing"
    own, pooled = (np.flatnonzero(calibrated_by == way) for way in (method, "pooled"))
    present = Y.toarray().astype(float)  # as dense as the scores are
    counted = cell_weights(weight, known_cells(unknown))
    counted = np.ones(len(scores)) if counted is None else counted
    maps: list[Any] = []
    if len(own):
        of_own = present[:, own], scores[:, own], weights_of(counted, own)
        if soft is None and (method == "sigmoid" or len(pooled)):
            soft = _find_softness(*of_own)
        if method == "isotonic":
            maps.append((own, fit_isotonic_steps(*of_own)))
        else:
            found = fit_sigmoids(*of_own, soft or _SOFT)
            maps.append((own, found.lean_on_common(rarer[own], of_own[0], of_own[2])))
    if len(pooled):
        cells, values = present[:, pooled].reshape(-1, 1), scores[:, pooled].reshape(-1, 1)
        shared = _or_ones(weights_of(counted, pooled), len(scores))
        shared = np.broadcast_to(shared, (len(scores), len(pooled))).reshape(-1, 1)
        maps.append((pooled, fit_sigmoids(cells, values, shared, soft or _SOFT)))
    return LabelMaps(calibrated_by, maps)


@dataclass(frozen=True, eq=False)
class Sigmoids:
    """Logistic curves of softened log-odds: one for every column, or one for all."""

    slope: Floats
    intercept: Floats
    soft: float = _SOFT

    def __call__(self, scores: Floats) -> Floats:
        """Return probabilities."""
        return expit(self.slope * _log_odds(scores, self.soft) + self.intercept)

    def lean_on_common(
        self, rarer: NDArray[Any], present: Floats, weight: Floats | None
    ) -> Sigmoids:
        """Draw the curves of labels with few rows to the one that all labels have in common.

        The common intercept is a line of the label's base rate: a calibrated model needs 0
        everywhere, one that learned from balanced classes needs the base rate itself.
        """
        w = _or_ones(weight, len(present))
        n_present, n_absent = (w * present).sum(axis=0), (w * (1 - present)).sum(axis=0)
        base = np.log(n_present / n_absent)  # these labels have rows of both kinds
        own = rarer / (rarer + _COMMON)
        shares = own / own.sum()
        middle, height = shares @ base, shares @ self.intercept
        spread, together = (base - middle) ** 2, (base - middle) * (self.intercept - height)
        rise = (own @ together) / (own @ spread + 1)  # one label more keeps few labels level
        slope = own * self.slope + (1 - own) * (shares @ self.slope)
        intercept = own * self.intercept + (1 - own) * (height + rise * (base - middle))
        return Sigmoids(slope, intercept, self.soft)


def _log_odds(scores: Floats, soft: float) -> Floats:
    """Return log-odds that stay finite, and near each other, where scores are 0 or 1."""
    return np.log((scores + soft) / (1 - scores + soft))


def fit_sigmoids(
    present: Floats, scores: Floats, weight: Floats | None, soft: float = _SOFT
) -> Sigmoids:
    """Fit a logistic curve of softened log-odds to every column."""
    return Sigmoids(*fit_curves(present, _log_odds(scores, soft), weight), soft)


def _find_softness(present: Floats, scores: Floats, weight: Floats | None) -> float:
    """Return by how much log-odds are best softened: the smaller loss per positive over labels."""
    w = _or_ones(weight, len(scores))

    def loss(soft: float) -> float:
        z = _log_odds(scores, soft)
        fitted = _loss(z, present, w, *fit_curves(present, z, weight))
        return float((fitted / (w * present).sum(axis=0)).sum())

    return _HARD if loss(_HARD) < loss(_SOFT) else _SOFT


def _or_ones(weight: Floats | None, n: int) -> Floats:
    return np.ones((n, 1)) if weight is None else weight.reshape(n, -1)


def fit_curves(present: Floats, z: Floats, weight: Floats | None) -> tuple[Floats, Floats]:
    """Return slope and intercept of a logistic curve for every column, by Newton's method.

    Targets are Platt's: a little inside of 0 and 1, as much as the number of rows leaves open, so
    that columns that the score separates have a finite curve. A step that would raise the loss
    of a column, by more than rounding, is halved. Where all scores are equal, the intercept alone
    is fitted. Weights are those of rows, (n, 1), or of cells.
    """
    w = _or_ones(weight, len(z))
    n_present, n_absent = (w * present).sum(axis=0), (w * (1 - present)).sum(axis=0)
    high, low = (n_present + 1) / (n_present + 2), 1 / (n_absent + 2)
    target = np.where(present > 0, high, low)
    slope, intercept = np.ones(z.shape[1]), np.zeros(z.shape[1])
    step = np.ones(z.shape[1])
    loss = _loss(z, target, w, slope, intercept)
    for _ in range(_NEWTON_STEPS):
        chance = expit(slope * z + intercept)
        off, curve = w * (chance - target), w * chance * (1 - chance) + 1e-12
        g = (off * z).sum(axis=0), off.sum(axis=0)
        a, b, c = (curve * z * z).sum(axis=0), (curve * z).sum(axis=0), curve.sum(axis=0)
        det = np.maximum(a * c - b * b, 1e-12 * a * c) + 1e-300
        flat = a * c - b * b <= 1e-12 * a * c  # equal scores say nothing about the slope
        tried = (
            slope - np.where(flat, 0, step * (c * g[0] - b * g[1]) / det),
            intercept - np.where(flat, step * g[1] / c, step * (a * g[1] - b * g[0]) / det),
        )
        new = _loss(z, target, w, *tried)
        rounding = 1e-12 * (1 + abs(loss))
        better = new < loss + rounding  # else rounding would refuse last steps, at random
        slope, intercept = np.where(better, tried[0], slope), np.where(better, tried[1], intercept)
        small = loss - new < rounding
        loss, step = np.where(better, new, loss), np.where(better, 1.0, step / 2)
        if np.all(np.where(better, small, step < 1e-6)):
            break
    return slope, intercept


def _loss(z: Floats, target: Floats, w: Floats, slope: Floats, intercept: Floats) -> Floats:
    """Return the logistic loss of every column."""
    margin = slope * z + intercept
    return (w * (np.logaddexp(0, margin) - target * margin)).sum(axis=0)


@dataclass(frozen=True, eq=False)
class IsotonicSteps:
    """Increasing functions, one for every column: scores, and the probabilities of these."""

    steps: list[tuple[Floats, Floats]]

    def __call__(self, scores: Floats) -> Floats:
        """Return probabilities; scores beyond those that were seen get the outermost one."""
        return np.column_stack([np.interp(own, *known) for own, known in zip(scores.T, self.steps)])


def fit_isotonic_steps(present: Floats, scores: Floats, weight: Floats | None) -> IsotonicSteps:
    """Fit an increasing function to the cells of every column that weigh something."""
    weights = np.broadcast_to(_or_ones(weight, len(scores)), scores.shape)
    return IsotonicSteps([_fit_steps(*column) for column in zip(present.T, scores.T, weights.T)])


def _fit_steps(present: Floats, scores: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Fit one function; equal scores count together, and the inner scores of a step go.

    scikit-learn's ``IsotonicRegression`` takes scores for equal that differ by less than 1e-15.
    """
    seen = weight > 0
    different, place = np.unique(scores[seen], return_inverse=True)
    total = np.bincount(place, weights=weight[seen])
    shares = np.bincount(place, weights=(weight * present)[seen]) / total
    found: Floats = isotonic_regression(shares, weights=total).x
    ends = np.ones(len(found), dtype=bool)
    ends[1:-1] = (found[1:-1] != found[:-2]) | (found[1:-1] != found[2:])
    return different[ends], np.clip(found[ends], 0, 1)


def correct_prior(scores: ArrayLike, train_prior: ArrayLike, target_prior: ArrayLike) -> Floats:
    """Return probabilities for the share of rows that labels have where a model is used.

    A model that learned from resampled rows speaks of a world in which a label is as frequent as
    in those rows. If rows were added or taken away by their label alone, Bayes' theorem says by
    how much its odds are too large: by the odds of the label's share among the rows it learned
    from, over the odds of its true share.

    Parameters
    ----------
    scores : array-like of shape (n, q)
        Probabilities that the model gives.
    train_prior : float or array-like of shape (q,)
        The share of rows with each label among the rows that it learned from.
    target_prior : float or array-like of shape (q,)
        The share of rows with each label where it is used, such as in the rows before sampling.

    Returns
    -------
    ndarray of shape (n, q)
        Corrected probabilities; labels whose ``train_prior`` is 0 or 1 keep their scores.

    See Also
    --------
    LabelCalibration : Finds the correction from rows, whatever has made it necessary.

    Notes
    -----
    Samplers for many labels choose rows by some labels and thereby change others, and synthetic
    rows are not drawn like true ones: for MLSOL and the like the correction is approximate.

    References
    ----------
    .. [1] C. Elkan, The foundations of cost-sensitive learning. IJCAI 2001, theorem 2.
    .. [2] M. Saerens, P. Latinne and C. Decaestecker, Adjusting the outputs of a classifier to
           new a priori probabilities. Neural Computation 14, 2002.

    Examples
    --------
    A coin that shows heads once in ten, seen by a model for which heads were half of all throws:

    >>> from labelance.decisions import correct_prior
    >>> correct_prior([[0.5], [0.9]], train_prior=0.5, target_prior=0.1)
    array([[0.1],
           [0.5]])
    """
    p = validate_probabilities(scores, caller="correct_prior")
    train, target = (_priors(prior, p.shape[1]) for prior in (train_prior, target_prior))
    known = (train > 0) & (train < 1)
    safe = np.where(known, train, 0.5)
    present, absent = p * (target / safe), (1 - p) * ((1 - target) / (1 - safe))
    total = present + absent
    corrected = np.divide(present, total, out=p.copy(), where=total > 0)
    return np.where(known, corrected, p)


def _priors(prior: ArrayLike, n_labels: int) -> Floats:
    values = as_numbers(prior)
    if values.shape not in ((), (n_labels,)) or not ((values >= 0) & (values <= 1)).all():
        problem = f"A prior must be a number in [0, 1], or one for each of {n_labels} labels"
        raise InputError(problem, f"Got {prior!r}")
    return values
