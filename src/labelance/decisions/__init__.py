"""Decisions: thresholds, guarantees, budgets, calibrated probabilities, corrected priors."""

from labelance.decisions._budget import (
    BudgetClassifier,
    BudgetDecisions,
    BudgetRule,
    decide_within_budget,
    find_budget_rule,
)
from labelance.decisions._calibration import (
    Calibration,
    LabelCalibration,
    correct_prior,
    find_calibration,
)
from labelance.decisions._expected import bayes_threshold, maximize_expected_f
from labelance.decisions._guarantee import (
    Guarantees,
    RecallGuarantee,
    guarantee_precision,
    guarantee_recall,
    limit_alarms,
    positives_needed,
)
from labelance.decisions._objectives import CostMatrix, FBeta, PrecisionAtRecall, RecallAtPrecision
from labelance.decisions._search import find_thresholds
from labelance.decisions._table import Thresholds
from labelance.decisions._thresholds import LabelThresholds

__all__ = [
    "BudgetClassifier",
    "BudgetDecisions",
    "BudgetRule",
    "Calibration",
    "CostMatrix",
    "FBeta",
    "Guarantees",
    "LabelCalibration",
    "LabelThresholds",
    "PrecisionAtRecall",
    "RecallAtPrecision",
    "RecallGuarantee",
    "Thresholds",
    "bayes_threshold",
    "correct_prior",
    "decide_within_budget",
    "find_budget_rule",
    "find_calibration",
    "find_thresholds",
    "guarantee_precision",
    "guarantee_recall",
    "limit_alarms",
    "maximize_expected_f",
    "positives_needed",
]
