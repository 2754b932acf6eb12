"""Ensembles: any sampler times any learner, with a threshold for every label."""

from labelance.ensemble._emls import EMLS
from labelance.ensemble._label_thresholds import LabelThresholds
from labelance.ensemble._named import EMLSMOTE, EMLSOL, ERHwRSMT

__all__ = ["EMLS", "EMLSMOTE", "EMLSOL", "ERHwRSMT", "LabelThresholds"]
