"""Which way of fitting many problems is the fastest for an estimator? Decided once, here."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from labelance._validation import Schema
from labelance.learners._clones import CloneTrainer
from labelance.learners._models import Rows, Trainer
from labelance.learners._tree_models import TreeTrainer
from labelance.learners.tree import (
    C45Classifier,
    categories_of_features,
    nominal_columns,
    options_of,
    prepare_data,
)


def make_trainer(estimator: Any, rows: Rows, schema: Schema) -> Trainer:
    """Return the fastest trainer for an estimator (None: C4.5).

    Work that all problems share, such as sorting the columns for trees, is done here, once.
    """
    estimator = C45Classifier() if estimator is None else estimator
    if not isinstance(estimator, C45Classifier):
        return CloneTrainer(estimator, rows, clean=False)
    own = nominal_columns(estimator.categorical_features, rows.clean.shape[1], schema.names)
    counts = categories_of_features(rows.clean, own, estimator.n_categories, schema)
    if type(estimator) is C45Classifier and estimator.class_weight is None:
        data, names = prepare_data(rows.clean, counts), _string_names(schema)
        return TreeTrainer(data, estimator, options_of(estimator), names, schema)
    informed = clone(estimator).set_params(
        categorical_features=np.flatnonzero(counts), n_categories=counts[counts > 0]
    )
    return CloneTrainer(informed, rows, clean=True)


def _string_names(schema: Schema) -> tuple[str, ...] | None:
    """Return the names of the features if all are strings, as scikit-learn remembers them."""
    names = schema.names
    return names if names and all(isinstance(name, str) for name in names) else None
