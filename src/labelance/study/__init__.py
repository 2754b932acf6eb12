"""Studies: samplers x learners x datasets, run once, kept for good, and judged soundly."""

from labelance.study._config import list_presets, load_study, study_of, to_toml
from labelance.study._data import (
    DatasetCache,
    FoldData,
    describe_datasets,
    load_source,
    open_dataset_cache,
)
from labelance.study._design import (
    Component,
    DataSource,
    Learner,
    Method,
    build_learner,
    prepare,
    search_of,
)
from labelance.study._evaluate import (
    TrainingSets,
    disagreement,
    evaluate_cells,
    family_stream,
    pack,
    unpack,
)
from labelance.study._export import Merged, export_results, merge_results
from labelance.study._forecast import (
    Forecast,
    TimeLeft,
    all_costs,
    forecast_study,
    measured_costs,
    models_to_fit,
    time_left,
)
from labelance.study._heartbeat import SILENCE, Heartbeat
from labelance.study._presets import PAPER_DATASETS
from labelance.study._results import (
    StudyResults,
    choose_study,
    import_results,
    read_label_results,
    read_results,
    studies_of,
)
from labelance.study._runner import StudyProgress, run_study
from labelance.study._store import Store, cell_of
from labelance.study._study import Cell, Fold, Study, group_by_fold, plan_of
from labelance.study._verify import Recomputed, Verification, verify_results
from labelance.study._worker import Worker, evaluate_in_worker

# What is imported but not listed is for our own packages and tests.
__all__ = [
    "Cell",
    "Component",
    "DataSource",
    "Forecast",
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
    "forecast_study",
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
