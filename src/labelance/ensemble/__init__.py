"""Ensembles: any sampler times any learner, with a threshold for every label."""

from labelance.ensemble._emls import EMLS, score_members, staged_scores
from labelance.ensemble._logistic import fit_logistic_regressions
from labelance.ensemble._named import EMLSMOTE, EMLSOL, ERHwRSMT, MLSOLBagging
from labelance.ensemble._stacked_bagging import StackedBagging
from labelance.ensemble._training_sets import (
    Source,
    TrainingSet,
    draw_training_sets,
    make_source,
    plans_for_all_bags,
)
from labelance.learners import (
    CostMatrix,
    LabelCalibration,
    LabelThresholds,
    PrecisionAtRecall,
    RecallAtPrecision,
    correct_prior,
)

# What is not listed is for our own packages: it trusts its data.
__all__ = [
    "EMLS",
    "EMLSMOTE",
    "EMLSOL",
    "CostMatrix",
    "ERHwRSMT",
    "LabelCalibration",
    "LabelThresholds",
    "MLSOLBagging",
    "PrecisionAtRecall",
    "RecallAtPrecision",
    "StackedBagging",
    "TrainingSet",
    "correct_prior",
    "draw_training_sets",
]
