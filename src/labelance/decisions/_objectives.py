"""What a label's threshold may aim at, next to the measures that have a name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from labelance.exceptions import InputError

Rule = Callable[[Any, Any, Any, Any], Any]
MEASURES = ("f1", "gmean", "balanced_accuracy")
Objective = Literal["f1", "gmean", "balanced_accuracy"] | Rule
_MOST_BETA = 1e100


def objective_value(
    objective: Objective, hits: Any, false: Any, n_positive: Any, n: float
) -> np.ndarray:
    """Return an objective from true positives and false positives; 0/0 counts as 1.

    That of a user's function counts as the worst there is.
    """
    if callable(objective):
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.asarray(
                objective(hits, false, n_positive - hits, n - n_positive - false), float
            )
        return np.where(np.isnan(value), -np.inf, value)
    if objective == "f1":
        return _ratio(2 * hits, hits + false + n_positive)
    recall = _ratio(hits, n_positive)
    specificity = _ratio(np.maximum(n - n_positive - false, 0), n - n_positive)
    if objective == "gmean":
        return np.sqrt(recall * specificity)
    return (recall + specificity) / 2


def objective_of_label(objective: Objective, label: int) -> Objective:
    """Return the objective of one label, where labels have their own."""
    return objective.of_label(label) if isinstance(objective, CostMatrix) else objective


def _ratio(part: Any, whole: Any) -> np.ndarray:
    return ratio(part, whole, empty=1.0)


def ratio(part: Any, whole: Any, *, empty: float) -> np.ndarray:
    """Return a quotient, and ``empty`` where the divisor is 0."""
    part, whole = np.broadcast_arrays(part, whole)
    return np.divide(part, whole, out=np.full(part.shape, empty), where=whole > 0)


def square_of_beta(beta: float) -> float:
    """Return the weight of recall; beyond the limit nothing else counts, and squares overflow."""
    return float(min(beta, _MOST_BETA)) ** 2


@dataclass(frozen=True)
class FBeta:
    """F with a weight of recall against precision, and smoothing for rare labels.

    An objective of :func:`find_thresholds` and :class:`LabelThresholds`:

        ((1 + beta²) tp + smoothing / 2) / (beta² positives + predicted + smoothing)

    Parameters
    ----------
    beta : float, default=1.0
        2 counts recall more, 0.5 precision.
    smoothing : float, default=0.0
        How many rows F is thought to be 1/2 on before anything is seen. Without smoothing, a
        label whose best F is tiny is predicted for thousands of rows, as almost any row raises it;
        1 asks for a better start.

    Examples
    --------
    >>> from labelance.decisions import FBeta, find_thresholds
    >>> y_true, y_score = [[1], [0], [1], [0]], [[0.9], [0.6], [0.4], [0.1]]
    >>> find_thresholds(y_true, y_score, objective=FBeta(0.5)).thresholds
    array([0.9])
    >>> find_thresholds(y_true, y_score, objective=FBeta(2)).thresholds
    array([0.4])
    """

    beta: float = 1.0
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        for name in ("beta", "smoothing"):
            value = getattr(self, name)
            least = 0 if name == "smoothing" else np.nextafter(0, 1)
            if not (isinstance(value, Real) and least <= float(value) < np.inf):
                raise InputError("FBeta needs beta > 0 and smoothing >= 0", f"Got {name}={value!r}")

    def __call__(self, tp: Any, fp: Any, fn: Any, tn: Any) -> np.ndarray:
        """Return the smoothed F-beta; 0/0 counts as 1."""
        squared = square_of_beta(self.beta)
        whole = squared * (tp + fn) + tp + fp + self.smoothing
        return _ratio((1 + squared) * tp + self.smoothing / 2, whole)


@dataclass(frozen=True)
class PrecisionAtRecall:
    """The best precision among thresholds whose recall is at least so much.

    An objective of :class:`LabelThresholds`. Where no threshold that was tried has the recall,
    the one with the largest recall is taken.

    Parameters
    ----------
    recall : float
        The least recall, in [0, 1].

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.decisions import LabelThresholds, PrecisionAtRecall
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = make_multilabel_imbalanced(200, random_state=0)
    >>> model = LabelThresholds(
    ...     KNeighborsClassifier(10), objective=PrecisionAtRecall(0.9), random_state=0
    ... )
    >>> model.fit(X, y).predict(X).mean() > y.mean()
    np.True_
    """

    recall: float

    def __post_init__(self) -> None:
        _check_share("PrecisionAtRecall", self.recall)

    def __call__(self, tp: Any, fp: Any, fn: Any, tn: Any) -> np.ndarray:
        """Return the precision, or something below 0 where the recall is too small."""
        recall = _ratio(tp, tp + fn)
        return np.where(recall >= self.recall, _ratio(tp, tp + fp), recall - 1)


@dataclass(frozen=True)
class RecallAtPrecision:
    """The best recall among thresholds whose precision is at least so much.

    An objective of :class:`LabelThresholds`. A label for which no threshold has the precision
    is never predicted: its threshold is infinite. (On the grid, which has no such value, it keeps
    the threshold of the largest precision.)

    Parameters
    ----------
    precision : float
        The least precision, in [0, 1].

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.decisions import LabelThresholds, RecallAtPrecision
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = make_multilabel_imbalanced(200, random_state=0)
    >>> model = LabelThresholds(
    ...     KNeighborsClassifier(10), objective=RecallAtPrecision(0.9), random_state=0
    ... )
    >>> model.fit(X, y).predict(X).mean() < y.mean()
    np.True_
    """

    precision: float

    def __post_init__(self) -> None:
        _check_share("RecallAtPrecision", self.precision)

    def __call__(self, tp: Any, fp: Any, fn: Any, tn: Any) -> np.ndarray:
        """Return the recall, or something below 0 where the precision is too small."""
        precision = _ratio(tp, tp + fp)
        return np.where(precision >= self.precision, _ratio(tp, tp + fn), precision - 1)


@dataclass(frozen=True, eq=False)
class CostMatrix:
    """The least cost, from what every kind of decision costs, one matrix for all labels or each.

    An objective of :class:`LabelThresholds`. Where it costs least never to predict a label, its
    threshold is infinite.

    Parameters
    ----------
    costs : array-like of shape (2, 2) or (n_labels, 2, 2)
        ``costs[true, predicted]``: what a row costs that has the label (``true=1``) or not, and
        is predicted to have it or not. Gains are negative costs.

    Examples
    --------
    A rare label that is missed costs as much as nine false alarms:

    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.decisions import CostMatrix, LabelThresholds
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = make_multilabel_imbalanced(200, random_state=0)
    >>> costs = CostMatrix([[0, 1], [9, 0]])
    >>> model = LabelThresholds(KNeighborsClassifier(10), objective=costs, random_state=0)
    >>> model.fit(X, y).predict(X).mean() > y.mean()
    np.True_
    """

    costs: ArrayLike

    def __post_init__(self) -> None:
        table = as_numbers(self.costs)
        if table.shape[-2:] != (2, 2) or table.ndim > 3 or not np.isfinite(table).all():
            raise InputError(
                "costs of CostMatrix must be finite, with shape (2, 2) or (n_labels, 2, 2)",
                f"Got {self.costs!r}",
                "Pass costs[true, predicted], such as [[0, 1], [9, 0]]",
            )

    def __call__(self, tp: Any, fp: Any, fn: Any, tn: Any) -> np.ndarray:
        """Return the cost of all rows, with a minus sign."""
        c = np.asarray(self.costs, float)
        return -(tn * c[..., 0, 0] + fp * c[..., 0, 1] + fn * c[..., 1, 0] + tp * c[..., 1, 1])

    def of_label(self, label: int) -> CostMatrix:
        """Return the costs of one label."""
        table = np.asarray(self.costs, float)
        return self if table.ndim == 2 else CostMatrix(table[label])

    def check_no_other_labels(self, n_labels: int) -> None:
        """Raise unless there is a matrix for all labels, or one for each."""
        shape = np.shape(self.costs)
        if len(shape) == 3 and shape[0] != n_labels:
            problem = f"CostMatrix needs one matrix for each of {n_labels} labels, or one for all"
            raise InputError(problem, f"Got {shape[0]}")


def as_numbers(values: Any) -> np.ndarray:
    """Return an array of floats; an empty one for what has none, or rows of unequal length."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return np.empty(0)


def _check_share(caller: str, value: Any) -> None:
    if not (isinstance(value, Real) and 0 <= float(value) <= 1):
        raise InputError(f"The share of {caller} must be in [0, 1]", f"Got {value!r}", "Try 0.9")


def check_no_impossible_objective(objective: Objective, n_labels: int) -> None:
    """Raise for costs of other labels, and for functions that are no rule."""
    if isinstance(objective, CostMatrix):
        objective.check_no_other_labels(n_labels)
    elif callable(objective):
        _check_rule(objective)


def _check_rule(objective: Rule) -> None:
    """Raise unless a function takes four arrays of counts and returns a value for each count."""
    counts = np.ones(2)
    try:
        shape = np.shape(objective(counts, counts, counts, counts))
        found = f"{objective!r} returned the shape {shape} for counts of {counts.shape}"
    except TypeError as error:  # such as a class instead of one of its objects
        shape, found = None, f"{objective!r} raised: {error}"
    if shape != counts.shape:
        raise InputError(
            "An objective must be a function (tp, fp, fn, tn) -> value of arrays",
            found,
            "Compute with the arrays as they are, as in lambda tp, fp, fn, tn: tp - fp",
        )
