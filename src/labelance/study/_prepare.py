"""Fit a sampler or learner of the plan to a dataset: its nominal features, its neighbor search."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from labelance._utils import set_random_states
from labelance.learners import C45Classifier
from labelance.study._design import Learner

_MASK = "categorical_features"


def prepare(estimator: Any, nominal: np.ndarray) -> Any:
    """Tell an estimator, and those inside it, which features are nominal unless it knows."""
    if not nominal.any() or not hasattr(estimator, "get_params"):
        return estimator
    params = estimator.get_params(deep=True)
    unset = [name for name in params if _is(name, _MASK) and params[name] is None]
    return estimator.set_params(**dict.fromkeys(unset, nominal))


def _is(name: str, parameter: str) -> bool:
    """Say whether a name is that of a parameter, of an estimator or of one inside it."""
    return name == parameter or name.endswith(f"__{parameter}")


def search_of(estimator: Any, nominal: np.ndarray) -> tuple[int, dict[str, Any]] | None:
    """Return how many neighbors it looks for and in which space, if it can take them ready.

    One that was told other nominal features than the dataset has lives in another space.
    """
    k = getattr(estimator, "k_neighbors", getattr(estimator, "n_neighbors", None))
    names = ("metric", "scale", "missing")
    if not isinstance(k, Integral) or not all(hasattr(estimator, name) for name in names):
        return None
    mask = getattr(estimator, _MASK, None)
    if mask is not nominal and (mask is not None or nominal.any()):
        return None
    space = {name: getattr(estimator, name) for name in names}
    # A learner may leave missing values to the search; then none may be there.
    if space["missing"] not in ("error", "distance") or not isinstance(space["metric"], str):
        return None
    return int(k), space


def build_learner(
    learner: Learner, nominal: np.ndarray, *, balanced: bool = False, seed: int = 0
) -> Any:
    """Make a learner for data with these nominal features.

    One whose ``random_state`` the plan leaves open takes the study's seed, so that its figures
    can be computed again.
    """
    built = learner.component.build()
    if balanced:
        _balance(built)
    return prepare(set_random_states(built, seed, only_unset=True), nominal)


def takes_weights(learner: Learner) -> bool:
    """Say whether its base classifier can weigh classes."""
    return _balance(learner.component.build())


def _balance(built: Any) -> bool:
    params = built.get_params(deep=True) if hasattr(built, "get_params") else {}
    if "estimator" in params and params["estimator"] is None:
        built.set_params(estimator=C45Classifier(class_weight="balanced"))
        return True
    weighing = [name for name in params if name.endswith("class_weight")]
    built.set_params(**dict.fromkeys(weighing, "balanced"))
    return bool(weighing)
