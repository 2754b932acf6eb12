"""Check X and y together, once, and clean them: nothing after this checks again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelance._arrays._containers import Kind
from labelance._validation._features import (
    Features,
    check_no_other_places,
    open_features,
    validate_features,
    warn_of_other_index,
)
from labelance._validation._labels import (
    NEEDS_LABELSETS,
    Labels,
    open_clean_labels,
    validate_labels,
)
from labelance.exceptions import InputError


@dataclass(frozen=True, eq=False)
class Data:
    """Clean features and labels of the same rows."""

    features: Features
    labels: Labels

    @property
    def X(self) -> Any:
        return self.features.X

    @property
    def Y(self) -> sp.csr_array:
        return self.labels.Y

    @property
    def unknown(self) -> sp.csr_array | None:
        """A one where a label is not known, None where all are."""
        return self.labels.unknown

    @property
    def kind(self) -> Kind:
        return self.features.container.kind

    @property
    def categorical(self) -> np.ndarray:
        return self.features.categorical

    @property
    def n_samples(self) -> int:
        return self.labels.Y.shape[0]

    def take(self, rows: np.ndarray) -> Data:
        """Return some of the rows: what is clean stays clean."""
        return Data(self.features.take(rows), self.labels.take(rows))


def open_data(X: Any, y: Any, *, only_rows: bool = False) -> Data:
    """Return rows that were taken or made from clean ones, as `validate_data` returns them.

    They need no checks, but a table of words counts its categories among its own rows.
    """
    return Data(open_features(X, only_rows=only_rows), open_clean_labels(y))


def validate_data(
    X: Any,
    y: Any,
    *,
    caller: str,
    vocabulary: Iterable[Any] = (),
    needs_all: str | None = NEEDS_LABELSETS,
    **options: Any,
) -> Data:
    """Check and clean X and y together.

    Parameters
    ----------
    X : array, tensor, sparse matrix or data frame of shape (n, d)
        The features.
    y : array, tensor, sparse matrix or data frame of shape (n, q)
        The labels, 0 or 1; missing where unknown.
    caller : str
        Who asks; begins the error messages.
    vocabulary, needs_all
        As in :func:`validate_labels`.
    **options
        How X is checked, as in :func:`validate_features`.
    """
    check_no_other_places(X, y, "y", caller=caller)
    features = validate_features(X, caller=caller, **options)
    labels = validate_labels(y, caller=caller, vocabulary=vocabulary, needs_all=needs_all)
    n, m = features.X.shape[0], labels.Y.shape[0]
    if n != m:
        raise InputError(
            f"{caller} needs X and y with the same number of rows",
            f"X has {n} rows and y has {m} (inconsistent numbers of samples)",
        )
    warn_of_other_index(X, y, ("X", "y"))
    return Data(features, labels)
