"""Multi-label samplers: one file each, all on one base, one plan and many draws."""

from labelance.sampling._base import BaseMultiLabelSampler
from labelance.sampling._explain import Explanation
from labelance.sampling._list import all_samplers
from labelance.sampling._mlenn import MLeNN
from labelance.sampling._mlrknnos import MLRkNNOS
from labelance.sampling._mlros import MLROS
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
    "MLROS",
    "MLSMOTE",
    "MLSOL",
    "MLTL",
    "MLUL",
    "REMEDIAL",
    "BaseMultiLabelSampler",
    "Explanation",
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
    "all_samplers",
]
