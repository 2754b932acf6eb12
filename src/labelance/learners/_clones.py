"""Any scikit-learn classifier, cloned for every problem."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from labelance._utils import draw_seeds, set_random_states
from labelance.learners._models import Floats, Rows, take_rows
from labelance.learners.tree import Problem, Problems, Ties, expand_problem

_MODELS_PER_BLOCK = 64  # asked one after the other, and added up together


@dataclass(frozen=True, eq=False)
class CloneTrainer:
    """Fits a clone of any scikit-learn classifier to every problem."""

    estimator: Any
    rows: Rows
    clean: bool

    def fit(
        self,
        problems: Problems,
        *,
        n_jobs: int | None = None,
        rng: np.random.Generator | None = None,
    ) -> CloneModels:
        """Fit one clone per problem, in parallel."""
        n, m = self.rows.clean.shape[0], len(problems)
        X = self.rows.clean if self.clean else self.rows.given
        if issparse(X) and not problems.all_rows:
            X = X.tocsr()  # once, not whenever rows are taken
        seeds = [None] * m if rng is None else draw_seeds(rng, m)
        models = Parallel(n_jobs=n_jobs)(
            delayed(_fit_clone)(
                self.estimator, X, expand_problem(problems, p, n), problems.all_rows, seed
            )
            for p, seed in enumerate(seeds)
        )
        return CloneModels(models, problems.n_classes, self.clean)


@dataclass(frozen=True, eq=False, repr=False)
class CloneModels:
    """Fitted clones, in a list."""

    models: list[Any]
    n_classes: NDArray[np.int32]
    clean: bool

    def __len__(self) -> int:
        return len(self.models)

    def __getitem__(self, p: int) -> Any:
        return self.models[p]

    def __repr__(self) -> str:
        return f"<{len(self)} classifiers>"

    def aggregate(
        self,
        rows: Rows,
        votes: csr_array,
        *,
        hard: bool = False,
        ties: Ties = "first",
        n_jobs: int | None = None,
    ) -> Floats:
        """Ask blocks of models in parallel, and add up in order, whatever ``n_jobs`` is."""
        X = rows.clean if self.clean else rows.given
        slot = np.concatenate([[0], np.cumsum(self.n_classes)])
        edges = [*range(0, len(self), _MODELS_PER_BLOCK), len(self)]
        parts = Parallel(n_jobs=n_jobs, return_as="generator")(
            delayed(_votes_of_block)(
                self.models[a:b], self.n_classes[a:b], X, votes[slot[a] : slot[b]], hard, ties
            )
            for a, b in pairwise(edges)
        )
        out = np.zeros((rows.clean.shape[0], votes.shape[1]))
        for part in parts:
            out += part
        return out


@dataclass(frozen=True, eq=False)
class Constant:
    """The classifier of a problem with one class: it predicts that class, always."""

    classes_: NDArray[Any]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class for every row."""
        return np.repeat(self.classes_, _length(X))

    def predict_proba(self, X: Any) -> Floats:
        """Return 1 for every row."""
        return np.ones((_length(X), 1))


def _fit_clone(estimator: Any, X: Any, problem: Problem, all_rows: bool, seed: Any) -> Any:
    rows, y, _ = problem
    classes = np.unique(y)
    if len(classes) == 1:
        return Constant(classes)
    model = clone(estimator)
    if seed is not None:
        set_random_states(model, seed)
    return model.fit(X if all_rows else take_rows(X, rows), y)


def _votes_of_block(
    models: list[Any],
    n_classes: NDArray[np.int32],
    X: Any,
    votes: csr_array,
    hard: bool,
    ties: Ties,
) -> Floats:
    says = [_say(model, X, C, hard, ties) for model, C in zip(models, n_classes)]
    total: Floats = np.hstack(says) @ votes
    return total


def _say(model: Any, X: Any, n_classes: int, hard: bool, ties: Ties) -> Floats:
    """Return an (n, n_classes) array of probabilities, or of ones for the decisions.

    A classifier without probabilities decides, whatever was asked.
    """
    shares = np.zeros((_length(X), n_classes))
    if not hasattr(model, "predict_proba"):
        shares[np.arange(len(shares)), model.predict(X)] = 1
        return shares
    shares[:, model.classes_] = model.predict_proba(X)
    if not hard:
        return shares
    best = np.argmax(shares, axis=1)
    if ties == "last":
        best = n_classes - 1 - np.argmax(shares[:, ::-1], axis=1)
    return np.eye(n_classes)[best]


def _length(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
