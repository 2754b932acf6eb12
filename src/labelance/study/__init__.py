"""Studies: samplers x learners x datasets, run once, kept for good, and judged soundly."""

from labelance.study._config import extend_study, list_presets, load_study, to_toml
from labelance.study._data import describe_datasets
from labelance.study._design import Component, DataSource, Learner, Method
from labelance.study._results import (
    Merged,
    StudyResults,
    export_results,
    import_results,
    merge_results,
    read_label_results,
    read_results,
)
from labelance.study._runner import StudyProgress, run_study
from labelance.study._store import Store
from labelance.study._study import Cell, Study
from labelance.study._verify import Recomputed, Verification, verify_results

__all__ = [
    "Cell",
    "Component",
    "DataSource",
    "Learner",
    "Merged",
    "Method",
    "Recomputed",
    "Store",
    "Study",
    "StudyProgress",
    "StudyResults",
    "Verification",
    "describe_datasets",
    "export_results",
    "extend_study",
    "import_results",
    "list_presets",
    "load_study",
    "merge_results",
    "read_label_results",
    "read_results",
    "run_study",
    "to_toml",
    "verify_results",
]
