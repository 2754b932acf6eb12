"""Chains of any scikit-learn classifiers, fitted one link after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from labelance.learners._chains import Chain, ChainFeatures, ChainPlan, Ints, Labels
from labelance.learners._clones import CloneModels, CloneTrainer
from labelance.learners._models import Floats, Rows
from labelance.learners.tree import C45Classifier, subset_problems

_BOTH_CLASSES = sp.csr_array(np.eye(2))


@dataclass(frozen=True, eq=False, repr=False)
class CloneChains:
    """Fitted clones, link by link."""

    chains: list[Chain]
    n_labels: int

    def __len__(self) -> int:
        return len(self.chains)

    def __getitem__(self, c: int) -> Chain:
        return self.chains[c]

    def __repr__(self) -> str:
        return f"<{len(self)} chains>"

    def take(self, c: int) -> CloneChains:
        """Return chain c alone."""
        return CloneChains([self.chains[c]], self.n_labels)

    def add_up(self, rows: Rows, *, votes: bool, n_jobs: int | None) -> Floats:
        """Ask the chains in parallel, and add up in order, whatever ``n_jobs`` is."""
        said = Parallel(n_jobs=n_jobs, return_as="generator")(
            delayed(_ask_chain)(chain, rows.clean, votes, self.n_labels) for chain in self.chains
        )
        total = np.zeros((rows.clean.shape[0], self.n_labels))
        for part in said:
            total += part
        return total


def fit_clone_chains(
    trainer: CloneTrainer,
    Y: sp.csr_array,
    plans: list[ChainPlan],
    *,
    features: ChainFeatures,
    n_jobs: int | None,
) -> CloneChains:
    """Fit the planned chains, several at a time.

    Classifiers of others get X as numbers too, for the labels have to be appended to it.
    """
    chains = Parallel(n_jobs=n_jobs)(
        delayed(_fit_chain)(trainer.estimator, trainer.rows.clean, Y, plan, features)
        for plan in plans
    )
    return CloneChains(chains, Y.shape[1])


def _fit_chain(
    estimator: Any, X: Any, Y: sp.csr_array, plan: ChainPlan, features: ChainFeatures
) -> Chain:
    labels, models = Labels(Y), []
    before = np.empty(Y.shape, dtype=np.int8)
    for t, label in enumerate(plan.labels):
        present, wide = labels[label], _append(X, before, plan.labels[:t])
        rows = plan.draw_rows(present)
        trainer = CloneTrainer(_declare(estimator, X.shape[1], t), Rows(wide, wide), clean=True)
        link = trainer.fit(subset_problems([rows], [present[rows]], 2), rng=plan.rng)
        before[:, label] = present if features == "true" else _decide(_ask(link[0], wide))
        models.append(link[0])
    return Chain(plan.labels, models)


def _ask_chain(chain: Chain, X: Any, votes: bool, n_labels: int) -> Floats:
    before = np.empty((X.shape[0], n_labels), dtype=np.int8)
    said = np.zeros(before.shape)
    for t, (label, model) in enumerate(zip(*chain)):
        shares = _ask(model, _append(X, before, chain.labels[:t]))
        before[:, label] = _decide(shares)
        said[:, label] = before[:, label] if votes else shares[:, 1]
    return said


def _ask(model: Any, X: Any) -> Floats:
    """Return the probabilities of absence and presence."""
    alone = CloneModels([model], np.array([2], dtype=np.int32), clean=True)
    return alone.aggregate(Rows(X, X), _BOTH_CLASSES)


def _decide(shares: Floats) -> NDArray[np.bool_]:
    """Decide for presence where it is at least as probable as absence."""
    return shares[:, 1] >= shares[:, 0]


def _append(X: Any, decided: NDArray[np.int8], labels: Ints) -> Any:
    """Return X with what is decided about some labels as further columns, in their order."""
    columns = decided[:, np.sort(labels)].astype(X.dtype)
    if sp.issparse(X):
        return sp.csr_array(sp.hstack([X, sp.csr_array(columns)], format="csr"))
    return np.hstack([X, columns])


def _declare(estimator: Any, d: int, t: int) -> Any:
    """Tell C4.5 that the t columns behind the d of X are nominal."""
    if not isinstance(estimator, C45Classifier):
        return estimator
    known = estimator.get_params()
    columns = np.append(known["categorical_features"], np.arange(d, d + t)).astype(int)
    counts = np.append(known["n_categories"], np.full(t, 2)).astype(int)
    return clone(estimator).set_params(categorical_features=columns, n_categories=counts)
