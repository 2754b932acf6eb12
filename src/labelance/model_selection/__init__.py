"""Splits in which every label keeps its share: iterative stratification for scikit-learn."""

# For the tests of other places: the pieces that splitters are made of.
from labelance.model_selection._fold_sizes import part_weights, train_test_weights  # noqa: F401
from labelance.model_selection._local_search import (  # noqa: F401
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
)
from labelance.model_selection._stratify import (  # noqa: F401
    assign,
    label_incidence,
    label_pairs,
)
from labelance.model_selection._train_test import multilabel_train_test_split

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
