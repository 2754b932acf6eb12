"""What to do about imbalance in one's own data: a small comparison, and a verdict in words."""

from labelance.advice._advise import Advice, advise
from labelance.advice._compare import Design, Outcome
from labelance.advice._facts import DataFacts

__all__ = ["Advice", "DataFacts", "Design", "Outcome", "advise"]
