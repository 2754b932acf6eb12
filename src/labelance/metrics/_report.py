"""One page about one prediction: every label's rates next to its imbalance."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelance._arrays._containers import column_counts
from labelance._utils._messages import show_names
from labelance._utils._notebook import draw_result
from labelance._validation._arguments import check_label_names
from labelance._validation._data import validate_labels
from labelance._validation._predictions import validate_predictions
from labelance.exceptions import InputError
from labelance.imbalance._measures import find_irlbl, leave_out_full, rarest_first, rarity_bands
from labelance.metrics._calibration import bin_scores, brier_of_labels, validate_probability_scores
from labelance.metrics._classification import Confusion, count_confusion

Values = NDArray[np.float64]

#: Columns of the report, in order, with their short heads.
HEADS = {
    "precision": "pre",
    "recall": "rec",
    "specificity": "spe",
    "g_mean": "geo",
    "f1": "f1",
    "brier": "brier",
    "calibration_error": "ece",
    "irlbl": "IRLbl",
    "support": "sup",
}
RATES = ("precision", "recall", "specificity", "g_mean", "f1")


@dataclass(frozen=True, eq=False)
class ImbalanceReport:
    """Rates, IRLbl and support of every label, and three averages; prints as a table.

    Attributes
    ----------
    label_names : tuple of str
        One name per label.
    precision, recall, specificity, g_mean, f1 : ndarray of shape (q,)
        Rates of every label.
    irlbl : ndarray of shape (q,)
        Imbalance ratio of every label: the count of the most frequent label over its own; nan
        for a label in all rows or in none.
    support : ndarray of shape (q,)
        Rows that have the label.
    averages : dict of str to dict
        "macro" (labels alike), "weighted" (by support) and "micro" (all cells pooled).
    brier, calibration_error : ndarray of shape (q,) or None
        Losses of the probabilities of every label, where these were given.
    """

    label_names: tuple[str, ...]
    precision: Values
    recall: Values
    specificity: Values
    g_mean: Values
    f1: Values
    irlbl: Values
    support: NDArray[np.int64]
    averages: dict[str, dict[str, float]]
    brier: Values | None = None
    calibration_error: Values | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that this report has."""
        return tuple(name for name in HEADS if getattr(self, name) is not None)

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return {label or average: {column: value}}, as scikit-learn's ``output_dict`` does."""
        columns = [getattr(self, column).tolist() for column in self.columns]
        rows = (dict(zip(self.columns, row)) for row in zip(*columns))
        averages = {f"{name} avg": row for name, row in self.averages.items()}
        return {**dict(zip(self.label_names, rows)), **averages}

    def to_frame(self) -> Any:
        """Return a pandas frame with one row per label and average."""
        import pandas as pd

        return pd.DataFrame.from_dict(self.to_dict(), orient="index", columns=list(self.columns))

    @property
    def bands(self) -> dict[str, dict[str, float]]:
        """Means over the labels in 1-9 rows, in 10-99 and so on, undefined values left out."""
        of_labels = {name: getattr(self, name) for name in self.columns if name != "support"}
        return {
            f"{band} avg": {
                **{name: _mean(v[labels], np.ones(len(labels))) for name, v in of_labels.items()},
                "support": int(self.support[labels].sum()),
            }
            for band, labels in rarity_bands(self.support).items()
        }

    def to_text(self, *, digits: int = 2, top: int = 20) -> str:
        """Return the table as text, rarest labels first.

        Parameters
        ----------
        digits : int, default=2
            Decimals of numbers; "-" stands for undefined ones.
        top : int, default=20
            The most labels that are listed. Means over labels of like rarity follow where these
            differ.
        """
        table = self.to_dict()
        order = rarest_first(self.support).tolist()
        shown = {self.label_names[j]: table[self.label_names[j]] for j in order[:top]}
        bands = self.bands if len(self.bands) > 1 else {}
        averages = {name: table[name] for name in list(table)[len(order) :]}
        more = f"… {len(order) - top} more labels" if len(order) > top else ""
        width = max(map(len, (*shown, *bands, *averages, more)))
        lines = [" " * width + "".join(f"{HEADS[name]:>8}" for name in self.columns)]
        for part in filter(None, (shown, bands, averages)):
            lines.append("")
            for name, row in part.items():
                cells = (_cell(row[column], digits) for column in self.columns)
                lines.append(f"{name:>{width}}" + "".join(f"{cell:>8}" for cell in cells))
            if part is shown and more:
                lines.append(f"{more:>{width}}")
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        missed = np.flatnonzero((self.support > 0) & (self.recall == 0))
        verdict = ", ".join(f"{name} F {row['f1']:.2f}" for name, row in self.averages.items())
        if len(missed):
            names = show_names((self.label_names[j] for j in missed), most=5)
            verdict += f". Never found: {names}"
        return draw_result(
            f"{verdict[:1].upper()}{verdict[1:]}.",
            {"label": self.label_names, **{HEADS[c]: getattr(self, c) for c in self.columns}},
            order=rarest_first(self.support).tolist(),
        )


def imbalance_report(
    y_true: Any,
    y_pred: Any,
    *,
    y_train: Any = None,
    y_score: Any = None,
    label_names: Sequence[str] | None = None,
    zero_division: float = 0,
    output_dict: bool = False,
) -> Any:
    """Report precision, recall, specificity, G-mean, F, IRLbl and support of every label.

    The multi-label counterpart of imbalanced-learn's ``classification_report_imbalanced``.

    Parameters
    ----------
    y_true, y_pred : array, sparse matrix or data frame of shape (n, q)
        True and predicted labels, 0 or 1.
    y_train : array, sparse matrix or data frame of shape (m, q) or None, default=None
        Where IRLbl comes from, if not from ``y_true``: a test fold says little about a rare label.
    y_score : array or data frame of shape (n, q) or None, default=None
        Probabilities, which add two columns: the Brier loss and the expected calibration error of
        every label, as :func:`macro_brier_loss` and :func:`macro_calibration_error` have them.
    label_names : sequence of str or None, default=None
        One per label; taken from the frame if y_true is one, else "0", "1", ….
    zero_division : float, default=0
        A rate where there was nothing to find and nothing was found; any other 0/0 is 0. The
        default gives the figures of scikit-learn's ``classification_report``.
    output_dict : bool, default=False
        Return nested dictionaries instead of the report.

    Returns
    -------
    ImbalanceReport or dict

    Examples
    --------
    >>> from labelance.metrics import imbalance_report
    >>> y_true = [[1, 0], [1, 1], [1, 0], [0, 0]]
    >>> y_pred = [[1, 0], [1, 0], [0, 1], [0, 0]]
    >>> imbalance_report(y_true, y_pred, label_names=["rock", "polka"])
                    pre     rec     spe     geo      f1   IRLbl     sup
    <BLANKLINE>
           polka   0.00    0.00    0.67    0.00    0.00    3.00       1
            rock   1.00    0.67    1.00    0.82    0.80    1.00       3
    <BLANKLINE>
       macro avg   0.50    0.33    0.83    0.41    0.40    2.00       4
    weighted avg   0.75    0.50    0.92    0.61    0.60    1.50       4
       micro avg   0.67    0.50    0.75    0.61    0.57       -       4
    <BLANKLINE>
    """
    caller = "imbalance_report"
    Y, Y_pred, names, unknown = validate_predictions(y_true, y_pred, caller=caller, needs_all=None)
    n_known = Y.shape[0] - (0 if unknown is None else column_counts(unknown))
    seen = (column_counts(Y), n_known)
    if y_train is not None:
        seen = _count_train(y_train, names, Y.shape[1], caller)
    if label_names is not None:
        names = check_label_names(label_names, Y.shape[1], caller=caller)
    losses: dict[str, Values] = {}
    if y_score is not None:
        _, scores, *_ = validate_probability_scores(y_true, y_score, caller)
        losses["brier"] = brier_of_labels(Y, scores, unknown)
        losses["calibration_error"] = bin_scores(Y, scores, 10, "uniform", unknown).error
    confusion = count_confusion(Y, Y_pred, unknown=unknown)
    ratio = find_irlbl(leave_out_full(*seen))
    report = ImbalanceReport(
        label_names=tuple(map(str, names or range(Y.shape[1]))),
        **_rates(confusion, zero_division),
        irlbl=ratio,
        support=confusion.support,
        averages=_averages(confusion, ratio, zero_division, losses),
        **losses,
    )
    return report.to_dict() if output_dict else report


def _rates(confusion: Confusion, zero_division: float) -> dict[str, Values]:
    return {rate: getattr(confusion, rate)(zero_division=zero_division) for rate in RATES}


def _averages(
    confusion: Confusion, ratio: Values, zero_division: float, losses: dict[str, Values]
) -> dict[str, dict[str, float]]:
    """Three ways to average over labels; undefined values are left out of each."""
    of_labels = {**_rates(confusion, zero_division), **losses, "irlbl": ratio}
    pooled = _rates(confusion.total(), zero_division)
    support = {"support": int(confusion.support.sum())}
    alike = np.ones(ratio.size)
    return {
        "macro": {name: _mean(v, alike) for name, v in of_labels.items()} | support,
        "weighted": {name: _mean(v, confusion.support) for name, v in of_labels.items()} | support,
        "micro": {name: float(v[0]) for name, v in pooled.items()}
        | dict.fromkeys((*losses, "irlbl"), float("nan"))
        | support,
    }


def _mean(values: Values, weights: NDArray[Any]) -> float:
    defined = ~np.isnan(values)
    if not defined.any():
        return float("nan")
    weights = weights[defined]
    # Without any support scikit-learn weights labels alike.
    return float(np.average(values[defined], weights=weights if weights.any() else None))


def _count_train(
    y_train: Any, names: tuple[Any, ...] | None, n_labels: int, caller: str
) -> tuple[Any, Any]:
    """Return ones and known cells of training labels, by name where y_true has names, too."""
    seen = validate_labels(y_train, caller=caller, vocabulary=names or (), needs_all=None)
    counts = column_counts(seen.Y), seen.n_known
    if seen.Y.shape[1] != n_labels:
        raise InputError(
            f"y_train of {caller} must have the labels of y_true",
            f"y_true has {n_labels} labels, and y_train has {seen.Y.shape[1]}",
        )
    if names is None or seen.names is None or seen.names == names:
        return counts
    strange = [name for name in seen.names if name not in names]
    if strange:
        raise InputError(
            f"y_train of {caller} must have the labels of y_true",
            f"y_train has the label {strange[0]!r}, and y_true does not",
            "Pass the same labels, or arrays without names to pair them by position",
        )
    places = [seen.names.index(name) for name in names]
    return counts[0][places], counts[1][places]


def _cell(value: float, digits: int) -> str:
    if isinstance(value, int):
        return str(value)
    return "-" if np.isnan(value) else f"{value:.{digits}f}"
