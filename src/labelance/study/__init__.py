"""Studies: samplers x learners x datasets, run once, kept for good, and judged soundly."""

from labelance.study._cells import Cell
from labelance.study._component import Component
from labelance.study._design import DataSource, Learner, Method
from labelance.study._plan_file import load_study
from labelance.study._run import Outcome, Tally, run_study
from labelance.study._store import Store
from labelance.study._study import Study

__all__ = [
    "Cell",
    "Component",
    "DataSource",
    "Learner",
    "Method",
    "Outcome",
    "Store",
    "Study",
    "Tally",
    "load_study",
    "run_study",
]
