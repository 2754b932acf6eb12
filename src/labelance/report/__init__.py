"""Pictures and tables of what was computed elsewhere."""

from labelance.report._display_data import (
    LabelFrequencyDisplay,
    MinorityTypesDisplay,
    ResamplingDisplay,
    plot_before_after,
    save_before_after,
)
from labelance.report._display_decisions import BudgetDisplay, GuaranteeDisplay
from labelance.report._display_models import (
    CalibrationDisplay,
    CriticalDifferenceDisplay,
    MetricByRarityDisplay,
    ThresholdDisplay,
)
from labelance.report._figures import plot_critical_difference, plot_scores, plot_time_quality
from labelance.report._formats import write_report
from labelance.report._tables import paper_table2, study_tables

__all__ = [
    "BudgetDisplay",
    "CalibrationDisplay",
    "CriticalDifferenceDisplay",
    "GuaranteeDisplay",
    "LabelFrequencyDisplay",
    "MetricByRarityDisplay",
    "MinorityTypesDisplay",
    "ResamplingDisplay",
    "ThresholdDisplay",
    "paper_table2",
    "plot_before_after",
    "plot_critical_difference",
    "plot_scores",
    "plot_time_quality",
    "save_before_after",
    "study_tables",
    "write_report",
]
