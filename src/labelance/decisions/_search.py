"""Search of the threshold of every label, on scores of rows with known labels."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed

from labelance._utils._compat import HasMethods, Interval, StrOptions, validate_params
from labelance._utils._messages import warn_user
from labelance._utils._threads import check_n_jobs
from labelance._validation._arguments import Weights, take_weights, validate_weights
from labelance._validation._categorical import name_columns
from labelance._validation._data import Data, take_unknown
from labelance._validation._predictions import validate_scores
from labelance.decisions._held_out import (
    CV_FOLDS,
    HeldOutScores,
    ScoreSource,
    check_no_single_label_estimator,
    check_rows_for_folds,
    training_scores,
)
from labelance.decisions._objectives import (
    MEASURES,
    FBeta,
    Objective,
    check_no_impossible_objective,
    objective_of_label,
    objective_value,
)
from labelance.decisions._table import Thresholds
from labelance.exceptions import LABEL, UndefinedLabelWarning, arg
from labelance.model_selection._splitters import assign_folds, strata

ThresholdSearch = Literal["exact", "grid"]
Shrinkage = float | Literal["auto"]
ShrinkTo = Literal["auto", "prevalence", "pooled"]
Variant = Literal["paper", "mulan"]

# Parameters of all classifiers that search thresholds.
SEARCHING: dict[str, list[Any]] = {
    "threshold_search": [StrOptions({"exact", "grid"})],
    "variant": [StrOptions({"paper", "mulan"})],
    "random_state": ["random_state", np.random.Generator],
}
# Those of classifiers that do so for an objective of their own.
TUNING: dict[str, list[Any]] = {
    **SEARCHING,
    "estimator": [HasMethods(["fit", "predict"])],
    "objective": [StrOptions({*MEASURES}), callable, None],
    "tune_on": [StrOptions({"auto", "train", "oob", "cv"})],
}
SHRINKING: dict[str, list[Any]] = {
    "shrinkage": [Interval(Real, 0, np.inf, closed="both"), StrOptions({"auto"})],
    "shrink_to": [StrOptions({"auto", "prevalence", "pooled"})],
}

# The authors' program adds 0.05 again and again; the odd last digits of the sums matter,
# since shares of votes such as 0.15 or 0.8 fall on the grid.
GRID = np.add.accumulate(np.full(19, 0.05))
_MOST_POOLED = 100
_STRENGTH = {"prevalence": 20.0, "pooled": 5.0}
_SUM_BITS = 50  # of the sum of all weights: a double has 53, and F doubles a sum


# --- the cuts of a label's scores: what every threshold would find there --------------------------


class Counts(NamedTuple):
    """Positives among the rows that a threshold chooses, and how many it chooses; or weights."""

    hits: Any
    chosen: Any
    n_positive: Any  # of rows in which the label is known
    n: Any

    def value(self, objective: Objective) -> np.ndarray:
        """Return the value of an objective."""
        false = self.chosen - self.hits
        return objective_value(objective, self.hits, false, self.n_positive, self.n)


class Cuts(NamedTuple):
    """Scores of a label from the largest down, and what each chooses as a threshold.

    All distinct scores; or, of rows that count once, those that may be best for a measure.
    """

    scores: np.ndarray
    counts: Counts
    ranked: np.ndarray | None = None  # all scores, ascending, of rows that count once
    found: np.ndarray | None = None  # and those of rows with the label

    def at(self, thresholds: Any) -> Counts:
        """Return what other thresholds choose."""
        hits, chosen, n_positive, n = self.counts
        if self.ranked is not None and self.found is not None:
            below = np.searchsorted(self.ranked, thresholds)
            return Counts(
                n_positive - np.searchsorted(self.found, thresholds), n - below, n_positive, n
            )
        above = len(self.scores) - np.searchsorted(self.scores[::-1], thresholds)
        return Counts(np.append(0, hits)[above], np.append(0, chosen)[above], n_positive, n)

    def nearest(self, target: float) -> float:
        """Return the threshold that chooses nearest to this many rows; of two, the fewer.

        Rows with the same score are chosen together. Where no row at all is nearer, since
        many share the largest score, the threshold is just above it.
        """
        if self.ranked is None:
            distance = np.abs(self.counts.chosen - target)
            most, best = self.scores[0], self.scores[np.argmin(distance)]
            none = distance.min() > target
        else:
            most = self.ranked[-1]
            inside = self.ranked[-min(math.ceil(target), len(self.ranked))]
            fewer = int(self.at(np.nextafter(inside, np.inf)).chosen)
            more = int(self.at(inside).chosen)
            none = fewer == 0 and more - target > target
            up = fewer > 0 and target - fewer <= more - target
            best = self.ranked[-fewer] if up else inside
        return float(np.nextafter(most, np.inf) if none else best)


def round_weights(weight: Weights) -> Weights:
    """Return weights, rounded to a common power of two so that their sums have no error.

    So sums do not depend on their order, and ties of equal weights are those of ones.
    """
    if weight is None:
        return None
    shift = _SUM_BITS - np.frexp(weight.sum())[1]
    return np.ldexp(np.rint(np.ldexp(weight, shift)), -shift)


class ScoredRows(NamedTuple):
    """Scores of rows whose labels are known, read label by label.

    ``scores`` is an array or a CSC array, in which a cell that is not stored has the score 0.
    """

    Y: sp.csc_array
    scores: Any
    unknown: sp.csc_array | None = None
    weight: Weights = None

    @classmethod
    def of(
        cls,
        Y: sp.csr_array,
        scores: Any,
        unknown: sp.csr_array | None = None,
        weight: Weights = None,
    ) -> ScoredRows:
        """Return tables of rows, made ready to be read by label."""
        columns = scores if isinstance(scores, np.ndarray) else scores.tocsc()
        hidden = None if unknown is None else unknown.tocsc()
        return cls(Y.tocsc(), columns, hidden, round_weights(weight))

    def n_positive(self) -> np.ndarray:
        """Return how many rows have each label, or their weight."""
        return self.Y.sum(axis=0) if self.weight is None else self.weight @ self.Y

    def vary(self) -> np.ndarray:
        """Say of every label whether the rows in which it is known disagree on it."""
        n_known = self.Y.shape[0] - _counts_of(self.unknown)
        return (_counts_of(self.Y) > 0) & (_counts_of(self.Y) < n_known)

    def is_certain(self, label: int) -> bool:
        """Say whether every row in which a label is known has it."""
        n_known = self.Y.shape[0] - len(_rows_of(self.unknown, label))
        return 0 < n_known == len(_rows_of(self.Y, label))

    def take(self, rows: np.ndarray) -> ScoredRows:
        """Return some of the rows."""
        unknown = None if self.unknown is None else self.unknown[rows]
        return ScoredRows(self.Y[rows], self.scores[rows], unknown, take_weights(self.weight, rows))

    def cuts_of(self, label: int, *, monotone: bool = False) -> Cuts:
        """Return the cuts of a label, from the rows in which it is known.

        All of them, or those that may be best for a measure that false alarms always lower.
        """
        if self.weight is None and isinstance(self.scores, np.ndarray):
            return _plain_cuts(*self._plain(label), monotone=monotone)
        return _weighted_cuts(*self._weighted(label))

    def counts_at(self, label: int, threshold: float) -> Counts:
        """Return what one threshold of a label chooses."""
        if self.weight is None and isinstance(self.scores, np.ndarray):
            known, positive = self._plain(label)
            hits, chosen = (np.count_nonzero(part >= threshold) for part in (positive, known))
            return Counts(hits, chosen, len(positive), len(known))
        scores, found, weight = self._weighted(label)
        above = scores >= threshold
        return Counts(found[above].sum(), weight[above].sum(), found.sum(), weight.sum())

    def _plain(self, label: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores of rows in which a label is known, and of those that have it."""
        column = np.ascontiguousarray(self.scores[:, label])
        unknown = _rows_of(self.unknown, label)
        known = np.delete(column, unknown) if len(unknown) else column
        return known, column[_rows_of(self.Y, label)]

    def _weighted(self, label: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return scores, the weight of the label's rows and that of rows, where it is known."""
        positive, unknown = _rows_of(self.Y, label), _rows_of(self.unknown, label)
        if isinstance(self.scores, np.ndarray):
            rows, scores = np.arange(len(self.scores)), self.scores[:, label]
        else:
            rows = _rows_of(self.scores, label)
            scores = self.scores.data[self.scores.indptr[label] : self.scores.indptr[label + 1]]
        if len(unknown):
            known = ~np.isin(rows, unknown)
            rows, scores = rows[known], scores[known]
        weight = self._weight_of(rows)
        found = np.where(np.isin(rows, positive), weight, 0)
        if len(rows) + len(unknown) < self.Y.shape[0]:  # one row for all that are not stored
            total = self.Y.shape[0] if self.weight is None else self.weight.sum()
            others = total - self._weight_of(unknown).sum() - weight.sum()
            scores, weight = np.append(scores, 0.0), np.append(weight, others)
            found = np.append(found, self._weight_of(positive).sum() - found.sum())
        return scores, found, weight

    def _weight_of(self, rows: np.ndarray) -> np.ndarray:
        return np.ones(len(rows), dtype=np.int64) if self.weight is None else self.weight[rows]


def _rows_of(table: sp.csc_array | None, column: int) -> np.ndarray:
    if table is None:
        return np.zeros(0, dtype=np.intp)
    return table.indices[table.indptr[column] : table.indptr[column + 1]]


def _counts_of(table: sp.csc_array | None) -> Any:
    return 0 if table is None else np.diff(table.indptr)


def _plain_cuts(scores: np.ndarray, positive: np.ndarray, *, monotone: bool) -> Cuts:
    """Return cuts of rows that all count once: sorting values is much faster than arguments.

    Of the cuts with the same positives, a monotone measure is best at the first: the score of a
    positive, or the largest score of all.
    """
    ranked, found = np.sort(scores), np.sort(positive)
    tried = np.append(found, ranked[-1:]) if monotone else ranked
    tried = tried[::-1][_ends_of_runs(tried[::-1])]
    cuts = Cuts(tried, Counts(0, 0, len(found), len(scores)), ranked, found)
    upwards = cuts.at(tried[::-1])  # ascending keys are found faster
    counts = upwards._replace(hits=upwards.hits[::-1], chosen=upwards.chosen[::-1])
    return cuts._replace(counts=counts)


def _weighted_cuts(scores: np.ndarray, found: np.ndarray, weight: np.ndarray) -> Cuts:
    order = np.argsort(-scores, kind="stable")
    ends = _ends_of_runs(scores[order])
    hits, chosen = np.cumsum(found[order])[ends], np.cumsum(weight[order])[ends]
    return Cuts(scores[order][ends], Counts(hits, chosen, found.sum(), weight.sum()))


def _ends_of_runs(ranked: np.ndarray) -> np.ndarray:
    """Return where runs of equals end: a threshold takes all rows with its score."""
    last = np.ones(len(ranked), dtype=bool)
    last[:-1] = ranked[:-1] != ranked[1:]
    return np.flatnonzero(last)


# --- the search -----------------------------------------------------------------------------------


@validate_params(
    {
        "objective": [StrOptions({*MEASURES, "micromacro"}), callable],
        **SHRINKING,
        "n_jobs": [Integral, None],
    },
    prefer_skip_nested_validation=False,
)
def find_thresholds(
    y_true: Any,
    y_score: Any,
    *,
    objective: Objective | Literal["micromacro"] = "f1",
    shrinkage: Shrinkage = "auto",
    shrink_to: ShrinkTo = "auto",
    sample_weight: Any = None,
    label_names: Sequence[Any] | None = None,
    n_jobs: int | None = None,
) -> Thresholds:
    """Find the threshold of every label on scores of rows with known labels.

    For scores that exist already, of any model. The rows must be rows that the model did not
    learn from: a validation set, out-of-bag or out-of-fold rows. Otherwise the thresholds are
    optimistic.

    Parameters
    ----------
    y_true : array, sparse matrix or data frame of shape (n, q)
        The labels, 0 or 1. Unknown cells (NaN) are left out.
    y_score : array, sparse matrix, tensor or data frame of shape (n, q)
        A score for every row and label; larger means more likely to be present. In a sparse
        matrix, a cell that is not stored has the score 0.
    objective : {"f1", "gmean", "balanced_accuracy", "micromacro"} or callable, default="f1"
        What the thresholds maximise, as in :class:`LabelThresholds`. "balanced_accuracy" has the
        thresholds of Youden's index, too. "micromacro" chooses labels from frequent to
        rare, each for the sum of its F, divided by its place, and of the micro F of all labels
        so far (the rule of LibMultiLabel); nothing is shrunk.
    shrinkage : float or "auto", default="auto"
        How much the thresholds of rare labels are drawn to what ``shrink_to`` says, as in
        :class:`LabelThresholds`. 0 gives every label its own best threshold, and ``np.inf``
        that of ``shrink_to`` alone.
    shrink_to : {"auto", "prevalence", "pooled"}, default="auto"
        What to shrink to, as in :class:`LabelThresholds`.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows: weight 2 is the row twice, so let them be about 1 where thresholds are
        shrunk. Rows of weight 0 are left out.
    label_names : sequence, optional
        Names of the labels; those of the columns of y_true or y_score unless given.
    n_jobs : int, optional
        Threads that sort labels. The result does not depend on it.

    Returns
    -------
    thresholds : Thresholds
        ``thresholds``, what each finds and why it is what it is; ``predict`` decides other rows.

    See Also
    --------
    LabelThresholds : The same inside a classifier, which finds the scores, too.

    Examples
    --------
    >>> from labelance.decisions import find_thresholds
    >>> y_true = [[0, 0], [0, 1], [1, 1], [1, 0]]
    >>> y_score = [[0.1, 0.2], [0.2, 0.6], [0.3, 0.7], [0.4, 0.1]]
    >>> found = find_thresholds(y_true, y_score, shrinkage=0)
    >>> found.thresholds
    array([0.3, 0.6])
    >>> found.predict([[0.35, 0.5]])
    array([[1, 0]])
    """
    check_n_jobs(n_jobs)
    caller = arg("find_thresholds")
    scored = validate_scores(
        y_true, y_score, caller=caller, needs_all=None, sparse=True, label_names=label_names
    )
    n, n_labels = scored.Y.shape
    if objective != "micromacro":
        check_no_impossible_objective(objective, n_labels)
    rows, weight = validate_weights(sample_weight, n, caller=caller)
    data = ScoredRows.of(scored.Y, scored.scores, scored.unknown)
    if rows is not None:
        data = data.take(rows)
    data = data._replace(weight=round_weights(weight))
    return explain_thresholds(
        data,
        scored.names,
        objective=objective,
        shrinkage=shrinkage,
        shrink_to=shrink_to,
        n_jobs=n_jobs,
    )


def explain_thresholds(
    data: ScoredRows,
    names: tuple[Any, ...] | None,
    *,
    objective: Objective | Literal["micromacro"],
    **options: Any,
) -> Thresholds:
    """Search thresholds on clean rows, and say of each what it finds and why it is what it is."""
    if objective == "micromacro":
        own = values = _micromacro(data)
        objective = "f1"
    else:
        own, values = search_thresholds(data, objective=objective, **options)
        if isinstance(objective, (str, FBeta)):
            values[[data.is_certain(label) for label in range(len(values))]] = -np.inf
    counts = [data.counts_at(label, value) for label, value in enumerate(values)]
    hits, chosen, n_positive, n_known = (np.array(column) for column in zip(*counts))
    earned = [one.value(objective_of_label(objective, j)) for j, one in enumerate(counts)]
    reasons = (_reason(data, *line) for line in zip(range(len(values)), counts, own, values))
    return Thresholds(
        thresholds=values,
        n_positive=n_positive,
        n_known=n_known,
        n_predicted=chosen,
        n_found=hits,
        value=np.array(earned, dtype=float),
        reasons=tuple(reasons),
        names=None if names is None else tuple(names),
        objective=objective,
    )


def _reason(data: ScoredRows, label: int, counts: Counts, own: float, value: float) -> str:
    """Say in words why a label has its threshold."""
    if counts.n_positive == 0:
        return "no positives: never predicted"
    if np.isneginf(value):
        return "every row has it: always predicted"
    if np.isposinf(value):
        return "best never predicted"
    best = "best for the label"
    rows = data.counts_at(label, own).chosen if own != value else counts.chosen
    if rows != counts.chosen:
        best = f"shrunk: {counts.chosen:.10g} predicted instead of {rows:.10g}"
    return f"{best}; finds no positive here" if counts.hits == 0 else best


class Searched(NamedTuple):
    """The threshold of every label that is best for it alone, and it shrunk."""

    own: np.ndarray
    shrunk: np.ndarray


def search_thresholds(
    data: ScoredRows,
    *,
    objective: Objective = "f1",
    search: ThresholdSearch = "exact",
    variant: Variant = "paper",
    shrinkage: Shrinkage = 0.0,
    shrink_to: ShrinkTo = "auto",
    names: tuple[Any, ...] | None = None,
    n_jobs: int | None = None,
) -> Searched:
    """Return for every label the threshold t that does best with ``score >= t``, and it shrunk.

    Parameters
    ----------
    data : ScoredRows
        Clean labels and scores.
    objective : {"f1", "gmean", "balanced_accuracy"} or callable
        What to maximise: a measure, or a function of arrays of true positives, false positives,
        false negatives and true negatives.
    search : {"exact", "grid"}
        Try every distinct score, or the 19 values 0.05, 0.10, … 0.95. Among equals, exact
        takes the largest threshold and the grid the smallest.
    variant : {"paper", "mulan"}
        Where nothing on the grid is better than 0, keep 0.5, with a warning; or 0, which
        predicts the label everywhere, as the authors' program does.
    shrinkage, shrink_to : float or "auto", {"auto", "prevalence", "pooled"}
        As in :class:`LabelThresholds`.
    names : tuple or None
        Names of the labels, for a warning.
    n_jobs : int or None
        How many threads.

    Returns
    -------
    own, shrunk : ndarrays of shape (q,)
        Infinite (exact search) for labels that no row has, and where a function is largest
        if the label is never predicted.
    """
    strength, target = _choose_shrinkage(objective, shrinkage, shrink_to)

    def of_label(label: int) -> tuple[float, float, float]:
        aim = objective_of_label(objective, label)
        cuts = data.cuts_of(label, monotone=isinstance(aim, (str, FBeta)))
        own, value = _on_grid(cuts, aim) if search == "grid" else _exact(cuts, aim)
        return own, _shrink_count(cuts, own, strength) if target == "prevalence" else own, value

    labels = range(data.Y.shape[1])
    if n_jobs in (None, 1):
        found = [of_label(label) for label in labels]
    else:
        found = Parallel(n_jobs, prefer="threads")(delayed(of_label)(label) for label in labels)
    own, shrunk, value = map(np.array, zip(*found))
    if search == "grid" and not callable(objective):  # 0 is nothing special to a function
        hopeless = value <= 0
        own[hopeless] = shrunk[hopeless] = 0.0 if variant == "mulan" else 0.5
        if variant == "paper" and hopeless.any():
            which = name_columns(np.flatnonzero(hopeless), names, LABEL)
            warn_user(
                f"No threshold finds a true positive of {hopeless.sum()} of {len(hopeless)} "
                f"labels: {which}. They keep 0.5.",
                UndefinedLabelWarning,
            )
    if target == "pooled" and strength > 0:
        pooled = pooled_threshold(data, own, objective)
        shrunk = shrink_thresholds(own, pooled, data.n_positive(), strength)
    return Searched(own, shrunk)


def _choose_shrinkage(
    objective: Objective, shrinkage: Shrinkage, shrink_to: ShrinkTo
) -> tuple[float, str]:
    """Return how much to shrink, and to what.

    F is best near as many predictions as there are positives; balanced accuracy and the
    geometric mean are not, and the conditions of a function would be broken.
    """
    like_f = objective == "f1" or (isinstance(objective, FBeta) and objective == FBeta())
    target = ("prevalence" if like_f else "pooled") if shrink_to == "auto" else shrink_to
    if shrinkage != "auto":
        return float(shrinkage), target
    return 0.0 if callable(objective) and not like_f else _STRENGTH[target], target


def _exact(cuts: Cuts, objective: Objective) -> tuple[float, float]:
    """Return the best of all distinct scores, the largest among equals, and its value."""
    if not cuts.counts.n_positive:
        return np.inf, np.nan
    values = cuts.counts.value(objective)
    best = int(np.argmax(values))
    if callable(objective):  # measures by name gain nothing by never predicting a label
        none = float(Counts(0, 0, cuts.counts.n_positive, cuts.counts.n).value(objective))
        if none >= values[best]:
            return np.inf, none
    return float(cuts.scores[best]), float(values[best])


def _on_grid(cuts: Cuts, objective: Objective) -> tuple[float, float]:
    """Return the best value of the grid, the smallest among equals, and its value."""
    values = cuts.at(GRID).value(objective)
    best = int(np.argmax(values))
    return float(GRID[best]), float(values[best])


def _shrink_count(cuts: Cuts, own: float, strength: float) -> float:
    """Return a threshold whose count of rows lies between that of another and the positives.

    The mean of the two logarithms: the label's own count weighs as much as it has positives, the
    count of positives ``strength``. Counts, and not scores, so that any increasing
    function of the scores gives the same decisions.
    """
    n_positive = cuts.counts.n_positive
    if strength == 0 or n_positive == 0 or not np.isfinite(own):
        return own
    weight = n_positive / (n_positive + strength)
    count = max(float(cuts.at(own).chosen), 0.5)
    target = math.exp(weight * math.log(count) + (1 - weight) * math.log(max(n_positive, 0.5)))
    return cuts.nearest(target)


def _micromacro(data: ScoredRows) -> np.ndarray:
    """Return thresholds from frequent labels to rare ones, each good for itself and for all."""
    thresholds = np.full(data.Y.shape[1], np.inf)
    tp = fp_fn = 0.0  # of the labels so far
    order = np.argsort(-data.n_positive(), kind="stable")
    for place, label in enumerate(order, start=1):
        cuts = data.cuts_of(int(label), monotone=True)
        n_positive = cuts.counts.n_positive
        hits, chosen = np.append(0, cuts.counts.hits), np.append(0, cuts.counts.chosen)
        wrong = chosen + n_positive - 2 * hits
        micro = _f_of(hits + tp, wrong + fp_fn)
        best = int(np.argmax(_f_of(hits, wrong) / place + micro))
        if best:
            thresholds[label] = cuts.scores[best - 1]
        tp, fp_fn = tp + hits[best], fp_fn + wrong[best]
    return thresholds


def _f_of(hits: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Return F from true positives and mistakes of both kinds; 0/0 is 0."""
    return 2 * hits / np.maximum(2 * hits + wrong, 1e-300)


def pooled_threshold(
    data: ScoredRows, thresholds: np.ndarray, objective: Objective = "f1"
) -> float:
    """Return the threshold that is best for all labels alike, among those of the labels.

    Best is the largest mean of the objective over labels that some row has. Of more than 100
    thresholds the percentiles are tried; 0.5 where there is none.
    """
    tried = np.unique(thresholds[np.isfinite(thresholds)])
    if len(tried) > _MOST_POOLED:
        tried = np.quantile(tried, np.linspace(0, 1, _MOST_POOLED))
    if not len(tried):
        return 0.5
    values = [
        data.cuts_of(label).at(tried).value(objective_of_label(objective, label))
        for label in map(int, np.flatnonzero(data.n_positive()))
    ]
    return float(tried[np.argmax(np.ascontiguousarray(np.transpose(values)).mean(axis=1))])


def shrink_thresholds(
    thresholds: np.ndarray, pooled: float, n_positive: np.ndarray, strength: float
) -> np.ndarray:
    """Return means of every label's own threshold and the pooled one.

    The label's own counts as often as rows have the label, the pooled one ``strength`` times;
    an infinite threshold stays.
    """
    if np.isinf(strength):
        return np.where(np.isfinite(thresholds), pooled, thresholds)
    own = np.where(np.isfinite(thresholds), thresholds, pooled)
    shrunk = (n_positive * own + strength * pooled) / np.maximum(n_positive + strength, 1e-300)
    return np.where(np.isfinite(thresholds), shrunk, thresholds)


# --- the thresholds of a classifier ---------------------------------------------------------------


def check_tunable(model: Any, source: ScoreSource, data: Data) -> None:
    """Raise, before anything is fitted, where a classifier cannot find thresholds as asked."""
    check_no_single_label_estimator(model.estimator, caller=type(model).__name__)
    if model.objective is not None:
        if source == "cv":
            check_rows_for_folds(data.n_samples)
        check_no_impossible_objective(model.objective, data.Y.shape[1])


def tune_thresholds(
    model: Any, source: ScoreSource, data: Data, weight: Weights, score: Callable[[], HeldOutScores]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the threshold of every label, and how much it varies over folds.

    Parameters
    ----------
    model : classifier
        Fitted; its parameters say what the thresholds are for.
    source : {"train", "oob", "cv"}
        Whose scores they are found on; "auto" is decided.
    data, weight
        The training rows, and their weights.
    score : callable
        Gives scores of training rows by models that did not learn from them.
    """
    n_labels = data.Y.shape[1]
    if model.objective is None:
        return np.full(n_labels, 0.5), np.zeros(n_labels)
    known = training_scores(model, data) if source == "train" else score()
    rule: dict[str, Any] = {
        "objective": model.objective,
        "search": model.threshold_search,
        "variant": model.variant,
    }
    own = model.get_params(deep=False)  # EMLS does not shrink
    shrinking = {name: own[name] for name in ("shrinkage", "shrink_to") if name in own}
    rows, names = _scored_rows(known, data, weight), data.labels.names
    found = search_thresholds(rows, names=names, **shrinking, **rule).shrunk
    if source == "train":
        return found, np.full(n_labels, np.nan)
    return found, _threshold_spread(known, data, weight, rule)


def _scored_rows(
    known: HeldOutScores, data: Data, weight: Weights, which: Any = slice(None)
) -> ScoredRows:
    """Return scores with the labels of their rows, or some of them."""
    rows = known.rows[which]
    unknown = take_unknown(data.unknown, rows)
    return ScoredRows.of(data.Y[rows], known.scores[which], unknown, take_weights(weight, rows))


def _threshold_spread(
    known: HeldOutScores, data: Data, weight: Weights, rule: dict[str, Any]
) -> np.ndarray:
    """Return the standard deviation of the thresholds found on each fold alone.

    Scores without folds get stratified ones; always the same for the same labels.
    """
    spread, folds = np.full(data.Y.shape[1], np.nan), known.folds
    if len(known.rows) < CV_FOLDS:
        return spread
    if folds is None:
        labels = strata(data.Y[known.rows], take_unknown(data.unknown, known.rows))
        folds = assign_folds(labels, CV_FOLDS, random_state=0)
    found = np.full((CV_FOLDS, len(spread)), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedLabelWarning)
        for fold in range(CV_FOLDS):
            rows = _scored_rows(known, data, weight, folds == fold)
            own = search_thresholds(rows, **rule).own
            seen = np.isfinite(own) & (rows.n_positive() > 0)
            found[fold, seen] = own[seen]
    enough = np.isfinite(found).sum(axis=0) > 1
    spread[enough] = np.nanstd(found[:, enough], axis=0, ddof=1)
    return spread
