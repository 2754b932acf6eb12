"""Measures of multi-label predictions and scores, with care for rare and empty labels."""

from labelance.metrics._auc import LabelAreas, label_areas, macro_auc_pr, macro_auc_roc
from labelance.metrics._calibration import (
    CalibrationBins,
    calibration_bins,
    macro_brier_loss,
    macro_calibration_error,
)
from labelance.metrics._classification import (
    example_f1,
    hamming_loss,
    macro_balanced_accuracy,
    macro_f1,
    macro_g_mean,
    micro_f1,
    subset_accuracy,
)
from labelance.metrics._ranking import (
    coverage_at_k,
    coverage_error,
    label_propensity,
    label_ranking_average_precision,
    macro_f1_at_k,
    macro_recall_at_k,
    ndcg_at_k,
    one_error,
    precision_at_k,
    propensity_scored_precision_at_k,
    ranking_loss,
)
from labelance.metrics._report import ImbalanceReport, imbalance_report
from labelance.metrics._scorers import (
    SCORERS,
    JointScorer,
    LabelScorer,
    get_joint_scorer,
    get_label_scorer,
    label_scores,
)

__all__ = [
    "SCORERS",
    "CalibrationBins",
    "ImbalanceReport",
    "JointScorer",
    "LabelAreas",
    "LabelScorer",
    "calibration_bins",
    "coverage_at_k",
    "coverage_error",
    "example_f1",
    "get_joint_scorer",
    "get_label_scorer",
    "hamming_loss",
    "imbalance_report",
    "label_areas",
    "label_propensity",
    "label_ranking_average_precision",
    "label_scores",
    "macro_auc_pr",
    "macro_auc_roc",
    "macro_balanced_accuracy",
    "macro_brier_loss",
    "macro_calibration_error",
    "macro_f1",
    "macro_f1_at_k",
    "macro_g_mean",
    "macro_recall_at_k",
    "micro_f1",
    "ndcg_at_k",
    "one_error",
    "precision_at_k",
    "propensity_scored_precision_at_k",
    "ranking_loss",
    "subset_accuracy",
]
