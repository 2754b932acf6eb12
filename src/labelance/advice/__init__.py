"""What to do about imbalance in one's own data: a small comparison, and a verdict in words."""

from labelance.advice._advise import Advice, advise
from labelance.advice._compare import (
    CANDIDATES,
    SAMPLERS,
    Design,
    Interval,
    Outcome,
    choose_by_rarity,
    choose_design,
    make_estimator,
    make_learner,
    paired_interval,
    simplest,
)
from labelance.advice._facts import DataFacts

# What is not listed is for our own packages and tests.
__all__ = ["Advice", "DataFacts", "Design", "Outcome", "advise"]
