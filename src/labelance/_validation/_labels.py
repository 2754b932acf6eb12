"""Check y once, and clean it: inside the library Y is a CSR array of int8 ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import type_of_target

from labelance._arrays._cells import label_dtype
from labelance._arrays._containers import (
    check_no_delayed,
    column_counts,
    is_dask,
    stored_values,
)
from labelance._arrays._labels import (
    LabelSets,
    cure_lists,
    find_label_sets,
    find_list_separator,
    mark_unknown,
    open_labels,
    part_unknown,
    to_indicator,
)
from labelance._arrays._open import Container, take_rows
from labelance._validation._arguments import Weights
from labelance._validation._categorical import name_columns
from labelance._validation._features import check_not_empty
from labelance.exceptions import LABEL, InputError, LabelFormatError, UnknownLabelsError

# Why those who do not say otherwise need to know every cell of y.
NEEDS_LABELSETS = "it looks at all labels of a row together"


@dataclass(frozen=True, eq=False)
class Labels:
    """Clean labels, and how to return rows in their original form.

    ``unknown`` has a one where y does not say whether the row has the label, and Y none; it is
    None where all is known.
    """

    Y: sp.csr_array
    names: tuple[Any, ...] | None
    container: Container
    unknown: sp.csr_array | None = None

    def take(self, rows: np.ndarray) -> Labels:
        """Return some of the rows."""
        container = open_labels(take_rows(self.container.native, rows), self.names or ())
        return replace(
            self, Y=self.Y[rows], container=container, unknown=take_unknown(self.unknown, rows)
        )

    @property
    def n_known(self) -> np.ndarray:
        """The number of rows in which each label is known."""
        return count_known(self.Y, self.unknown)

    @property
    def table(self) -> Any:
        """The labels as a table: as given, or their indicator for label sets."""
        if isinstance(self.container, LabelSets):
            return self.Y.astype(label_dtype(self.Y.shape[1]), copy=False)
        return self.container.native

    def restore(
        self,
        Y: sp.csr_array,
        rows: np.ndarray | None,
        added: int,
        unknown: sp.csr_array | None = None,
    ) -> Any:
        """Return clean labels of kept ``rows`` and ``added`` rows in the kind of the input."""
        return self.container.restore_labels(mark_unknown(Y, unknown), rows, added)


def take_unknown(unknown: sp.csr_array | None, rows: Any) -> sp.csr_array | None:
    """Return the unknown cells of some rows, None where all rows are known."""
    return None if unknown is None else unknown[rows]


def take_labels(Y: sp.csr_array, labels: np.ndarray) -> sp.csr_array:
    """Return some of the labels, or of their unknown cells."""
    return sp.csr_array(Y.tocsc()[:, labels])


def known_cells(unknown: sp.csr_array | None, labels: Any = slice(None)) -> np.ndarray | None:
    """Return a mask of known cells of some labels, None where all cells are known."""
    return None if unknown is None else unknown.toarray()[:, labels] == 0


def cell_weights(weight: Weights, known: np.ndarray | None) -> np.ndarray | None:
    """Return the weights of rows, or of cells (n, q) where unknown ones weigh nothing."""
    if known is None:
        return weight
    return known.astype(float) if weight is None else known * weight[:, None]


def weights_of(counted: np.ndarray, labels: Any) -> np.ndarray:
    """Return weights of rows as they are, and of cells those of some labels."""
    return counted if counted.ndim == 1 else counted[:, labels]


def count_known(Y: sp.csr_array, unknown: sp.csr_array | None) -> np.ndarray:
    """Return the number of rows in which each label is known."""
    n, q = Y.shape
    return np.full(q, n) if unknown is None else n - column_counts(unknown)


def absent_if_never_known(Y: sp.csr_array, unknown: sp.csr_array | None) -> sp.csr_array | None:
    """Return the unknown cells without those of labels of which no row is known.

    So such labels, as a small bag may have them, are absent: Y has no ones there.
    """
    never = count_known(Y, unknown) == 0
    if unknown is None or not never.any():
        return unknown
    kept = unknown.copy()
    kept.data[never[kept.indices]] = 0
    kept.eliminate_zeros()
    return kept


def labels_known_together(known: np.ndarray | None) -> list[tuple[Any, Any]]:
    """Return groups of labels that are known in the same rows: those rows, and the labels.

    Sources that were merged leave few groups; what is fitted to rows is fitted once for a group.
    """
    if known is None:
        return [(slice(None), slice(None))]
    groups: dict[bytes, list[int]] = {}
    for label, rows in enumerate(known.T):
        groups.setdefault(np.packbits(rows).tobytes(), []).append(label)
    return [(np.flatnonzero(known[:, group[0]]), np.array(group)) for group in groups.values()]


def validate_labels(
    y: Any,
    *,
    caller: str,
    role: str = "y",
    vocabulary: Iterable[Any] = (),
    needs_all: str | None = NEEDS_LABELSETS,
) -> Labels:
    """Check and clean y: an (n, q) indicator of zeros and ones, or a label set for every row.

    A cell that is missing (NaN, None, ``pd.NA``, masked) is unknown: neither 0 nor 1.

    Parameters
    ----------
    y : array, sparse matrix or data frame of shape (n, q), or n label sets
        True/False, 1/0 or two words such as yes/no per row and label; or a list or Series with
        the names of the labels of every row.
    caller : str
        Who asks; begins the error messages.
    role : str, default="y"
        What the caller calls these labels.
    vocabulary : iterable, optional
        Labels that label sets may have, in addition to those they do have.
    needs_all : str or None
        Why the caller needs to know every cell, as the end of a sentence; None if it does without.
    """
    check_no_delayed(y, role)
    _check_no_flat_labels(y, caller)
    try:
        container = open_labels(y, vocabulary)
    except InputError as error:
        raise LabelFormatError(*error.parts) from None
    check_not_empty(container.shape, caller, "y")
    cells, unknown = part_unknown(container.raw())
    stored = stored_values(cells)
    if stored.dtype.kind != "b" and not (stored == stored.astype(bool)).all():
        odd = np.unique(stored[(stored != 0) & (stored != 1)])
        raise LabelFormatError(
            f"{caller} needs labels that are 0 (absent) or 1 (present)",
            f"{role} also holds {', '.join(f'{value:g}' for value in odd[:4])}"
            + ", …" * (len(odd) > 4),
            _label_advice(odd, role),
        )
    labels = Labels(to_indicator(cells), container.names, container, unknown)
    if needs_all is not None:
        check_all_known(labels, caller, needs_all, role=role)
    return labels


def check_all_known(labels: Labels, caller: str, reason: str, *, role: str = "y") -> None:
    """Raise where some cell is unknown, with the reason why the caller needs all of them."""
    if labels.unknown is None:
        return
    columns = np.unique(labels.unknown.indices)
    raise UnknownLabelsError(
        f"{caller} needs to know every label of every row, since {reason}",
        f"{role} has {labels.unknown.nnz} unknown cells (nan), in labels "
        f"{name_columns(columns, labels.names, LABEL)}",
        "Decide what a missing label means: drop these rows, or count it as absent (0); the guide "
        "on unknown labels lists the classes and functions that work on known cells only",
    )


def check_some_known(labels: Labels, caller: str) -> None:
    """Raise for labels of which no row is known."""
    if labels.unknown is None:
        return
    nothing = np.flatnonzero(labels.n_known == 0)
    if len(nothing):
        raise LabelFormatError(
            f"{caller} needs known values for every label",
            f"No row of labels {name_columns(nothing, labels.names, LABEL)} is known",
        )


def open_clean_labels(y: Any) -> Labels:
    """Return a table of zeros and ones, made from clean labels, as `validate_labels` returns it.

    It needs no checks.
    """
    container = open_labels(y)
    cells, unknown = part_unknown(container.raw())
    return Labels(to_indicator(cells), container.names, container, unknown)


def _label_advice(odd: np.ndarray, role: str) -> str:
    """Return what to do about values that are neither 0 nor 1."""
    if odd.tolist() == [-1]:
        return (
            f"If -1 means absent, ({role} > 0).astype(int); if it means unknown, "
            f"np.where({role} == -1, np.nan, {role})"
        )
    if ((odd >= 0) & (odd <= 1)).all():
        return (
            f"Turn probabilities into decisions, ({role} >= 0.5).astype(int), or pass them as "
            "y_score to functions that take scores"
        )
    swapped = "If these are features, X and y may be swapped; if" if role == "y" else "If"
    return (
        f"{swapped} they are class numbers, make one column per class with "
        "labelance.datasets.MultiClassReduction; if scores, compare with a threshold"
    )


def _check_no_flat_labels(Y: Any, caller: str) -> None:
    """Raise for a list of words, a one-dimensional y, or no y at all, with the cure."""
    problem = (
        f"y of {caller} must be an (n, q) table of zeros and ones, or one list of labels per row"
    )
    if Y is None:
        raise LabelFormatError(
            f"{caller} requires y to be passed, but the target y is None", "Got y=None"
        )
    if find_label_sets(Y) is not None:
        return
    is_list, is_series = isinstance(Y, (list, tuple)), type(Y).__name__ == "Series"
    if is_list or (isinstance(Y, np.ndarray) and Y.ndim == 1) or (is_series and not is_dask(Y)):
        separator = find_list_separator(Y)
        if separator is not None:
            example = next(text for text in Y if isinstance(text, str) and separator in text)
            found = f"y has several labels per cell, such as {example!r}"
            raise LabelFormatError(problem, found, cure_lists("y", separator))
    first = Y[0] if is_list and len(Y) else None
    ragged = isinstance(first, (list, tuple)) and len({len(row) for row in Y}) > 1
    if isinstance(first, str) or ragged:
        raise LabelFormatError(
            problem,
            "y has lists of different lengths" if ragged else "y is a list of strings",
            'Split strings such as "a,b" into lists of labels; make a table of label numbers with '
            "sklearn.preprocessing.MultiLabelBinarizer().fit_transform(y)",
        )
    is_flat = is_series or np.isscalar(first)
    if is_flat or getattr(Y, "ndim", None) == 1:
        try:
            kind = f" and is {type_of_target(Y)}"  # scikit-learn's word, where it has one
        except (TypeError, ValueError):  # missing values, or a tensor on a GPU
            kind = ""
        raise LabelFormatError(
            problem,
            f"y has one dimension{kind}",
            "Only binary classification is supported, label by label: for a single 0/1 label use "
            "y.reshape(-1, 1), or y.to_frame() for a Series; for classes use "
            "sklearn.preprocessing.LabelBinarizer, or imbalanced-learn's samplers",
        )
