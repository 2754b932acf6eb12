"""Learners for imbalanced multi-label data."""

from labelance._classifier import BaseMultiLabelClassifier
from labelance.learners._base import all_learners
from labelance.learners._binary_relevance import BinaryRelevance
from labelance.learners._clr import CalibratedLabelRanking
from labelance.learners._cocoa import COCOA
from labelance.learners._ecc import ECC
from labelance.learners._eccru import ECCRU, ECCRU2, ECCRU3
from labelance.learners._irus import IRUS
from labelance.learners._labelsets import LabelPowerset, RAkEL
from labelance.learners._mce import MCE
from labelance.learners._mlknn import MLkNN
from labelance.learners._per_label import PerLabel
from labelance.learners._soshf import SOSHF
from labelance.learners.tree import C45Classifier

__all__ = [
    "COCOA",
    "ECC",
    "ECCRU",
    "ECCRU2",
    "ECCRU3",
    "IRUS",
    "MCE",
    "SOSHF",
    "BaseMultiLabelClassifier",
    "BinaryRelevance",
    "C45Classifier",
    "CalibratedLabelRanking",
    "LabelPowerset",
    "MLkNN",
    "PerLabel",
    "RAkEL",
    "all_learners",
]
