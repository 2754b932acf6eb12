"""Imbalanced multi-label learning: the missing half of imbalanced-learn."""

__version__ = "0.1.0"
