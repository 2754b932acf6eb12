"""Splits in which every label keeps its share: iterative stratification for scikit-learn."""

from labelance.model_selection._fold_sizes import part_weights, train_test_weights
from labelance.model_selection._local_search import (
    WORK,
    local_search,
    search_objective,
)
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
from labelance.model_selection._stratify import (
    assign,
    label_incidence,
    label_pairs,
)

# What is not listed is for our own packages and tests: it takes clean labels and checks nothing.
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
