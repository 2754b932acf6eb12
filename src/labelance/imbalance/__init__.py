"""How imbalanced multi-label data are: measures, the local label distribution, and a profile."""

from labelance.imbalance._local import LabelType, LocalDistribution, local_distribution
from labelance.imbalance._measures import (
    Labelsets,
    cardinality,
    cvir,
    density,
    imr,
    irlbl,
    label_counts,
    labelsets,
    mean_imr,
    mean_ir,
    scumble,
    scumble_cv,
    scumble_instances,
    scumble_labels,
    tcs,
)
from labelance.imbalance._profile import ImbalanceProfile, profile

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
