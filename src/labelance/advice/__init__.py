"""What learner suits one's own data, and what to do about imbalance, with a verdict in words."""

from labelance.advice._advise import Advice, advise
from labelance.advice._compare import CandidateResult, Design, Estimate
from labelance.advice._facts import DataFacts
from labelance.advice._learners import LearnerTrial

__all__ = [
    "Advice",
    "CandidateResult",
    "DataFacts",
    "Design",
    "Estimate",
    "LearnerTrial",
    "advise",
]
