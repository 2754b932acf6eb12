"""Decisions within budgets: labels per row, rows per label, alarms in total."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelance._arrays._cells import store_all_cells, take_cells
from labelance._arrays._containers import column_counts
from labelance._utils._compat import HasMethods, Interval, StrOptions
from labelance._utils._random import RandomStateLike, as_generator
from labelance._validation._arguments import Weights, check_choice, check_positive, is_integer
from labelance._validation._data import Data, count_known
from labelance._validation._predictions import (
    Scored,
    open_probabilities,
    validate_probabilities,
    validate_score_table,
    validate_scores,
)
from labelance.decisions._held_out import ScoringClassifier, check_no_single_label_estimator
from labelance.decisions._kernels import improve_rows, take_top
from labelance.decisions._objectives import as_numbers, ratio
from labelance.decisions._table import LabelTable
from labelance.exceptions import InputError, arg

Utility = Literal[
    "macro_f1", "macro_recall", "macro_precision", "balanced_accuracy", "coverage", "precision"
]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
_CODES = {name: code for code, name in enumerate(get_args(Utility))}
_LINEAR = ("macro_recall", "balanced_accuracy", "precision")
_BUDGETS: dict[str, list[Any]] = {  # parameters of BudgetClassifier
    "per_row": [Interval(Integral, 1, None, closed="left"), None],
    "exactly": ["boolean"],
    "per_label": [Interval(Integral, 0, None, closed="left"), "array-like", None],
    "total": [Interval(Integral, 0, None, closed="left"), None],
    "utility": [StrOptions({*_CODES})],
}
_RISE = 1e-6  # of the value: a pass or a rule that gains less is the last
_NO_LIMIT = 2**62  # more cells than any batch has
_FEW = 5  # expected positives: below, the value of expected counts is not the expected value


@dataclass(frozen=True, eq=False, repr=False)
class BudgetDecisions(LabelTable):
    """Decisions within a budget, as :func:`decide_within_budget` returns them.

    Attributes
    ----------
    y : csr_array of shape (n, q)
        The decisions.
    utility : str
        What they maximize.
    value : float
        The utility of the expected counts.
    of_labels : ndarray of shape (q,)
        The same for every label; for "precision", its expected true positives.
    n_predicted : ndarray of shape (q,)
        Rows that are predicted to have each label.
    n_expected : ndarray of shape (q,)
        Expected positives of each label, the sum of its probabilities.
    n_iter : int
        Passes over the rows; 0 where sorting gives the best decisions.
    names : tuple or None
        Names of the labels, where they are given, or the probabilities have them.
    """

    y: sp.csr_array
    utility: str
    value: float
    of_labels: Floats
    n_predicted: Ints
    n_expected: Floats
    n_iter: int
    names: tuple[Any, ...] | None
    _cells: sp.csr_array

    def simulate(
        self, n_draws: int = 200, random_state: RandomStateLike = None
    ) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of the value of labels with few positives.

        Labels with fewer than 5 expected positives, for which ``of_labels`` is optimistic, are
        drawn from their probabilities; others are nan.

        Parameters
        ----------
        n_draws : int, default=200
            How often labels are drawn.
        random_state : int, RandomState or Generator, optional
            Draws the labels.

        Returns
        -------
        mean, spread : ndarray of shape (q,)
            Of the values of the draws.
        """
        check_positive("n_draws", n_draws, caller="BudgetDecisions.simulate")
        rng = as_generator(random_state)
        n, q = self._cells.shape
        mean, spread = np.full((2, q), np.nan)
        p, y = sp.csc_array(self._cells), sp.csc_array(self.y)
        for j in np.flatnonzero(self.n_expected < _FEW):
            rows = p.indices[p.indptr[j] : p.indptr[j + 1]]
            drawn = rng.random((n_draws, len(rows))) < p.data[p.indptr[j] : p.indptr[j + 1]]
            chosen = np.isin(rows, y.indices[y.indptr[j] : y.indptr[j + 1]])
            tp, positive = drawn[:, chosen].sum(axis=1), drawn.sum(axis=1)
            missed = np.where(tp > 0, 0.0, 1.0)
            values = _label_values(self.utility, tp, chosen.sum(), positive, n, missed)
            mean[j], spread[j] = values.mean(), values.std(ddof=1) if n_draws > 1 else np.nan
        return mean, spread

    def _columns(self) -> dict[str, Any]:
        return {**self._take("n_predicted", "n_expected"), self.utility: self.of_labels}

    def _caption(self) -> str:
        few = np.count_nonzero(self.n_expected < _FEW)
        doubt = f"; optimistic for {few} labels with < {_FEW} expected positives" if few else ""
        return f"utility ({self.utility}) = {self.value:.4g}, {self.y.nnz} predicted{doubt}"


@dataclass(frozen=True, eq=False)
class BudgetRule:
    """A random choice among rules for future rows, as :func:`find_budget_rule` returns it.

    Rule r takes of a row the labels with the largest ``slopes[r] * p + offsets[r]``.

    Attributes
    ----------
    slopes, offsets : ndarray of shape (n_rules, q)
        The rules.
    weights : ndarray of shape (n_rules,)
        The probability of each rule.
    values : ndarray of shape (n_rules,)
        The utility of each rule alone, on the rows that it was found on.
    value : float
        The utility of the random choice on these rows.
    per_row : int or None
        The most labels of a row.
    exactly : bool
        Whether a row has exactly ``per_row``.
    names : tuple or None
        Names of the labels, where they are given, or the labels or probabilities have them.
    """

    slopes: Floats
    offsets: Floats
    weights: Floats
    values: Floats
    value: float
    per_row: int | None
    exactly: bool
    names: tuple[Any, ...] | None = None

    @property
    def best(self) -> int:
        """The number of the rule that is best alone."""
        return int(np.argmax(self.values))

    def predict(
        self, y_proba: Any, *, random_state: RandomStateLike = None, only_best: bool = False
    ) -> sp.csr_array:
        """Return the decisions of rows, each by a rule drawn by weight, or all by the best one.

        Parameters
        ----------
        y_proba : array, sparse matrix or data frame of shape (n, q)
            Calibrated probabilities of any rows.
        random_state : int, RandomState or Generator, optional
            Draws the rules.
        only_best : bool, default=False
            Use the best single rule; nothing is random then.

        Returns
        -------
        y : csr_array of shape (n, q)
            The decisions.
        """
        caller, n_labels = "BudgetRule.predict", self.slopes.shape[1]
        validate_score_table(y_proba, n_labels, caller=caller, sparse=True, names=self.names)
        cells = store_all_cells(validate_probabilities(y_proba, caller=caller, sparse=True))
        if only_best:
            rule = np.full(cells.shape[0], self.best)
        else:
            rng = as_generator(random_state)
            rule = rng.choice(len(self.weights), size=cells.shape[0], p=self.weights)
        of_cell, labels = np.repeat(rule, np.diff(cells.indptr)), cells.indices
        gains = self.slopes[of_cell, labels] * cells.data + self.offsets[of_cell, labels]
        chosen = _take_gains(cells, gains, self.per_row, self.exactly)
        return _to_decisions(cells, chosen)


def decide_within_budget(
    y_proba: Any,
    *,
    per_row: int | None = None,
    exactly: bool = False,
    per_label: Any = None,
    total: int | None = None,
    utility: Utility = "macro_f1",
    mix: float | None = None,
    n_restarts: int = 1,
    max_iter: int = 100,
    random_state: RandomStateLike = None,
    label_names: Sequence[Any] | None = None,
) -> BudgetDecisions:
    """Decide a batch of rows within a budget so that the expected utility is largest.

    The probabilities must be calibrated, and all rows are decided at once.

    - Labels per row: block coordinate ascent [1]_. Rows are decided again and again, given all
      others, until the utility rises by less than 1e-6. It never falls; the result is a local
      optimum, and ``n_restarts`` tries further starts.
    - Rows per label, or decisions in total: rows are sorted, which gives the optimum. That of
      "precision" is the most probable cell alone.
    - Labels per row together with rows per label or a total: a linear program, which gives the
      optimum, for the linear utilities "macro_recall", "balanced_accuracy" and "precision". It is
      for up to about a million stored cells.

    Parameters
    ----------
    y_proba : array, sparse matrix or data frame of shape (n, q)
        Probabilities. Cells that are not stored, or 0 in a sparse matrix, are never chosen.
    per_row : int, optional
        The most labels of a row, 1 to q.
    exactly : bool, default=False
        Whether a row gets exactly ``per_row`` labels, as far as it stores as many.
    per_label : int or array-like of shape (q,), optional
        The most rows of a label.
    total : int, optional
        The most decisions for a label in the whole batch.
    utility : str, default="macro_f1"
        "macro_f1", "macro_recall", "macro_precision" and "balanced_accuracy" are means over
        labels of the measure of expected counts; "coverage" is the expected share of labels that
        are found at least once; "precision" is the expected share of decisions that are right
        (with ``per_row``: of ``per_row`` for every row).
    mix : float, optional
        The weight of the utility, from 0 to 1; the rest is the weight of "precision". For
        ``per_row`` alone.
    n_restarts : int, default=1
        How many starts; the first is the most probable labels, the others are random.
    max_iter : int, default=100
        The most passes over the rows.
    random_state : int, RandomState or Generator, optional
        Draws the order of rows and the random starts.
    label_names : sequence, optional
        Names of the labels; those of the columns of y_proba unless given.

    Returns
    -------
    decisions : BudgetDecisions
        The decisions ``y``, their utility, and counts of every label.

    See Also
    --------
    find_budget_rule : A rule for rows that come one by one.
    maximize_expected_f : Without a budget.

    References
    ----------
    .. [1] Schultheis, E., Wydmuch, M., Kotłowski, W., Babbar, R., Dembczyński, K.: Generalized
       test utilities for long-tail performance in extreme multi-label classification. NeurIPS
       (2023).

    Examples
    --------
    >>> from labelance.decisions import decide_within_budget
    >>> y_proba = [[0.9, 0.2, 0.0], [0.8, 0.1, 0.05], [0.7, 0.0, 0.3]]
    >>> found = decide_within_budget(y_proba, per_row=1, random_state=0)
    >>> found.y.toarray()
    array([[0, 1, 0],
           [1, 0, 0],
           [0, 0, 1]])
    >>> found.n_predicted
    array([1, 1, 1])
    """
    caller = arg("decide_within_budget")
    p, names = open_probabilities(y_proba, caller=caller, label_names=label_names)
    cells, q = store_all_cells(p), p.shape[1]
    check_choice("utility", utility, get_args(Utility))
    k = _check_per_row(per_row, q, exactly=exactly)
    caps = _check_per_label(per_label, q)
    most = _check_total(total)
    share = _check_mix(mix, alone=k is not None and caps is None and most is None)
    check_positive("n_restarts", n_restarts, caller=caller)
    check_positive("max_iter", max_iter, caller=caller)
    n_iter, judge = 0, _Judge(cells, utility, k, share)
    if k is None:
        chosen = _take_prefixes(cells, utility, caps, most)
    elif caps is None and most is None:
        rng = as_generator(random_state)
        climbs = []
        for start in range(n_restarts):
            gains = rng.random(cells.nnz) if start else cells.data
            climbs.append(_climb(judge, k, exactly, gains, max_iter, rng))
        chosen, n_iter, _ = max(climbs, key=lambda climb: climb[2])
    else:
        chosen = _solve_program(cells, utility, k, exactly, caps, most)
    value, of_labels, (_, pred, expected, _) = judge(chosen)
    return BudgetDecisions(
        _to_decisions(cells, chosen), utility, value, of_labels, pred, expected, n_iter, names,
        cells,
    )  # fmt: skip


def find_budget_rule(
    y_true: Any,
    y_proba: Any,
    *,
    per_row: int | None = None,
    exactly: bool = False,
    utility: Literal["macro_f1", "macro_recall", "balanced_accuracy"] = "macro_f1",
    max_iter: int = 100,
    label_names: Sequence[Any] | None = None,
) -> BudgetRule:
    """Find a rule that decides future rows one by one, each within a budget.

    The Frank-Wolfe method [1]_: the gradient of the utility at the counts so far gives a linear
    rule, which is mixed with the rules before by a line search. It stops where a rule gets a
    weight below 0.001 or gains less than 1e-6.

    Parameters
    ----------
    y_true : array, sparse matrix or data frame of shape (n, q)
        The labels, 0 or 1, of rows that the model did not learn from; NaN where unknown, which
        counts nowhere.
    y_proba : array, sparse matrix or data frame of shape (n, q)
        Calibrated probabilities. Cells that are not stored are never chosen.
    per_row : int, optional
        The most labels of a row, 1 to q; no limit by default.
    exactly : bool, default=False
        Whether a row gets exactly ``per_row``.
    utility : {"macro_f1", "macro_recall", "balanced_accuracy"}, default="macro_f1"
        What the rule maximizes.
    max_iter : int, default=100
        The most rules.
    label_names : sequence, optional
        Names of the labels; those of the columns of y_true or y_proba unless given.

    Returns
    -------
    rule : BudgetRule
        ``predict`` for future rows, and the ``best`` rule alone.

    References
    ----------
    .. [1] Schultheis, E., Kotłowski, W., Wydmuch, M., Babbar, R., Borman, S., Dembczyński, K.:
       Consistent algorithms for multi-label classification with macro-at-k metrics. ICLR (2024).

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.decisions import find_budget_rule
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random((500, 4)) * [0.9, 0.5, 0.2, 0.1]
    >>> rule = find_budget_rule(rng.random(p.shape) < p, p, per_row=1)
    >>> rule.predict(p, random_state=0).sum(axis=1).max()
    np.int64(1)
    """
    caller = arg("find_budget_rule")
    options: dict[str, Any] = {"needs_all": None, "probabilities": True, "sparse": True}
    scored = validate_scores(y_true, y_proba, caller=caller, label_names=label_names, **options)
    q = scored.Y.shape[1]
    check_choice("utility", utility, ("macro_f1", "macro_recall", "balanced_accuracy"))
    k = _check_per_row(per_row, q, exactly=exactly)
    check_positive("max_iter", max_iter, caller=caller)
    search = _RuleSearch(scored, utility, k, exactly)
    rules = [(np.ones(q), np.zeros(q) if k else np.full(q, -0.5))]  # the most probable labels
    weights, values, now = [1.0], [], np.zeros((2, q))
    for step in range(max_iter + 1):
        found = search.count(*rules[-1])
        values.append(search.value(found))
        if step == 0:
            now, value = found, values[0]
        else:
            size, new = search.best_step(now, found)
            if size < 1e-3 or new - value < _RISE:
                rules, values = rules[:-1], values[:-1]
                break
            now, value = (1 - size) * now + size * found, new
            weights = [(1 - size) * w for w in weights] + [size]
        if step < max_iter:
            rules.append(search.gradient_rule(now))
    used = np.flatnonzero(weights)
    slopes, offsets = (np.array(part)[used] for part in zip(*rules))
    share, alone = np.array(weights)[used] / sum(weights), np.array(values)[used]
    return BudgetRule(slopes, offsets, share, alone, value, k, exactly, scored.names)


class _Judge(NamedTuple):
    """Tells what decisions are worth."""

    cells: sp.csr_array
    utility: str
    k: int | None
    share: float

    def __call__(self, chosen: Mask) -> tuple[float, Floats, tuple[Any, ...]]:
        """Return the utility, mixed with the precision; that of every label; expected counts."""
        n = self.cells.shape[0]
        counts = tp, pred, expected, missed = _expected_counts(self.cells, chosen)
        of_labels = _label_values(self.utility, tp, pred, expected, n, missed)
        precision = float(tp.sum() / max(n * self.k if self.k else pred.sum(), 1))
        own = precision if self.utility == "precision" else float(of_labels.mean())
        return self.share * own + (1 - self.share) * precision, of_labels, counts


def _climb(
    judge: _Judge, k: int, exactly: bool, gains: Floats, max_iter: int, rng: np.random.Generator
) -> tuple[Mask, int, float]:
    """Decide rows again and again until a pass gains little; return decisions, passes, value.

    Block coordinate ascent over rows, each with at most or exactly k labels.
    """
    cells, (n, q) = judge.cells, judge.cells.shape
    starts, labels = cells.indptr.astype(np.int64), cells.indices.astype(np.int64)
    chosen = take_top(gains, starts, k, True)
    order, value = np.arange(n), judge(chosen)[0]
    n_iter, rise = 0, np.inf
    while n_iter < max_iter and rise >= _RISE:
        rng.shuffle(order)
        tp, pred, expected, _ = _expected_counts(cells, chosen)
        logs, sure = _log_missed(cells, chosen)
        improve_rows(
            cells.data, labels, starts, order, chosen.view(np.uint8), tp, pred.astype(float),
            expected, logs, sure, _CODES[judge.utility], k, exactly,
            judge.share / max(q, 1), (1 - judge.share) / max(n * k, 1),
        )  # fmt: skip
        new = judge(chosen)[0]
        n_iter, rise, value = n_iter + 1, new - value, new
    return chosen, n_iter, value


def _take_prefixes(cells: sp.csr_array, utility: str, caps: Ints | None, total: int | None) -> Mask:
    """Take of every label its most probable rows while they gain, the largest gains first.

    Gains of a label fall while they are positive, so that the largest gains of all labels are
    prefixes of each.
    """
    n, q = cells.shape
    order = np.lexsort((-cells.data, cells.indices))
    ends = np.cumsum(np.bincount(cells.indices, minlength=q))
    gains = np.zeros(cells.nnz)
    for j, end in enumerate(ends):
        start = ends[j - 1] if j else 0
        own = _prefix_gains(utility, cells.data[order[start:end]], n)
        own = np.minimum.accumulate(own) if len(own) else own
        gains[start:end] = own
        if caps is not None:
            gains[start + caps[j] : end] = 0
    if utility == "precision":  # a share: any further decision is at most as sure as the first
        total = 1 if total is None else min(total, 1)
    if total is not None and total < np.count_nonzero(gains > 0):
        gains[np.argsort(-gains, kind="stable")[total:]] = 0
    chosen = np.zeros(cells.nnz, dtype=bool)
    chosen[order] = gains > 0
    return chosen


def _prefix_gains(utility: str, p: Floats, n: int) -> Floats:
    """Return what every further row adds to the utility of a label, most probable first."""
    expected, k = p.sum(), np.arange(1, len(p) + 1)
    if utility in _LINEAR:
        return _linear_gains(utility, p, expected, n)
    if utility == "coverage":
        return p * np.cumprod(np.append(1.0, 1 - p[:-1]))[: len(p)]
    values = _label_values(utility, np.cumsum(p), k, expected, n, None)
    return np.diff(values, prepend=0.0)


def _linear_gains(utility: str, p: Floats, expected: Any, n: int) -> Floats:
    """Return what cells add to a linear utility, each alone."""
    if utility == "precision":
        return p
    hit = _ratio(p, expected)
    return hit if utility == "macro_recall" else (hit - _ratio(1 - p, n - expected)) / 2


def _solve_program(
    cells: sp.csr_array, utility: str, k: int, exactly: bool, caps: Ints | None, total: int | None
) -> Mask:
    """Maximize a linear utility under budgets of rows, labels and all cells.

    The constraints are a flow network, so that a vertex of the program has zeros and ones only.
    """
    from scipy.optimize import linprog

    if utility not in _LINEAR:
        problem = "A budget per row combined with others needs a linear utility, one of "
        raise InputError(problem + ", ".join(_LINEAR), f"Got utility={utility!r}")
    n, q = cells.shape
    rows, labels = np.repeat(np.arange(n), np.diff(cells.indptr)), cells.indices
    expected = np.bincount(labels, weights=cells.data, minlength=q)
    gains = _linear_gains(utility, cells.data, expected[labels], n)
    used = np.arange(cells.nnz) if exactly else np.flatnonzero(gains > 0)
    chosen = np.zeros(cells.nnz, dtype=bool)
    if not len(used):
        return chosen

    def sums(groups: Any, n_groups: int) -> sp.csr_array:
        """Return what counts the chosen cells of each group."""
        place = groups[used], np.arange(len(used))
        return sp.csr_array((np.ones(len(used)), place), shape=(n_groups, len(used)))

    limits, most = [], []
    if caps is not None:
        limits, most = [sums(labels, q)], [np.minimum(caps, n)]
    if total is not None:
        limits, most = [*limits, sums(np.zeros_like(labels), 1)], [*most, np.array([total])]
    of_rows, full = sums(rows, n), np.minimum(k, np.diff(cells.indptr))
    equal = {"A_eq": of_rows, "b_eq": full} if exactly else {}
    if not exactly:
        limits, most = [*limits, of_rows], [*most, full]
    solved = linprog(
        -gains[used], A_ub=sp.vstack(limits, format="csr"), b_ub=np.concatenate(most),
        bounds=(0, 1), method="highs-ds", **equal,
    )  # fmt: skip
    if solved.status != 0:
        raise InputError(
            f"The budgets do not allow exactly {k} labels in every row",
            "No decisions meet all of them",
            f"Raise {arg('per_label')} or {arg('total')}, or pass {arg('exactly', False)}",
        )
    chosen[used] = solved.x > 0.5
    return chosen


class _RuleSearch:
    """What linear rules find on labelled rows, and which of them is better."""

    def __init__(self, scored: Scored, utility: str, k: int | None, exactly: bool) -> None:
        Y, p, unknown, _ = scored
        cells = store_all_cells(p.astype(float, copy=False))
        n, self.q = Y.shape
        rows = np.repeat(np.arange(n), np.diff(cells.indptr))
        self.utility, self.k, self.exactly = utility, k, exactly
        self.cells, self.is_positive = cells, take_cells(Y, rows, cells.indices) > 0
        self.positive, self.n_known = column_counts(Y), count_known(Y, unknown)
        self.is_known = np.ones(cells.nnz, dtype=bool)
        if unknown is not None:
            self.is_known = take_cells(unknown, rows, cells.indices) == 0

    def count(self, slope: Floats, offset: Floats) -> Floats:
        """Return true positives and predicted rows of every label."""
        labels = self.cells.indices
        gains = slope[labels] * self.cells.data + offset[labels]
        chosen = _take_gains(self.cells, gains, self.k, self.exactly)
        tp = np.bincount(labels[chosen & self.is_positive], minlength=self.q)
        pred = np.bincount(labels[chosen & self.is_known], minlength=self.q)
        return np.array([tp, pred], dtype=float)

    def value(self, counts: Floats) -> float:
        """Return the utility of such counts."""
        tp, pred = counts
        values = _label_values(self.utility, tp, pred, self.positive, self.n_known, None)
        return float(values.mean())

    def gradient_rule(self, now: Floats) -> tuple[Floats, Floats]:
        """Return slope and offset of the rule that the gradient of the utility gives.

        With G the gradient, the slope is G_tp - G_fp - G_fn + G_tn and the offset G_fp - G_tn.
        Labels that no row has get zeros: nothing is gained or lost by them.
        """
        (tp, pred), positive, n = now, self.positive, self.n_known
        if self.utility == "macro_f1":
            whole = positive + pred
            slope, offset = 2 * _ratio(1, whole), -2 * _ratio(tp, whole**2)
        else:
            slope, offset = _ratio(1, positive), np.zeros(len(positive))
            if self.utility == "balanced_accuracy":
                slope, offset = slope + _ratio(1, n - positive), -_ratio(1, n - positive)
        # Counts are shares of known rows, so that a label that is seldom known has no advantage.
        seen = np.where(positive > 0, n, 0)
        return seen * slope, seen * offset

    def best_step(self, now: Floats, new: Floats) -> tuple[float, float]:
        """Return the best weight of the new rule, to 1e-4, and the value with it."""

        def value(size: float) -> float:
            return self.value((1 - size) * now + size * new)

        coarse = max(np.linspace(0, 1, 101), key=value)
        best = max(np.clip(coarse + np.linspace(-0.01, 0.01, 201), 0, 1), key=value)
        return float(best), value(best)


def _take_gains(cells: sp.csr_array, gains: Floats, k: int | None, exactly: bool) -> Mask:
    """Return the cells of each row with the largest gains: k of them, or all above 0."""
    if k is None:
        return gains > 0
    return take_top(gains, cells.indptr.astype(np.int64), k, exactly)


def _expected_counts(cells: sp.csr_array, chosen: Mask) -> tuple[Any, ...]:
    """Return of every label true positives, predicted rows, positives, P(none is found)."""
    q = cells.shape[1]
    labels, p = cells.indices[chosen], cells.data[chosen]
    tp, expected = _sums(labels, p, q), _sums(cells.indices, cells.data, q)
    logs, sure = _log_missed(cells, chosen)
    return tp, np.bincount(labels, minlength=q), expected, np.where(sure > 0, 0.0, np.exp(logs))


def _log_missed(cells: sp.csr_array, chosen: Mask) -> tuple[Any, Any]:
    """Return of every label the log probability that its chosen rows lack it, without sure ones.

    Rows with the probability 1 are counted apart, since their logarithm is infinite.
    """
    q = cells.shape[1]
    sure = chosen & (cells.data >= 1)
    rest = chosen & ~sure
    logs = np.log1p(-cells.data[rest])
    return _sums(cells.indices[rest], logs, q), np.bincount(cells.indices[sure], minlength=q)


def _sums(labels: Any, values: Floats, q: int) -> Floats:
    """Return the sum of values by label; numpy alone gives integers where there are none."""
    return np.bincount(labels, weights=values, minlength=q).astype(np.float64, copy=False)


def _label_values(utility: str, tp: Any, pred: Any, positive: Any, n: Any, missed: Any) -> Floats:
    """Return the utility of labels from (expected) counts; 0/0 is 0."""
    if utility == "macro_f1":
        return _ratio(2 * tp, positive + pred)
    if utility == "macro_recall":
        return _ratio(tp, positive)
    if utility == "macro_precision":
        return _ratio(tp, pred)
    if utility == "balanced_accuracy":
        return (_ratio(tp, positive) + 1 - _ratio(pred - tp, n - positive)) / 2
    return 1 - missed if utility == "coverage" else np.asarray(tp, dtype=float)


def _ratio(part: Any, whole: Any) -> Floats:
    return ratio(part, whole, empty=0.0)


def _to_decisions(cells: sp.csr_array, chosen: Mask) -> sp.csr_array:
    ends = np.append(0, np.cumsum(chosen))[cells.indptr]
    ones = np.ones(ends[-1], dtype=np.int64)
    return sp.csr_array((ones, cells.indices[chosen], ends), shape=cells.shape)


def _check_per_row(per_row: Any, q: int, *, exactly: bool) -> int | None:
    if per_row is None and exactly:
        raise InputError(f"{arg('exactly')} needs {arg('per_row')}", f"{arg('per_row')} is None")
    if per_row is None or (is_integer(per_row) and 1 <= per_row <= q):
        return per_row
    problem = f"{arg('per_row')} must be an integer from 1 to {q}, the number of labels"
    raise InputError(problem, f"Got {per_row!r}")


def _check_per_label(per_label: Any, q: int) -> Ints | None:
    if per_label is None:
        return None
    caps = as_numbers(per_label)
    if caps.shape not in ((), (q,)) or not ((caps >= 0) & (caps % 1 == 0)).all():
        problem = f"{arg('per_label')} must be an integer >= 0, or one for each of {q} labels"
        raise InputError(problem, f"Got {per_label!r}")
    return np.broadcast_to(np.minimum(caps, _NO_LIMIT), q).astype(np.int64)


def _check_total(total: Any) -> int | None:
    if total is None or (is_integer(total) and total >= 0):
        return total if total is None else min(int(total), _NO_LIMIT)
    raise InputError(f"{arg('total')} must be an integer >= 0", f"Got {total!r}")


def _check_mix(mix: Any, *, alone: bool) -> float:
    if mix is None:
        return 1.0
    if not alone:
        raise InputError(f"mix needs {arg('per_row')}, and no other budget", f"Got mix={mix!r}")
    if not isinstance(mix, (int, float, np.number)) or not 0 <= mix <= 1:
        raise InputError("mix must be in [0, 1]", f"Got {mix!r}")
    return float(mix)


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
        "random_state": ["random_state", np.random.Generator],
        **_BUDGETS,
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
        budgets = {name: getattr(self, name) for name in _BUDGETS}
        return decide_within_budget(proba, random_state=self._seed, **budgets).y.toarray()

    def _predict(self, clean: Any, X: Any) -> np.ndarray:
        # Some learners smooth the scores of labels that no row had, which would decide for them.
        return self._decide(np.where(self._seen, self._scores(clean, X), 0.0))
