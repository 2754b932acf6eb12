"""Ensembles: any sampler times any learner, with a threshold for every label."""

from labelance.ensemble._emls import EMLS
from labelance.ensemble._named import EMLSMOTE, EMLSOL, ERHwRSMT, MLSOLBagging
from labelance.ensemble._stacked_bagging import StackedBagging
from labelance.ensemble._training_sets import TrainingSet, draw_training_sets
from labelance.learners._calibration import LabelCalibration, correct_prior
from labelance.learners._objectives import CostMatrix, PrecisionAtRecall, RecallAtPrecision
from labelance.learners._thresholds import LabelThresholds

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
