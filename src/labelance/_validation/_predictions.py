"""Check what metrics compare: true labels with predictions, or with scores."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelance._arrays._containers import stored_values
from labelance._arrays._labels import find_label_sets
from labelance._arrays._open import Container, columns_where, open_container, to_memory
from labelance._utils._messages import show_names
from labelance._validation._arguments import check_label_names
from labelance._validation._data import (
    NEEDS_LABELSETS,
    Labels,
    check_all_known,
    validate_labels,
    warn_of_other_index,
)
from labelance.exceptions import ContainerError, InputError


class Predicted(NamedTuple):
    """True and predicted labels, (n, q) both, and the cells that y_true does not know, if any."""

    Y: csr_array
    Y_pred: csr_array
    names: tuple[Any, ...] | None
    unknown: csr_array | None = None


class Scored(NamedTuple):
    """True labels and finite scores, the cells that y_true does not know, names of the labels."""

    Y: csr_array
    scores: Any  # an array; rows in blocks or a csr_array where the caller takes these
    unknown: csr_array | None = None
    names: tuple[Any, ...] | None = None


def validate_predictions(
    y_true: Any, y_pred: Any, *, caller: str, needs_all: str | None = NEEDS_LABELSETS
) -> Predicted:
    """Check true and predicted labels once; label sets have the labels of both."""
    _check_no_list_of_tables(y_pred, "y_pred", "labels", caller=caller)
    rows = [find_label_sets(y) for y in (y_true, y_pred)]
    common = set(chain.from_iterable(chain.from_iterable(filter(None, rows))))
    if None in rows and (rows[0] or rows[1]):
        # One of the two is a table, so its columns are all the labels there are.
        common = set()
    true = validate_labels(
        y_true, caller=caller, role="y_true", vocabulary=common, needs_all=needs_all
    )
    who, why = f"{caller} (for y_pred)", "a prediction decides"
    predicted = validate_labels(y_pred, caller=who, role="y_pred", vocabulary=common, needs_all=why)
    _check_match(true, predicted.container, what="y_pred", caller=caller)
    warn_of_other_index(y_true, y_pred, ("y_true", "y_pred"), shuffled_only=True)
    return Predicted(true.Y, predicted.Y, true.names, true.unknown)


def validate_scores(
    y_true: Any,
    scores: Any,
    *,
    caller: str,
    needs_all: str | None = NEEDS_LABELSETS,
    probabilities: bool = False,
    in_blocks: bool = False,
    sparse: bool = False,
    label_names: Sequence[Any] | None = None,
) -> Scored:
    """Check true labels and scores once; nothing after this checks again.

    Scores of a Dask collection come to the client, unless ``caller`` takes them in blocks. A
    ``caller`` that takes ``sparse`` scores gets a csr_array, in which absent scores are 0. Labels
    have the names of the columns of ``y_true`` or of the scores, unless ``label_names`` are given.
    """
    true = validate_labels(y_true, caller=caller, role="y_true", needs_all=None)
    container = _validate_scores(scores, caller=caller, in_blocks=in_blocks, sparse=sparse)
    _check_match(true, container, what="the scores", caller=caller)
    names = true.names or container.names
    if label_names is not None:
        names = check_label_names(label_names, container.shape[1], caller=caller)
    if needs_all is not None:
        check_all_known(replace(true, names=names), caller, needs_all, role="y_true")
    warn_of_other_index(y_true, scores, ("y_true", "scores"), shuffled_only=True)
    values = container.clean()
    if probabilities:
        _check_probabilities(stored_values(values), caller)
    _check_finite(values, caller)
    return Scored(true.Y, values, true.unknown, names)


def validate_score_table(
    scores: Any,
    n_labels: int | None,
    *,
    caller: str,
    sparse: bool = False,
    names: tuple[Any, ...] | None = None,
) -> Any:
    """Check scores of rows whose labels are unknown; nothing after this checks again.

    ``names`` are the labels in their order, which the columns of a frame must have.
    """
    container = _validate_scores(scores, caller=caller, sparse=sparse)
    if n_labels is not None and container.shape[1] != n_labels:
        raise InputError(
            f"{caller} needs one score for each of {n_labels} labels",
            f"The scores have shape {container.shape}",
        )
    if names is not None and container.names is not None and container.names != names:
        raise InputError(
            f"The columns of the scores must be the labels, in this order: {show_names(names, 5)}",
            "They have other names, or another order",
        )
    values = container.clean()
    _check_finite(values, caller)
    return values


def validate_probabilities(scores: Any, *, caller: str, sparse: bool = False) -> Any:
    """Check a table of probabilities once; nothing after this checks again."""
    return open_probabilities(scores, caller=caller, sparse=sparse)[0]


def open_probabilities(
    scores: Any, *, caller: str, sparse: bool = True, label_names: Sequence[Any] | None = None
) -> tuple[Any, tuple[Any, ...] | None]:
    """Check a table of probabilities once; return it and the names of its labels."""
    container = _validate_scores(scores, caller=caller, sparse=sparse)
    values = container.clean().astype(float, copy=False)
    _check_probabilities(stored_values(values), caller)
    if label_names is None:
        return values, container.names
    return values, check_label_names(label_names, values.shape[1], caller=caller)


def _check_probabilities(values: NDArray[np.floating], caller: str) -> None:
    outside = np.count_nonzero(~((values >= 0) & (values <= 1)))
    if outside:
        raise InputError(
            f"{caller} needs probabilities between 0 and 1",
            f"{outside} scores are outside this range, or NaN",
            "Pass the output of predict_proba, or scipy.special.expit of margins",
        )


def _check_finite(values: Any, caller: str) -> None:
    columns = np.union1d(columns_where(values, "isnan"), columns_where(values, "isinf"))
    if len(columns):
        found = f"Scores of {len(columns)} labels are NaN or infinite"
        raise InputError(f"{caller} needs finite scores", found)


def check_k(k: Any, *, n_labels: int, caller: str) -> int:
    """Return a ``k`` between 1 and the number of labels."""
    if isinstance(k, (int, np.integer)) and 1 <= k <= n_labels:
        return int(k)
    raise InputError(
        f"k of {caller} must be an integer from 1 to {n_labels}, the number of labels",
        f"Got k={k!r}",
    )


def _validate_scores(
    scores: Any, *, caller: str, in_blocks: bool = False, sparse: bool = False
) -> Container:
    _check_no_list_of_tables(scores, "the scores", "scores", caller=caller)
    # Measures are numbers for people: they are made on the CPU.
    scores = to_memory(scores, keep_blocks=in_blocks)
    container = open_container(scores, "the scores", in_blocks=in_blocks)
    if container.kind == "sparse" and not sparse:
        raise ContainerError(
            f"{caller} needs a score for every cell", "The scores are a sparse matrix"
        )
    return container


def _check_no_list_of_tables(given: Any, role: str, what: str, *, caller: str) -> None:
    """Raise for what predict_proba of scikit-learn's forests gives: a table for every label."""
    if isinstance(given, (list, tuple)) and given and getattr(given[0], "ndim", 0) == 2:
        raise InputError(
            f"{caller} needs {what} as one table of shape (n_rows, n_labels)",
            f"{role} is a list of two-dimensional arrays, one per label",
            "Use labelance.metrics.label_scores(estimator, X), or np.column_stack([p[:, 1] for p "
            f"in …]){', and compare with a threshold' if what == 'labels' else ''}",
        )


def _check_match(true: Labels, container: Container, *, what: str, caller: str) -> None:
    """Refuse tables whose cells do not correspond: another shape, or other column names."""
    if container.shape != true.Y.shape:
        raise InputError(
            f"y_true and {what} must have the same shape",
            f"Got shapes {true.Y.shape} and {container.shape}",
        )
    both_named = true.names is not None and container.names is not None
    if both_named and true.names != container.names:
        raise InputError(
            f"y_true and {what} must have the same columns in the same order",
            "The two frames name or order their columns differently",
        )


def check_average(average: Any) -> None:
    """Refuse averages that a macro measure does not have, naming who has them."""
    if average not in ("macro", None):
        raise InputError(
            'average must be "macro", or None for one value per label',
            f"Got {average!r}",
            "For other averages use micro_f1, example_f1 or imbalance_report",
        )
