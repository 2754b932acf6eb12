"""What to do about imbalance in one's own data: a small comparison, and a verdict in words."""

from labelance.advice._advise import Advice, advise
from labelance.advice._compare import CandidateResult, Design
from labelance.advice._facts import DataFacts

__all__ = ["Advice", "CandidateResult", "DataFacts", "Design", "advise"]
