"""C4.5 trees: one by one as a classifier, or many at once over one X."""

from labelance.learners.tree._c45 import C45Classifier
from labelance.learners.tree._fit import fit_many
from labelance.learners.tree._forest import Forest
from labelance.learners.tree._problems import (
    Problems,
    class_problems,
    label_problems,
    pair_problems,
    subset_problems,
)
from labelance.learners.tree._table import TreeTable, prepare

__all__ = [
    "C45Classifier",
    "Forest",
    "Problems",
    "TreeTable",
    "class_problems",
    "fit_many",
    "label_problems",
    "pair_problems",
    "prepare",
    "subset_problems",
]
