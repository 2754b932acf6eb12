"""Splits in which every label keeps its share: iterative stratification for scikit-learn."""

from labelance.model_selection._quality import (
    examples_distribution,
    label_distribution,
    label_pair_distribution,
)
from labelance.model_selection._splitters import (
    IterativeStratifiedGroupKFold,
    IterativeStratifiedKFold,
    IterativeStratifiedShuffleSplit,
    RepeatedIterativeStratifiedKFold,
    multilabel_train_test_split,
)

__all__ = [
    "IterativeStratifiedGroupKFold",
    "IterativeStratifiedKFold",
    "IterativeStratifiedShuffleSplit",
    "RepeatedIterativeStratifiedKFold",
    "examples_distribution",
    "label_distribution",
    "label_pair_distribution",
    "multilabel_train_test_split",
]
