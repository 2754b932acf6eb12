"""Losses of torch for many labels: modules that know imbalance and unknown cells.

Needs torch, and so is imported by its own name only: ``from labelance.torch import FocalLoss``.
"""

from labelance.torch._losses import (
    AsymmetricLoss,
    DistributionBalancedLoss,
    FocalLoss,
    LogitAdjustedLoss,
    WeightedLoss,
)

__all__ = [
    "AsymmetricLoss",
    "DistributionBalancedLoss",
    "FocalLoss",
    "LogitAdjustedLoss",
    "WeightedLoss",
]
