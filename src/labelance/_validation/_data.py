"""Check X and y together, once, and clean them: nothing after this checks again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelance._arrays._containers import Kind
from labelance._arrays._open import stack_rows
from labelance._validation._categorical import CategoricalFeatures
from labelance._validation._features import (
    Features,
    MissingPolicy,
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

    def restore(
        self,
        rows: np.ndarray | None,
        Y_rows: sp.csr_array | None = None,
        X_new: Any = None,
        Y_new: sp.csr_array | None = None,
        unknown_rows: sp.csr_array | None = None,
        unknown_new: sp.csr_array | None = None,
    ) -> tuple[Any, Any]:
        """Return kept rows, and new ones under them, in the containers of the input.

        Parameters
        ----------
        rows : ndarray of int or None
            The original rows that are kept, in order; None means all.
        Y_rows : csr_array or None
            Their labels, where they were changed.
        X_new, Y_new : array and csr_array, or None
            Clean rows that follow.
        unknown_rows, unknown_new : csr_array or None
            Cells that are unknown in kept rows, where these were changed, and in those that follow.
        """
        if Y_rows is None:
            Y_rows = self.Y if rows is None else self.Y[rows]
        added = 0 if Y_new is None else Y_new.shape[0]
        Y = Y_rows if Y_new is None else stack_rows(Y_rows, Y_new)
        unknown = self.join_unknown(rows, added, unknown_rows, unknown_new)
        return self.features.restore(rows, X_new), self.labels.restore(Y, rows, added, unknown)

    def join_unknown(
        self,
        rows: np.ndarray | None,
        added: int,
        unknown_rows: sp.csr_array | None,
        unknown_new: sp.csr_array | None,
    ) -> sp.csr_array | None:
        """Return the unknown cells of kept rows and of those that follow; None if all are known."""
        if self.unknown is None:
            return None
        if unknown_rows is None:
            unknown_rows = self.unknown if rows is None else self.unknown[rows]
        if unknown_new is None:
            unknown_new = sp.csr_array((added, self.Y.shape[1]), dtype=np.int8)
        return stack_rows(unknown_rows, unknown_new)


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
    categorical_features: CategoricalFeatures = None,
    missing: MissingPolicy = "error",
    only_rows: bool = False,
    hands_on: bool = False,
    in_blocks: bool = False,
    vocabulary: Iterable[Any] = (),
    needs_all: str | None = NEEDS_LABELSETS,
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
    categorical_features, missing, only_rows, hands_on, in_blocks
        As in :func:`validate_features`.
    vocabulary, needs_all
        As in :func:`validate_labels`.
    """
    check_no_other_places(X, y, "y", caller=caller)
    features = validate_features(
        X,
        caller=caller,
        categorical_features=categorical_features,
        missing=missing,
        only_rows=only_rows,
        hands_on=hands_on,
        in_blocks=in_blocks,
    )
    labels = validate_labels(y, caller=caller, vocabulary=vocabulary, needs_all=needs_all)
    n, m = features.X.shape[0], labels.Y.shape[0]
    if n != m:
        raise InputError(
            f"{caller} needs X and y with the same number of rows",
            f"X has {n} rows and y has {m} (inconsistent numbers of samples)",
        )
    warn_of_other_index(X, y, ("X", "y"))
    return Data(features, labels)
