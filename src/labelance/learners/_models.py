"""What every kind of fitted classifiers offers: one per problem, asked all together.

What the classes of the problems say about the labels is a sparse matrix of *votes*: class c of
problem p is a row (a *slot*), and votes for outputs, of which there is mostly one per label. The
scores of all learners are sums of such votes.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils import _safe_indexing

from labelance.learners.tree import Problems, Ties

Floats = NDArray[np.float64]


class Rows(NamedTuple):
    """The same rows twice."""

    clean: Any  # numbers and category codes, for compiled trees
    given: Any  # as the user gave them, for classifiers of others

    def take(self, rows: NDArray[Any]) -> Rows:
        """Return some of the rows."""
        return Rows(self.clean[rows], take_rows(self.given, rows))


class Models(Protocol):
    """One fitted classifier per problem."""

    @property
    def n_classes(self) -> NDArray[np.int32]:
        """Number of classes of every problem."""

    def __len__(self) -> int: ...

    def __getitem__(self, p: int) -> Any:
        """Return the classifier of problem p."""

    def aggregate(
        self,
        rows: Rows,
        votes: csr_array,
        *,
        hard: bool = False,
        ties: Ties = "first",
        n_jobs: int | None = None,
    ) -> Floats:
        """Sum the votes of all classifiers for each row; see :meth:`Forest.aggregate`."""


class Trainer(Protocol):
    """Fits classifiers to problems over the rows that it holds."""

    def fit(
        self,
        problems: Problems,
        *,
        n_jobs: int | None = None,
        rng: np.random.Generator | None = None,
    ) -> Models:
        """Fit one classifier per problem; every problem has at least one row.

        ``rng`` gives each of them a seed of its own; without it they keep the estimator's.
        """


def take_rows(X: Any, rows: NDArray[Any]) -> Any:
    """Return rows of any container."""
    return _safe_indexing(X.tocsr() if issparse(X) else X, rows)
