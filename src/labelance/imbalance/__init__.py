"""How imbalanced multi-label data are: measures, the local label distribution, and a profile."""

from labelance.imbalance._above_mean import (
    NO_MEAN,
    MeanRatio,
    exceeds,
    imr_against_mean,
    irlbl_against_mean,
    mean_ir_is_below,
    mean_ir_of_counts,
    ratio_against_mean,
)
from labelance.imbalance._diagnosis import (
    choose_rows,
    count_together,
    labelset_bands,
    measure_hubness,
    neighbor_votes,
    project,
)
from labelance.imbalance._labelsets import Labelsets, find_labelsets, labelsets
from labelance.imbalance._local import (
    LabelType,
    LocalDistribution,
    Variant,
    Weighting,
    find_local_distribution,
    local_distribution,
    minority_matrix,
    minority_values,
    types_by_count,
)
from labelance.imbalance._measures import (
    cardinality,
    cvir,
    density,
    find_irlbl,
    find_scumble,
    imr,
    irlbl,
    label_counts,
    leave_out_full,
    mean_imr,
    mean_ir,
    rarest_first,
    rarity_bands,
    scumble,
    scumble_cv,
    scumble_instances,
    scumble_labels,
    tcs,
)
from labelance.imbalance._profile import ImbalanceProfile, profile

# What is not listed is for our own packages: it takes clean labels and checks nothing.
__all__ = [
    "ImbalanceProfile",
    "LabelType",
    "Labelsets",
    "LocalDistribution",
    "cardinality",
    "cvir",
    "density",
    "imr",
    "irlbl",
    "label_counts",
    "labelsets",
    "local_distribution",
    "mean_imr",
    "mean_ir",
    "profile",
    "scumble",
    "scumble_cv",
    "scumble_instances",
    "scumble_labels",
    "tcs",
]
