"""Displays of decisions: guarantees of labels, and utility within a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from labelance._validation._arguments import check_choice
from labelance._validation._predictions import check_k, validate_scores
from labelance.decisions import Guarantees, decide_within_budget
from labelance.metrics import coverage_at_k, macro_f1_at_k, macro_recall_at_k
from labelance.metrics._classification import count_confusion
from labelance.report._display import Display, write_numbers
from labelance.report._figures import BLUE, ORANGE

UtilityAtK = Literal["macro_f1", "macro_recall", "coverage"]
_AT_K: dict[str, Callable[..., float]] = {
    "macro_f1": macro_f1_at_k,
    "macro_recall": macro_recall_at_k,
    "coverage": coverage_at_k,
}
_GRAY = "#999999"


@dataclass(eq=False, kw_only=True, repr=False)
class GuaranteeDisplay(Display):
    """Observed recall (or precision) of labels, with intervals, against their number of positives.

    Make it with :meth:`from_guarantees`. The values are those of the calibration rows. They
    are above the target by a margin that shrinks with the number of positives.

    Parameters
    ----------
    counts : ndarray of shape (n_labels,)
        Positives of every label; for precision, its alarms.
    value, low, high : ndarray of shape (n_labels,)
        Observed recall or precision, and its Clopper-Pearson interval.
    guaranteed : ndarray of bool, of shape (n_labels,)
        Whether the guarantee holds for the label.
    target : float
        The recall or precision that is promised.
    measure : {"recall", "precision"}
        Which of the two.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.decisions import guarantee_recall
    >>> from labelance.report import GuaranteeDisplay
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random((400, 3)) < [0.5, 0.1, 0.05]
    >>> found = guarantee_recall(y, y + rng.normal(size=y.shape))
    >>> GuaranteeDisplay.from_guarantees(found).ax_.get_ylabel()
    'recall on calibration rows'
    """

    counts: NDArray[np.int64]
    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    guaranteed: NDArray[np.bool_]
    target: float
    measure: str = "recall"

    @classmethod
    def from_guarantees(cls, guarantees: Guarantees, *, ax: Any = None) -> GuaranteeDisplay:
        """Draw what :func:`~labelance.decisions.guarantee_recall` and others returned.

        Parameters
        ----------
        guarantees : Guarantees
            ``guarantees_`` of :class:`~labelance.decisions.RecallGuarantee`, too.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        """
        is_recall = guarantees.measure == "recall"
        counts = guarantees.n_positive if is_recall else guarantees.n_predicted
        same = ("value", "low", "high", "guaranteed", "target", "measure")
        return cls(counts=counts, **{name: getattr(guarantees, name) for name in same}).plot(ax)

    def plot(self, ax: Any = None) -> GuaranteeDisplay:
        """Draw a point with its interval for every label, and the promise as a line.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        """
        ax = self._open(ax, size=(6.0, 3.8))
        known = ~np.isnan(self.value)
        for holds, color, name in ((True, BLUE, "guaranteed"), (False, _GRAY, "not guaranteed")):
            some = known & (self.guaranteed == holds)
            if some.any():
                value = self.value[some]
                ends = np.maximum([value - self.low[some], self.high[some] - value], 0)
                ax.errorbar(self.counts[some], value, yerr=ends, fmt="o", color=color,
                            markersize=4, linewidth=1, label=name)  # fmt: skip
        promise = f"promised {self.target:g}"
        ax.axhline(self.target, color=ORANGE, linestyle="--", linewidth=1.2, label=promise)
        what = "positives" if self.measure == "recall" else "alarms"
        lowest = min(self.target, self.low[known].min(initial=1))
        ax.set_ylim(max(lowest - 0.1, 0), 1.02)
        ax.set_xlabel(f"{what} of the label among calibration rows")
        ax.set_ylabel(f"{self.measure} on calibration rows")
        if known.any():
            ax.set_xscale("log")
            ax.xaxis.get_major_locator().set_params(subs=(1, 2, 5))
            write_numbers(ax.xaxis)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, loc="lower right")
        return self


@dataclass(eq=False, kw_only=True, repr=False)
class BudgetDisplay(Display):
    """Utility of decisions against the number of labels that a row may have.

    Make it with :meth:`from_predictions`.

    Parameters
    ----------
    ks : ndarray of shape (n_budgets,)
        Labels of a row.
    decided, top, expected : ndarray of shape (n_budgets,)
        The utility of the best decisions of at most k labels a row, of the k most probable labels,
        and what the probabilities let expect of the former. If ``expected`` is far from
        ``decided``, the probabilities are not calibrated.
    utility : str
        What it is.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.report import BudgetDisplay
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random((500, 6)) * [0.9, 0.5, 0.3, 0.2, 0.1, 0.05]
    >>> display = BudgetDisplay.from_predictions(rng.random(p.shape) < p, p, random_state=0)
    >>> display.decided[0] > display.top[0]
    np.True_
    """

    ks: NDArray[np.int64]
    decided: NDArray[np.float64]
    top: NDArray[np.float64]
    expected: NDArray[np.float64]
    utility: str = "macro_f1"

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: Any,
        ks: Iterable[int] | None = None,
        *,
        utility: UtilityAtK = "macro_f1",
        random_state: Any = None,
        ax: Any = None,
    ) -> BudgetDisplay:
        """Decide rows for every budget, measure and draw.

        Parameters
        ----------
        y_true : array-like, sparse or data frame of shape (n_samples, n_labels)
            The true labels.
        y_proba : array or data frame of shape (n_samples, n_labels)
            Calibrated probabilities.
        ks : iterable of int, optional
            The most labels of a row; by default 1 to 10, or to the number of labels.
        utility : {"macro_f1", "macro_recall", "coverage"}, default="macro_f1"
            What the decisions maximize, and what is drawn.
        random_state : int, RandomState or Generator, optional
            Draws the order in which rows are decided.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        """
        check_choice("utility", utility, get_args(UtilityAtK))
        Y, proba, *_ = validate_scores(y_true, y_proba, caller=cls.__name__, probabilities=True)
        q = Y.shape[1]
        tried = range(1, min(q, 10) + 1) if ks is None else ks
        budgets = sorted({check_k(k, n_labels=q, caller=cls.__name__) for k in tried})
        decided, top, expected = np.zeros((3, len(budgets)))
        for i, k in enumerate(budgets):
            found = decide_within_budget(
                proba, per_row=k, utility=utility, random_state=random_state
            )
            decided[i], expected[i] = _utility(utility, Y, found.y), found.value
            top[i] = _AT_K[utility](Y, proba, k=k)
        display = cls(
            ks=np.array(budgets), decided=decided, top=top, expected=expected, utility=utility
        )
        return display.plot(ax)

    def plot(self, ax: Any = None) -> BudgetDisplay:
        """Draw the utility over the budget.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        """
        ax = self._open(ax, size=(6.0, 3.8))
        ax.plot(self.ks, self.decided, "o-", color=BLUE, label="decided within the budget")
        ax.plot(self.ks, self.expected, ":", color=BLUE, label="expected of these decisions")
        ax.plot(self.ks, self.top, "s-", color=ORANGE, label="k most probable labels")
        ax.set(xlabel="labels per row, k", ylabel=self.utility, ylim=(0, None))
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False)
        return self


def _utility(utility: str, Y: Any, decided: Any) -> float:
    """Return the utility of decisions for rows with known labels; 0/0 is 0."""
    counts = count_confusion(Y, decided)
    if utility == "coverage":
        return float(np.mean(counts.tp > 0))
    rate = counts.f1 if utility == "macro_f1" else counts.recall
    return float(rate(zero_division=0).mean())
