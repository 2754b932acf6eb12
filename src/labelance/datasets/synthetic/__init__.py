"""Synthetic multi-label data whose difficulty is known beforehand."""

from labelance.datasets.synthetic._figures import Figure2, make_figure1, make_figure2
from labelance.datasets.synthetic._generator import make_multilabel_imbalanced

__all__ = ["Figure2", "make_figure1", "make_figure2", "make_multilabel_imbalanced"]
