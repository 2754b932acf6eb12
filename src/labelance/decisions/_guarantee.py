"""Thresholds with guarantees: recall or precision of a label, number of alarms of a stream."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy import stats
from sklearn.frozen import FrozenEstimator

from labelance._arrays._cells import iterate_columns, take_cells
from labelance._arrays._containers import column_counts
from labelance._arrays._labels import mark_unknown
from labelance._arrays._open import take_rows
from labelance._utils._compat import HasMethods, Interval, StrOptions
from labelance._utils._messages import show_names, warn_user
from labelance._utils._random import RandomStateLike, as_generator
from labelance._validation._arguments import (
    Weights,
    check_choice,
    check_positive,
    check_probability,
    is_integer,
    take_weights,
    validate_groups,
)
from labelance._validation._categorical import name_columns
from labelance._validation._data import Data, count_known, take_unknown
from labelance._validation._predictions import Scored, validate_score_table, validate_scores
from labelance.decisions._held_out import (
    ScoringClassifier,
    check_no_single_label_estimator,
    check_rows_for_folds,
    choose_source,
)
from labelance.decisions._objectives import as_numbers
from labelance.decisions._search import Cuts, ScoredRows
from labelance.decisions._table import ThresholdTable
from labelance.exceptions import LABEL, InputError, LabelanceWarning, arg
from labelance.model_selection._splitters import assign_folds, strata

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
TooFew = Literal["refuse", "always", "never", "pool"]
_ROUNDING = 1e-9  # 1 - 0.9 is a little below 0.1, and must count as 0.1
_CANDIDATES = 50
EVERY_ROW = "; only by predicting every row"
_KNOWN_BY_CHANCE = (
    "being known may depend on the label among rows with high scores; "
    'missing_labels="ignore" says that it does not'
)


@dataclass(frozen=True, eq=False, repr=False)
class Guarantees(ThresholdTable):
    """Thresholds with guarantees, as :func:`guarantee_recall` and others return them.

    Attributes
    ----------
    measure : {"recall", "precision"}
        What is guaranteed.
    target : float
        The smallest recall or precision asked for.
    confidence : float or None
        How probable it is that the target holds; None: it holds in expectation.
    thresholds : ndarray of shape (n_labels,)
        A label is predicted where its score is at least this; -inf: always, inf: never.
    n_positive : ndarray of shape (n_labels,)
        Calibration rows that have the label.
    n_needed : ndarray of shape (n_labels,)
        The fewest positives (recall) or alarms (precision) that a guarantee takes.
    n_known, n_predicted : ndarray of shape (n_labels,)
        Calibration rows whose label is known, and those among them that reach the threshold; for a
        precision, of the rows that thresholds were tested on.
    value : ndarray of shape (n_labels,)
        Recall or precision of the rows that the threshold was tested on; nan if undefined.
    low, high : ndarray of shape (n_labels,)
        Clopper-Pearson interval of ``value``, two-sided, at the confidence (0.9 without one).
    guaranteed : ndarray of shape (n_labels,)
        Whether the guarantee holds for this label.
    reasons : tuple of str
        What holds for every label, and why.
    names : tuple or None
        Names of the labels, where they are given, or the labels or scores have them.
    """

    measure: str
    target: float
    confidence: float | None
    thresholds: Floats
    n_positive: Ints
    n_needed: Ints
    n_known: Ints
    n_predicted: Ints
    value: Floats
    low: Floats
    high: Floats
    guaranteed: NDArray[np.bool_]
    reasons: tuple[str, ...]
    names: tuple[Any, ...] | None = None

    def _columns(self) -> dict[str, Any]:
        counts = self._take("n_positive", "n_needed", "n_predicted")
        found = {"share": self.n_predicted / np.maximum(self.n_known, 1), self.measure: self.value}
        ends = {**self._take("low", "high"), "reason": self.reasons}
        return {"threshold": self.thresholds, **counts, **found, **ends}

    def _caption(self) -> str:
        how = f"with confidence {self.confidence:g}" if self.confidence else "in expectation"
        count = f"{np.count_nonzero(self.guaranteed)} of {len(self.thresholds)} labels"
        every = self.reasons.count(f"guaranteed{EVERY_ROW}")
        useless = f" ({every}{EVERY_ROW.removeprefix(';')})" if every else ""
        return f"{self.measure} >= {self.target:g} {how}, guaranteed for {count}{useless}"


def guarantee_recall(
    y_true: Any,
    y_score: Any,
    *,
    recall: float = 0.9,
    confidence: float | None = None,
    simultaneous: bool = False,
    too_few: TooFew = "refuse",
    label_groups: Any = None,
    reference: tuple[Any, Any] | None = None,
    label_names: Sequence[Any] | None = None,
) -> Guarantees:
    """Find the largest threshold of every label that keeps its recall.

    The rows are calibration rows: the model did not learn from them, and they come from where
    the rows to decide come from. With m positives of a label, the threshold is its r-th smallest
    score among them. Equal scores only raise the recall. Where only the prediction of every row
    keeps the recall, ``reasons`` says so.

    - Without ``confidence``, r = ⌊(1 - recall)(m + 1)⌋. The recall is at least ``recall`` on
      average over draws of the calibration rows (conformal risk control). So is the mean over
      labels of the recall.
    - With ``confidence``, r is the largest number for which P(Binomial(m, 1 - recall) < r) is at
      most 1 - confidence. At least this share of draws of the calibration rows gives a threshold
      whose recall on new rows is at least ``recall``.

    A guarantee is for each label alone, unless ``simultaneous``. It breaks if new rows differ
    from the calibration rows: after drift, if either were resampled or chosen by score, or if
    rows of one group (a patient, a document) are in both or many times in one. Scores
    out of fold or out of bag, used with a model fitted again, give estimates without a guarantee.

    Parameters
    ----------
    y_true : array, sparse matrix or data frame of shape (n, q)
        The labels, 0 or 1; NaN where unknown. Unknown cells are left out, which is valid if
        being known does not depend on the score of a positive.
    y_score : array, sparse matrix or data frame of shape (n, q)
        Scores; larger means more likely to be present. Scores that are not stored are 0.
    recall : float, default=0.9
        The smallest share of positives to find, between 0 and 1.
    confidence : float, optional
        How probable it must be that the recall holds, between 0 and 1.
    simultaneous : bool, default=False
        Whether the confidence is that of all labels at once (Bonferroni).
    too_few : {"refuse", "always", "never", "pool"}, default="refuse"
        What to do with labels with fewer positives than :func:`positives_needed`: raise an
        error; always predict them, which keeps any recall; never predict them, without a
        guarantee; or give them a common threshold, as a percentile of the scores of negatives.
        The latter is an estimate of what holds in expectation for the mean share of positives that
        is found per row, over labels of the group: which labels have few positives is chance, too.
    label_groups : array-like of shape (q,), optional
        Groups of labels for "pool"; one group by default.
    reference : tuple (y_true, y_score), optional
        Other rows, whose negatives give the percentiles for "pool". Without them, those of the
        calibration rows do.
    label_names : sequence, optional
        Names of the labels; those of the columns of y_true or y_score unless given.

    Returns
    -------
    guarantees : Guarantees
        Thresholds, what was observed, and why; ``predict`` for other rows.

    See Also
    --------
    positives_needed : How many positives a guarantee takes.
    guarantee_precision : The same for precision.

    References
    ----------
    .. [1] Angelopoulos, A. N., Bates, S., Fisch, A., Lei, L., Schuster, T.: Conformal risk
       control. ICLR (2024).

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.decisions import guarantee_recall
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random((400, 2)) < [0.5, 0.1]
    >>> found = guarantee_recall(y, y + rng.normal(size=y.shape), recall=0.9, confidence=0.9)
    >>> found.thresholds.round(2)
    array([-0.36, -0.79])
    >>> found.reasons
    ('guaranteed', 'guaranteed')
    """
    caller = arg("guarantee_recall")
    return find_recall_thresholds(
        validate_scores(
            y_true, y_score, caller=caller, needs_all=None, sparse=True, label_names=label_names
        ),
        recall=recall,
        confidence=confidence,
        simultaneous=simultaneous,
        too_few=too_few,
        label_groups=label_groups,
        reference=reference,
    )


def find_recall_thresholds(
    scored: Scored,
    *,
    recall: float,
    confidence: float | None,
    too_few: TooFew,
    simultaneous: bool = False,
    label_groups: Any = None,
    reference: tuple[Any, Any] | None = None,
) -> Guarantees:
    """Guarantee the recall of scores that are validated already."""
    caller = arg("guarantee_recall")
    Y, scores, unknown, names = scored
    check_choice("too_few", too_few, get_args(TooFew))
    q = Y.shape[1]
    at_once = q if simultaneous else 1
    needed = positives_needed(recall, confidence, at_once)
    if too_few == "pool" and confidence is not None:
        problem = f"{arg('too_few', 'pool')} holds in expectation only"
        raise InputError(problem, f"Got {arg('confidence', confidence)}")
    label_groups = np.zeros(q) if label_groups is None else label_groups
    groups = validate_groups(label_groups, q, caller=caller, name="label_groups", of="label")
    others = _check_reference(reference, q, caller) or scored
    n_positive = column_counts(Y)
    served = n_positive >= needed
    if too_few == "refuse" and not served.all():
        raise _too_few_positives(n_positive, needed, names, recall, confidence)
    ranks = _recall_ranks(n_positive, recall, confidence, at_once)
    thresholds = np.full(q, np.inf if too_few == "never" else -np.inf)
    thresholds[served] = _order_statistics(Y, scores, ranks)[served]
    effect = np.full(q, f"{too_few} predicted", dtype=object)
    if too_few == "pool":
        for group in np.unique(groups[~served]):
            labels = np.flatnonzero((groups == group) & ~served)
            thresholds[labels] = _pool(scored, others, labels, recall)
            effect[labels] = f"pooled over {len(labels)} labels (estimate)"
    rows = ScoredRows.of(Y, scores, unknown)
    counts = [rows.counts_at(*cut) for cut in enumerate(thresholds)]
    predicted, tp = (np.array([each[i] for each in counts], dtype=np.int64) for i in (1, 0))
    known = count_known(Y, unknown)
    # Rows without the label that are all predicted tell nothing apart.
    useless = (predicted == known) & (predicted > n_positive)
    reason = tuple(
        f"guaranteed{EVERY_ROW * every}"
        if enough
        else f"too few positives: {m}, needs {needed}; {how}"
        for enough, every, m, how in zip(served, useless.tolist(), n_positive, effect)
    )
    return Guarantees(
        "recall", recall, confidence, thresholds, n_positive, np.full(q, needed), known,
        predicted, *_observed(tp, n_positive, confidence), served, reason, names,
    )  # fmt: skip


def guarantee_precision(
    y_true: Any,
    y_score: Any,
    *,
    precision: float,
    confidence: float = 0.9,
    simultaneous: bool = False,
    candidates: Any = None,
    missing_labels: Literal["error", "ignore"] = "error",
    random_state: RandomStateLike = None,
    label_names: Sequence[Any] | None = None,
) -> Guarantees:
    """Find the smallest threshold of every label whose precision is guaranteed.

    Learn then Test with a fixed sequence: candidates that were fixed on other rows are tested from
    the largest down. A candidate with k alarms, tp of them right, passes if
    P(Binomial(k, precision) >= tp) is at most 1 - confidence. The first that fails ends the
    search, and the last that passed is the threshold. With the probability ``confidence``, the
    precision on new rows is at least ``precision``. A label without such a threshold is
    never predicted.

    Each label has its own guarantee, unless ``simultaneous``. What breaks it for
    :func:`guarantee_recall` breaks it here, too, and so does a changed share of positives.

    Parameters
    ----------
    y_true : array, sparse matrix or data frame of shape (n, q)
        The labels, 0 or 1.
    y_score : array, sparse matrix or data frame of shape (n, q)
        Scores; larger means more likely to be present. Scores that are not stored are 0.
    precision : float
        The smallest share of alarms that must be right, between 0 and 1.
    confidence : float, default=0.9
        How probable it must be that the precision holds, between 0 and 1.
    simultaneous : bool, default=False
        Whether the confidence is that of all labels at once (Bonferroni).
    candidates : array-like of shape (n_candidates,) or (n_candidates, q), optional
        Thresholds that do not depend on these rows. By default a random half of the rows
        finds them, and the other half tests them.
    missing_labels : {"error", "ignore"}, default="error"
        What to do with unknown cells of y_true (NaN). "ignore" leaves them out, which is valid only
        if being known does not depend on the label of rows with a high score: you say so.
    random_state : int, RandomState or Generator, optional
        Draws the half of the rows; not used with ``candidates``.
    label_names : sequence, optional
        Names of the labels; those of the columns of y_true or y_score unless given.

    Returns
    -------
    guarantees : Guarantees
        Thresholds, what was observed on the tested rows, and why.

    See Also
    --------
    guarantee_recall : The same for recall.

    References
    ----------
    .. [1] Angelopoulos, A. N., Bates, S., Candès, E. J., Jordan, M. I., Lei, L.: Learn then test:
       calibrating predictive algorithms to achieve risk control. Annals of Applied Statistics
       (2025).

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.decisions import guarantee_precision
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random((2000, 2)) < [0.3, 0.001]
    >>> scores = y + rng.normal(scale=0.5, size=y.shape)
    >>> found = guarantee_precision(y, scores, precision=0.8, random_state=0)
    >>> found.thresholds.round(2)
    array([0.86,  inf])
    >>> found.reasons[1]
    'too few positives: 2, needs 11; never predicted'
    """
    caller = arg("guarantee_precision")
    check_choice("missing_labels", missing_labels, ("error", "ignore"))
    needs_all = None if missing_labels == "ignore" else _KNOWN_BY_CHANCE
    Y, scores, unknown, names = validate_scores(
        y_true, y_score, caller=caller, needs_all=needs_all, sparse=True, label_names=label_names
    )
    n, q = Y.shape
    check_probability("precision", precision)
    delta = _miss_probability(confidence, q if simultaneous else 1)
    needed = _least_count(precision, delta)
    given = None if candidates is None else _check_candidates(candidates, q, caller)
    learned = tested = ScoredRows.of(Y, scores, unknown)
    if given is None:
        halves = np.split(as_generator(random_state).permutation(n), [n // 2])
        learned, tested = (learned.take(np.sort(half)) for half in halves)
    thresholds = np.full(q, np.inf)
    n_positive, n_known, predicted, tp = np.zeros((4, q), dtype=np.int64)
    for j in range(q):
        tried = _propose(learned.cuts_of(j), precision) if given is None else given[j]
        hits, k, n_positive[j], n_known[j] = tested.cuts_of(j).at(tried)
        fails = stats.binom.sf(hits - 1, k, precision) > delta + _ROUNDING * delta
        passed = int(np.argmax(fails)) if fails.any() else len(tried)
        if passed:
            thresholds[j], predicted[j], tp[j] = tried[passed - 1], k[passed - 1], hits[passed - 1]
    found = predicted > 0
    reason = tuple(
        "guaranteed"
        if ok
        else f"too few positives: {m}, needs {needed}; never predicted"
        if m < needed
        else "no candidate passed the test; never predicted"
        for ok, m in zip(found, n_positive)
    )
    return Guarantees(
        "precision", precision, confidence, thresholds, n_positive, np.full(q, needed), n_known,
        predicted, *_observed(tp, predicted, confidence), found, reason, names,
    )  # fmt: skip


def limit_alarms(
    y_score: Any, *, n_alarms: int, n_rows: int, confidence: float = 0.9, simultaneous: bool = False
) -> Floats:
    """Find the smallest threshold of every label that limits the alarms of a stream.

    Of the next ``n_rows`` rows, at most ``n_alarms`` have a score at or above the threshold, with
    the probability ``confidence``, for each label alone unless ``simultaneous``. The scores are
    those of reference rows, by the same model; their labels do not matter. The number of
    alarms of the r-th largest of n scores is beta-binomial, and r is the largest that keeps
    the limit. It breaks with drift, and if many rows of one group follow each other.

    Parameters
    ----------
    y_score : array or data frame of shape (n, q)
        Scores of reference rows.
    n_alarms : int
        The most alarms of a label, 0 or more.
    n_rows : int
        The number of new rows that these alarms are counted in.
    confidence : float, default=0.9
        The smallest probability that the limit holds, between 0 and 1.
    simultaneous : bool, default=False
        Whether it holds for all labels at once (Bonferroni).

    Returns
    -------
    thresholds : ndarray of shape (q,)
        Just above a reference score, so that equal scores raise no alarm. Labels whose largest
        scores are equal may so get none at all, with a warning.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.decisions import limit_alarms
    >>> scores = np.random.default_rng(0).random((1000, 2))
    >>> limit_alarms(scores, n_alarms=5, n_rows=200).round(3)
    array([0.984, 0.987])
    """
    caller = "limit_alarms"
    scores = validate_score_table(y_score, None, caller=caller)
    check_positive("n_rows", n_rows, caller=caller)
    if not is_integer(n_alarms) or n_alarms < 0:
        raise InputError("n_alarms must be an integer >= 0", f"Got {n_alarms!r}", "Try n_alarms=5")
    n, q = scores.shape
    delta = _miss_probability(confidence, q if simultaneous else 1)
    if n_alarms >= n_rows:
        return np.full(q, -np.inf)

    def is_safe(rank: int, size: int) -> bool:
        chance = stats.betabinom.sf(n_alarms, float(n_rows), rank, size - rank + 1)
        return bool(chance <= delta * (1 + _ROUNDING))

    rank = bisect_left(range(1, n + 1), True, key=lambda rank: not is_safe(rank, n))
    if rank == 0:
        enough = bisect_left(range(1 << 40), True, lo=1, key=lambda size: is_safe(1, size))
        problem = f"{n_alarms} alarms in {n_rows} rows with confidence {confidence:g} need"
        raise InputError(f"{problem} {enough} reference rows", f"Got {n}")
    ranked = np.partition(scores, n - rank, axis=0)[n - rank]
    silent = np.flatnonzero(ranked == scores.max(axis=0))
    if rank > 1 and len(silent):
        warn_user(
            "limit_alarms: the largest scores are equal, so no reference row raises an alarm for "
            f"labels {name_columns(silent, None, LABEL)}.",
            LabelanceWarning,
        )
    return np.nextafter(ranked.astype(np.float64), np.inf)


def positives_needed(recall: float, confidence: float | None = None, n_labels: int = 1) -> int:
    """Return the fewest positives of a label for a guarantee of its recall.

    Parameters
    ----------
    recall : float
        The recall to guarantee, between 0 and 1.
    confidence : float, optional
        How probable it must be; None: in expectation.
    n_labels : int, default=1
        The number of labels for which it must hold at once.

    Returns
    -------
    n_positive : int
        How many positives :func:`guarantee_recall` needs.

    Examples
    --------
    >>> from labelance.decisions import positives_needed
    >>> positives_needed(0.9), positives_needed(0.95), positives_needed(0.9, 0.9)
    (9, 19, 22)
    >>> positives_needed(0.9, 0.9, n_labels=50)
    59
    """
    check_probability("recall", recall)
    check_positive("n_labels", n_labels, caller="positives_needed")
    if confidence is None:
        if n_labels > 1:
            raise InputError(
                "simultaneous=True needs a confidence", f"Got {arg('confidence', None)}"
            )
        return max(int(np.ceil(1 / (1 - recall) * (1 - _ROUNDING) - 1)), 1)
    return _least_count(recall, _miss_probability(confidence, n_labels))


def _least_count(share: float, delta: float) -> int:
    """Return the fewest rows that, all of them right, reject a smaller share at level delta."""
    return max(int(np.ceil(np.log(delta) / np.log(share) - _ROUNDING)), 1)


def _recall_ranks(n_positive: Ints, recall: float, confidence: float | None, n_labels: int) -> Ints:
    """Return which of its positives, from the smallest score, every label may begin with."""
    miss = 1 - recall
    if confidence is None:
        ranks = np.floor(miss * (n_positive + 1) + _ROUNDING).astype(np.int64)
        return np.minimum(ranks, n_positive)  # 1 - 1e-300 is 1, but some recall is asked for
    delta = _miss_probability(confidence, n_labels) * (1 + _ROUNDING)
    # The quantile is the last rank, up to rounding and to sums that are equal to delta.
    rank = np.maximum(stats.binom.ppf(delta, n_positive, miss), 0)
    rank = np.where(stats.binom.cdf(rank, n_positive, miss) <= delta, rank + 1, rank)
    rank = np.where(stats.binom.cdf(rank - 1, n_positive, miss) > delta, rank - 1, rank)
    return np.clip(rank, 0, n_positive).astype(np.int64)


def _order_statistics(Y: sp.csr_array, scores: Any, ranks: Ints) -> Floats:
    """Return of every label the positive score of this rank, from the smallest; 0 where none is."""
    rows, labels = Y.nonzero()
    values = take_cells(scores, rows, labels)
    values = values[np.lexsort((values, labels))]
    ends = np.cumsum(column_counts(Y))
    places = ends - column_counts(Y) + ranks - 1
    found = np.zeros(Y.shape[1])
    some = ranks > 0
    found[some] = values[places[some]]
    return found


def _pool(scored: Scored, others: Scored, labels: Ints, recall: float) -> Floats:
    """Return thresholds of labels with too few positives: a percentile of negative scores."""
    negatives = _sort_negatives(others, labels)
    rows, places = scored.Y[:, labels].nonzero()
    values = take_cells(scored.scores, rows, labels[places])
    percentile = np.empty(len(values))
    for place, below in enumerate(negatives):
        mine = places == place
        found = np.searchsorted(below, values[mine], side="right")
        percentile[mine] = found / max(len(below), 1)
    _, row, count = np.unique(rows, return_inverse=True, return_counts=True)
    allowed = (1 - recall) * (len(count) + 1) - 1
    if allowed < -_ROUNDING:
        raise InputError(
            f"A pooled recall of {recall:g} needs {positives_needed(recall)} rows with a label "
            "of the group",
            f"There are {len(count)} for {len(labels)} labels",
            f"Make larger label_groups, lower {arg('recall')}, or choose another {arg('too_few')}",
        )
    order = np.argsort(percentile, kind="stable")
    missed = np.cumsum(1 / count[row][order])  # every row shares one loss among its positives
    cut = percentile[order][np.argmax(missed > allowed + _ROUNDING)]
    ranks = [int(np.ceil(cut * len(below) - _ROUNDING)) for below in negatives]
    return np.array([below[r - 1] if r > 0 else -np.inf for below, r in zip(negatives, ranks)])


def _sort_negatives(scored: Scored, labels: Ints) -> list[Floats]:
    """Return the sorted scores of rows known not to have each label."""
    others = scored.Y if scored.unknown is None else scored.Y + scored.unknown
    columns = zip(iterate_columns(others[:, labels]), iterate_columns(scored.scores[:, labels]))
    return [np.sort(score[other == 0]) for other, score in columns]


def _propose(cuts: Cuts, precision: float) -> Floats:
    """Return candidates from the largest down, beginning where most speaks for the precision."""
    hits, k, *_ = cuts.counts
    if len(cuts.scores) == 0:
        return cuts.scores
    tried = cuts.scores[int(np.argmin(stats.binom.logsf(hits - 1, k, precision))) :]
    steps = np.geomspace(1, len(tried), min(_CANDIDATES, len(tried)))
    return tried[np.unique(steps.astype(int)) - 1]


def _observed(hits: Ints, of: Ints, confidence: float | None) -> tuple[Floats, Floats, Floats]:
    """Return shares with their Clopper-Pearson intervals; nan, 0 and 1 for shares of nothing."""
    half = (1 - (confidence or 0.9)) / 2
    value = np.where(of > 0, hits / np.maximum(of, 1), np.nan)
    low, high = np.zeros(len(of)), np.ones(len(of))
    some, less = hits > 0, hits < of
    low[some] = stats.beta.ppf(half, hits[some], (of - hits + 1)[some])
    high[less] = stats.beta.ppf(1 - half, (hits + 1)[less], (of - hits)[less])
    return value, low, high


def _miss_probability(confidence: Any, n_labels: int) -> float:
    check_probability("confidence", confidence)
    return float((1 - confidence) / n_labels)


def _check_reference(reference: Any, q: int, caller: str) -> Scored | None:
    if reference is None:
        return None
    if not isinstance(reference, (tuple, list)) or len(reference) != 2:
        problem = f"reference of {caller} must be a pair (y_true, y_score) of other rows"
        raise InputError(problem, f"Got {type(reference).__name__}")
    scored = validate_scores(*reference, caller=caller, needs_all=None, sparse=True)
    if (found := scored.Y.shape[1]) != q:
        raise InputError(f"reference must have the {q} labels of y_true", f"It has {found}")
    return scored


def _check_candidates(candidates: Any, q: int, caller: str) -> Floats:
    """Return the candidates of every label, from the largest down."""
    tried = as_numbers(candidates)
    if tried.ndim == 1:
        tried = np.repeat(tried[:, None], q, axis=1)
    if tried.ndim != 2 or tried.shape[1] != q or not tried.size or np.isnan(tried).any():
        problem = f"candidates of {caller} must be numbers, for all labels or each of {q} labels"
        raise InputError(problem, f"Got {candidates!r:.100}")
    return -np.sort(-tried, axis=0).T


def _too_few_positives(
    n_positive: Ints, needed: int, names: Any, recall: float, confidence: float | None
) -> InputError:
    rare = np.flatnonzero(n_positive < needed)
    rare = rare[np.argsort(n_positive[rare], kind="stable")]
    shown = [f"{names[j]!r} ({n_positive[j]})" if names else f"{j} ({n_positive[j]})" for j in rare]
    sure = "" if confidence is None else f" with confidence {confidence:g}"
    choices = ["always", "never", "pool"][: 3 if confidence is None else 2]
    return InputError(
        f"A recall of {recall:g}{sure} needs {needed} positives of every label",
        f"{len(rare)} of {len(n_positive)} labels have fewer: {show_names(shown, 5)}",
        f"Pass more rows, lower {arg('recall')}, or choose {arg('too_few')} from {choices}",
    )


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
        "recall": [Interval(Real, 0, 1, closed="neither")],
        "confidence": [Interval(Real, 0, 1, closed="neither"), None],
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
        self, source: Literal["oob", "cv"], data: Data, weight: Weights, rng: np.random.Generator
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
