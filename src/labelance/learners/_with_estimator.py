"""The base of learners that turn labels into problems for one estimator."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, StrOptions

from labelance._validation import CategoricalFeatures, Data
from labelance.learners._base import BaseMultiLabelClassifier
from labelance.learners._models import Rows, Trainer
from labelance.learners._trainer import make_trainer
from labelance.learners.tree import C45Classifier


class LearnerWithEstimator(BaseMultiLabelClassifier):
    """Base of learners with ``estimator``, ``categorical_features`` and ``n_jobs``."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
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
    ) -> None:
        self.estimator = estimator
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    def _trainer(self, data: Data, X: Any) -> Trainer:
        return make_trainer(self.estimator, Rows(data.X, X), self._schema)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(C45Classifier() if self.estimator is None else self.estimator)
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.input_tags.sparse = inner.input_tags.sparse
        return tags
