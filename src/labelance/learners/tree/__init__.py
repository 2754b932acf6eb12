"""C4.5 trees: one by one as a classifier, or many at once over one X."""

from labelance.learners.tree._classes import C45Classifier, fit_many
from labelance.learners.tree._data import TreeData, prepare_data
from labelance.learners.tree._problems import (
    Problems,
    class_problems,
    label_problems,
    pair_problems,
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

# For the learners of this library only.
__all__ += [
    "C45Options",
    "Problem",
    "RowBlock",
    "Ties",
    "as_bits",
    "categories_of_features",
    "expand_problem",
    "grow_forest",
    "lay_out",
    "nominal_columns",
    "offsets",
    "options_of",
    "problem_per_known_label",
    "problem_per_label",
    "problem_per_pair",
]
