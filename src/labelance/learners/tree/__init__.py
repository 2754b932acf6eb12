"""C4.5 trees: one by one as a classifier, or many at once over one X."""

from labelance.learners.tree._classes import C45Classifier, fit_many
from labelance.learners.tree._data import (
    Problems,
    TreeData,
    class_problems,
    label_problems,
    pair_problems,
    prepare_data,
    subset_problems,
)
from labelance.learners.tree._tree import Forest

__all__ = [
    "C45Classifier",
    "Forest",
    "Problems",
    "TreeData",
    "class_problems",
    "fit_many",
    "label_problems",
    "pair_problems",
    "prepare_data",
    "subset_problems",
]
