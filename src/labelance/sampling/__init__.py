"""Multi-label samplers: one file each, all on one base, one plan and many draws."""

from labelance.sampling._base import (
    BaseMultiLabelSampler,
    Draw,
    Recipe,
    Resampled,
    ResamplingPlan,
    SamplerTraits,
    all_samplers,
    check_recipe,
    warning_with_names,
)
from labelance.sampling._cleaning import MLTL, MLeNN, label_distances
from labelance.sampling._compose import FunctionSampler, SamplerSequence
from labelance.sampling._explain import MEAN_IR_ROSE, Explanation
from labelance.sampling._labelset_random import LPROS, LPRUS, labelset_bags, share_out
from labelance.sampling._loss_weights import (
    FocalParameters,
    distribution_balanced_weights,
    focal_parameters,
    logit_adjustment,
)
from labelance.sampling._lsdmlo import LSDMLO, feature_coefficients, nearer_labels, seed_weights
from labelance.sampling._mlbote import MLBOTE, Distances, find_border, find_noise
from labelance.sampling._mlrknnos import MLRkNNOS, NumericEncoder, RBFMachine
from labelance.sampling._mlsmote import MLSMOTE
from labelance.sampling._mlsol import MLSOL, THETA, assign_labels, positions
from labelance.sampling._mlul import MLUL, draw_rows_to_keep, influences, worth
from labelance.sampling._random import MLROS, MLRUS
from labelance.sampling._remedial import REMEDIAL, RemedialHwR, RHwHUS, RHwROS, RHwRSMT
from labelance.sampling._strategy import (
    bytes_per_row,
    every_label,
    minority_counts,
    resolve_strategy,
    rows_to_sample,
)
from labelance.sampling._uclso import UCLSO, cluster_rows
from labelance.sampling._weights import WeightedIndexSampler, label_weights, sample_weights

# What is not listed is for our own packages and tests: it takes clean values and checks nothing.
__all__ = [
    "LPROS",
    "LPRUS",
    "LSDMLO",
    "MLBOTE",
    "MLROS",
    "MLRUS",
    "MLSMOTE",
    "MLSOL",
    "MLTL",
    "MLUL",
    "REMEDIAL",
    "UCLSO",
    "BaseMultiLabelSampler",
    "Draw",
    "Explanation",
    "FocalParameters",
    "FunctionSampler",
    "MLRkNNOS",
    "MLeNN",
    "RHwHUS",
    "RHwROS",
    "RHwRSMT",
    "Recipe",
    "RemedialHwR",
    "Resampled",
    "ResamplingPlan",
    "SamplerSequence",
    "SamplerTraits",
    "WeightedIndexSampler",
    "all_samplers",
    "distribution_balanced_weights",
    "focal_parameters",
    "label_weights",
    "logit_adjustment",
    "sample_weights",
]
