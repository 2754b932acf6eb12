"""How imbalanced multi-label data are: measures, the local label distribution, and a profile."""

from labelance.imbalance._labelsets import Labelsets, labelsets
from labelance.imbalance._local import LocalDistribution, local_distribution
from labelance.imbalance._measures import (
    cardinality,
    cvir,
    density,
    imr,
    irlbl,
    label_counts,
    mean_imr,
    mean_ir,
    tcs,
)
from labelance.imbalance._profile import ImbalanceProfile, profile
from labelance.imbalance._scumble import (
    scumble,
    scumble_cv,
    scumble_instances,
    scumble_labels,
)
from labelance.imbalance._types import LabelType

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
