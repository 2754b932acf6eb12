"""The base of learners around an estimator, and the list of all learners."""

from __future__ import annotations

import sys
from inspect import isabstract
from numbers import Integral
from typing import Any, ClassVar

from labelance._classifier import BaseMultiLabelClassifier, WeightedClassifier, inherit_input_tags
from labelance._utils._compat import HasMethods, StrOptions
from labelance._validation._arguments import Weights
from labelance._validation._categorical import CategoricalFeatures
from labelance._validation._data import Data
from labelance.learners._label_weight import find_label_weights
from labelance.learners._reduction import Rows, Trainer, make_trainer
from labelance.learners.tree import C45Classifier


class LearnerWithEstimator(WeightedClassifier):
    """Base of learners with ``estimator``, ``categorical_features``, ``n_jobs``, ``verbose``."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **WeightedClassifier._parameter_constraints,
        "estimator": [HasMethods(["fit", "predict"]), None],
        "categorical_features": ["array-like", StrOptions({"auto"}), None],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        categorical_features: CategoricalFeatures = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        return inherit_input_tags(C45Classifier(), tags) if self.estimator is None else tags

    def _grows_c45(self) -> bool:
        return self.estimator is None or type(self.estimator) is C45Classifier

    def _trainer(self, data: Data, X: Any, weight: Weights) -> Trainer:
        weight = self._weights_of_estimator(weight)
        wanted, own = getattr(self, "label_weight", None), None
        if wanted is not None:
            own = find_label_weights(wanted, data.labels, caller=type(self).__name__)
        return make_trainer(self.estimator, Rows(data.X, X), self._schema, weight, own)


def all_learners() -> dict[str, type[BaseMultiLabelClassifier]]:
    """Return every public learner that can be made without arguments, by name.

    Examples
    --------
    >>> from labelance.learners import all_learners
    >>> "MLkNN" in all_learners()
    True
    """
    learners = sys.modules[__package__]
    public = {name: getattr(learners, name) for name in learners.__all__}
    return {name: kind for name, kind in public.items() if _is_ready(kind)}


def _is_ready(kind: object) -> bool:
    is_learner = isinstance(kind, type) and issubclass(kind, BaseMultiLabelClassifier)
    return is_learner and not isabstract(kind)
