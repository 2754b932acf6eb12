"""Which way of fitting chains suits an estimator? Decided once, here."""

from __future__ import annotations

from typing import Any

from scipy.sparse import csr_array

from labelance.learners._chain_clones import fit_clone_chains
from labelance.learners._chain_trees import fit_tree_chains
from labelance.learners._chains import ChainFeatures, ChainPlan, Chains
from labelance.learners._clones import CloneTrainer
from labelance.learners._models import Trainer
from labelance.learners._tree_models import TreeTrainer


def fit_chains(
    trainer: Trainer,
    X: Any,
    Y: csr_array,
    plans: list[ChainPlan],
    *,
    features: ChainFeatures,
    label_names: tuple[Any, ...] | None,
    n_jobs: int | None,
) -> Chains:
    """Fit the planned chains.

    Parameters
    ----------
    trainer : Trainer
        Of the rows of X.
    X, Y : array or csr_array
        Clean rows and labels.
    plans : list of ChainPlan
        What the chains learn.
    features : {"true", "predicted"}
        What links learn from behind X: the labels before theirs as they are, or as the links
        before decide.
    label_names : tuple or None
        Names of the labels, for trees to print.
    n_jobs : int or None
        Chains fitted at a time; the result does not depend on it.
    """
    if isinstance(trainer, TreeTrainer):
        names = tuple(map(str, label_names or (f"y{j}" for j in range(Y.shape[1]))))
        return fit_tree_chains(
            trainer, X, Y, plans, features=features, label_names=names, n_jobs=n_jobs
        )
    assert isinstance(trainer, CloneTrainer)
    return fit_clone_chains(trainer, Y, plans, features=features, n_jobs=n_jobs)
