"""Decisions: thresholds, guarantees, calibrated probabilities, corrected priors."""

from labelance.decisions._calibration import LabelCalibration
from labelance.decisions._guarantee import (
    Guarantees,
    guarantee_precision,
    guarantee_recall,
    limit_alarms,
    positives_needed,
)
from labelance.decisions._objectives import (
    CostMatrix,
    FBeta,
    PrecisionAtRecall,
    RecallAtPrecision,
)
from labelance.decisions._prior import correct_prior
from labelance.decisions._result import Thresholds
from labelance.decisions._search import find_thresholds
from labelance.decisions._thresholds import LabelThresholds

__all__ = [
    "CostMatrix",
    "FBeta",
    "Guarantees",
    "LabelCalibration",
    "LabelThresholds",
    "PrecisionAtRecall",
    "RecallAtPrecision",
    "Thresholds",
    "correct_prior",
    "find_thresholds",
    "guarantee_precision",
    "guarantee_recall",
    "limit_alarms",
    "positives_needed",
]
