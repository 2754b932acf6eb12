"""Learners for imbalanced data."""

from labelance.learners.tree import C45Classifier

__all__ = ["C45Classifier"]
