"""Multi-label samplers: one file each, all on one base, one plan and many draws."""

from labelance.sampling._base import BaseMultiLabelSampler
from labelance.sampling._explain import Explanation
from labelance.sampling._function import FunctionSampler
from labelance.sampling._index_sampler import WeightedIndexSampler
from labelance.sampling._label_weights import label_weights, sample_weights
from labelance.sampling._list import all_samplers
from labelance.sampling._lpros import LPROS
from labelance.sampling._lprus import LPRUS
from labelance.sampling._mlenn import MLeNN
from labelance.sampling._mlrknnos import MLRkNNOS
from labelance.sampling._mlros import MLROS
from labelance.sampling._mlrus import MLRUS
from labelance.sampling._mlsmote import MLSMOTE
from labelance.sampling._mlsol import MLSOL
from labelance.sampling._mltl import MLTL
from labelance.sampling._mlul import MLUL
from labelance.sampling._plan import Resampled, ResamplingPlan
from labelance.sampling._remedial import REMEDIAL
from labelance.sampling._remedial_hwr import RemedialHwR, RHwHUS, RHwROS, RHwRSMT
from labelance.sampling._sequence import SamplerSequence
from labelance.sampling._traits import SamplerTraits

__all__ = [
    "LPROS",
    "LPRUS",
    "MLROS",
    "MLRUS",
    "MLSMOTE",
    "MLSOL",
    "MLTL",
    "MLUL",
    "REMEDIAL",
    "BaseMultiLabelSampler",
    "Explanation",
    "FunctionSampler",
    "MLRkNNOS",
    "MLeNN",
    "RHwHUS",
    "RHwROS",
    "RHwRSMT",
    "RemedialHwR",
    "Resampled",
    "ResamplingPlan",
    "SamplerSequence",
    "SamplerTraits",
    "WeightedIndexSampler",
    "all_samplers",
    "label_weights",
    "sample_weights",
]
