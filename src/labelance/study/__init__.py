"""Studies: samplers x learners x datasets, run once, kept for good, and judged soundly."""

from labelance.study._component import Component
from labelance.study._config import list_presets, load_study, plan_of, study_of, to_toml
from labelance.study._data import describe_datasets
from labelance.study._design import Cell, DataSource, Learner, Method
from labelance.study._export import Merged, export_results, merge_results
from labelance.study._forecast import Forecast, Probe, TimeLeft, forecast_study, probe_study
from labelance.study._presets import PAPER_DATASETS
from labelance.study._results import StudyResults, import_results, read_results
from labelance.study._runner import Outcome, Tally, run_study
from labelance.study._store import Store
from labelance.study._study import Study
from labelance.study._verify import Recomputed, Verification, verify_results

# What is imported but not listed is for our own packages and tests.
__all__ = [
    "Cell",
    "Component",
    "DataSource",
    "Forecast",
    "Learner",
    "Merged",
    "Method",
    "Outcome",
    "Probe",
    "Recomputed",
    "Store",
    "Study",
    "StudyResults",
    "Tally",
    "TimeLeft",
    "Verification",
    "describe_datasets",
    "export_results",
    "forecast_study",
    "import_results",
    "list_presets",
    "load_study",
    "merge_results",
    "probe_study",
    "read_results",
    "run_study",
    "to_toml",
    "verify_results",
]
