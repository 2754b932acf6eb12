"""Ensembles: any sampler times any learner, with a threshold for every label."""

from labelance.ensemble._emls import EMLS, EMLSMOTE, EMLSOL, ERHwRSMT, staged_mean
from labelance.ensemble._label_thresholds import LabelThresholds
from labelance.ensemble._training_sets import Source, TrainingSet, draw_training_sets, make_source

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
