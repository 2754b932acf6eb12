"""Many C4.5 trees: grown over one prepared X, and predicting in one compiled pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import clone

from labelance._validation import Schema
from labelance.learners._models import Floats, Rows
from labelance.learners.tree import (
    C45Classifier,
    C45Options,
    Forest,
    Problems,
    Ties,
    TreeData,
    grow_forest,
)


@dataclass(frozen=True, eq=False)
class TreeTrainer:
    """Grows all trees over one prepared X."""

    data: TreeData
    estimator: C45Classifier
    options: C45Options
    names: tuple[str, ...] | None  # of the features
    schema: Schema

    def fit(
        self,
        problems: Problems,
        *,
        n_jobs: int | None = None,
        rng: np.random.Generator | None = None,
    ) -> TreeModels:
        """Grow one tree per problem; there is no chance in it."""
        forest = grow_forest(self.data, problems, self.options, n_jobs=n_jobs)
        return TreeModels(forest, self.estimator, self.names, self.schema)


@dataclass(frozen=True, eq=False, repr=False)
class TreeModels:
    """C4.5 trees in the flat arrays of one forest."""

    forest: Forest
    estimator: C45Classifier
    names: tuple[str, ...] | None
    schema: Schema | None = None  # None where features are labels too

    @property
    def n_classes(self) -> NDArray[np.int32]:
        return self.forest.n_classes

    def __len__(self) -> int:
        return len(self.forest)

    def __getitem__(self, p: int) -> C45Classifier:
        tree = clone(self.estimator)
        tree.forest_ = self.forest.take(p, p + 1)
        tree.classes_ = np.arange(self.forest.n_classes[p])
        tree.n_features_in_ = len(self.forest.n_categories)
        tree._schema = self.schema
        if self.names is not None:
            tree.feature_names_in_ = np.array(self.names, dtype=object)
        return tree

    def __repr__(self) -> str:
        return f"<{len(self)} trees of {self.estimator}>"

    def aggregate(
        self,
        rows: Rows,
        votes: csr_array,
        *,
        hard: bool = False,
        ties: Ties = "first",
        n_jobs: int | None = None,
    ) -> Floats:
        """Send all rows down all trees in one compiled pass."""
        return self.forest.aggregate(rows.clean, votes, hard=hard, ties=ties, n_jobs=n_jobs)
