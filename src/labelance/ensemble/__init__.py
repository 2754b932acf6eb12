"""Ensembles: any sampler times any learner, with a threshold for every label."""

from labelance.ensemble._emls import EMLS, EMLSMOTE, EMLSOL, ERHwRSMT, staged_scores
from labelance.ensemble._training_sets import Source, TrainingSet, draw_training_sets, make_source
from labelance.learners import LabelThresholds

# What is not listed is for our own packages: it trusts its data.
__all__ = [
    "EMLS",
    "EMLSMOTE",
    "EMLSOL",
    "ERHwRSMT",
    "LabelThresholds",
    "TrainingSet",
    "draw_training_sets",
]
