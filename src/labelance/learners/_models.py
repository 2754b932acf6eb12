"""What every kind of fitted classifiers offers: one per problem, asked all together.

What the classes of the problems say about the labels is a sparse matrix, the *payoff*: class c
of problem p is a row (a *slot*), and pays its amounts to accounts, of which there is mostly one
per label. The scores and votes of all learners are such sums.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils import _safe_indexing

from labelance.learners.tree._forest import Ties
from labelance.learners.tree._problems import Problems

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

    def tally(
        self,
        rows: Rows,
        payoff: csr_array,
        *,
        hard: bool = False,
        ties: Ties = "first",
        n_jobs: int | None = None,
    ) -> Floats:
        """Add up, for every row, what the predicted classes pay; see :meth:`Forest.tally`."""


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
