"""Ensembles: a good default for rare labels, and any sampler times any learner."""

from labelance.ensemble._emls import EMLS, EMLSMOTE, EMLSOL, ERHwRSMT
from labelance.ensemble._rare_label import RareLabelClassifier
from labelance.ensemble._stacked_bagging import MLSOLBagging, StackedBagging
from labelance.ensemble._training_sets import TrainingSet, draw_training_sets

__all__ = [
    "EMLS",
    "EMLSMOTE",
    "EMLSOL",
    "ERHwRSMT",
    "MLSOLBagging",
    "RareLabelClassifier",
    "StackedBagging",
    "TrainingSet",
    "draw_training_sets",
]
