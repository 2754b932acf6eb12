"""Multi-label samplers: one file each, all on one base, one plan and many draws."""

from labelance.sampling._base import (
    BaseMultiLabelSampler,
    Draw,
    ResamplingPlan,
    SamplerTraits,
    all_samplers,
)
from labelance.sampling._cleaning import MLTL, MLeNN
from labelance.sampling._compose import FunctionSampler, SamplerSequence
from labelance.sampling._explain import Explanation
from labelance.sampling._lsdmlo import LSDMLO
from labelance.sampling._mlbote import MLBOTE
from labelance.sampling._mlsmote import MLSMOTE
from labelance.sampling._mlsol import MLSOL, MLUL
from labelance.sampling._per_label import UCLSO, MLRkNNOS
from labelance.sampling._random import LPROS, LPRUS, MLROS, MLRUS
from labelance.sampling._remedial import REMEDIAL, RemedialHwR, RHwHUS, RHwROS, RHwRSMT
from labelance.sampling._weights import (
    FocalParameters,
    RareLabelBatchSampler,
    WeightedIndexSampler,
    distribution_balanced_weights,
    focal_parameters,
    label_weights,
    logit_adjustment,
    sample_weights,
)

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
    "RareLabelBatchSampler",
    "RemedialHwR",
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
