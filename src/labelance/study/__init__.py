"""Studies: samplers x learners x datasets, run once, kept for good, and judged soundly."""

from labelance.study._cells import Cell
from labelance.study._component import Component
from labelance.study._describe import describe_datasets
from labelance.study._design import DataSource, Learner, Method
from labelance.study._export import export_results
from labelance.study._forecast import Forecast, forecast_study
from labelance.study._merge import Merged, merge_results
from labelance.study._opened import StudyResults, import_results
from labelance.study._plan_file import list_presets, load_study
from labelance.study._probe import Probe, probe_study
from labelance.study._progress import TimeLeft
from labelance.study._run import Outcome, Tally, run_study
from labelance.study._store import Store
from labelance.study._study import Study
from labelance.study._toml import to_toml
from labelance.study._verify import Recomputed, Verification, verify_results

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
    "run_study",
    "to_toml",
    "verify_results",
]
