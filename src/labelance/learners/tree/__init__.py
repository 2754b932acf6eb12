"""C4.5 trees: one by one as a classifier, or many at once over one X."""

from labelance.learners.tree._classes import C45Classifier, fit_many, grow_forest, options_of
from labelance.learners.tree._criterion import C45Options
from labelance.learners.tree._data import (
    NO_RANK,
    ONE_BIT,
    ROW,
    TreeData,
    categories_of_features,
    nominal_columns,
    offsets,
    popcount,
    prepare_data,
)
from labelance.learners.tree._problems import (
    Problem,
    Problems,
    class_problems,
    expand_problem,
    label_problems,
    pair_problems,
    problem_per_known_label,
    problem_per_label,
    problem_per_pair,
    subset_problems,
)
from labelance.learners.tree._tree import Forest, Ties, as_bits, lay_out
from labelance.learners.tree._voting import RowBlock, add_to_rows, partition_rows, set_all

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
    "NO_RANK",
    "ONE_BIT",
    "ROW",
    "C45Options",
    "Problem",
    "RowBlock",
    "Ties",
    "add_to_rows",
    "as_bits",
    "categories_of_features",
    "expand_problem",
    "grow_forest",
    "lay_out",
    "nominal_columns",
    "offsets",
    "options_of",
    "partition_rows",
    "popcount",
    "problem_per_known_label",
    "problem_per_label",
    "problem_per_pair",
    "set_all",
]
