"""Imbalanced multi-label learning: the missing half of imbalanced-learn.

This page is the table of contents. A package is imported when its name is first used, so that
``import labelance`` itself is quick and touches neither numba nor any optional package.

Examples
--------
>>> import labelance
>>> "MLSOL" in dir(labelance)
True
"""

from importlib import import_module

# As in typing, which is not imported: a command cannot take Ctrl-C before this page is read.
TYPE_CHECKING = False

__version__ = "0.1.0"

if TYPE_CHECKING:
    from labelance import advice as advice
    from labelance import datasets as datasets
    from labelance import decisions as decisions
    from labelance import ensemble as ensemble
    from labelance import exceptions as exceptions
    from labelance import imbalance as imbalance
    from labelance import learners as learners
    from labelance import metrics as metrics
    from labelance import model_selection as model_selection
    from labelance import neighbors as neighbors
    from labelance import outofcore as outofcore
    from labelance import play as play
    from labelance import report as report
    from labelance import sampling as sampling
    from labelance import study as study
    from labelance import testing as testing
    from labelance._versions import show_versions as show_versions
    from labelance.advice import advise as advise
    from labelance.decisions import BudgetClassifier as BudgetClassifier
    from labelance.decisions import LabelCalibration as LabelCalibration
    from labelance.decisions import LabelThresholds as LabelThresholds
    from labelance.decisions import RecallGuarantee as RecallGuarantee
    from labelance.ensemble import EMLS as EMLS
    from labelance.ensemble import EMLSMOTE as EMLSMOTE
    from labelance.ensemble import EMLSOL as EMLSOL
    from labelance.ensemble import ERHwRSMT as ERHwRSMT
    from labelance.ensemble import MLSOLBagging as MLSOLBagging
    from labelance.ensemble import RareLabelClassifier as RareLabelClassifier
    from labelance.ensemble import StackedBagging as StackedBagging
    from labelance.imbalance import profile as profile
    from labelance.sampling import LPROS as LPROS
    from labelance.sampling import LPRUS as LPRUS
    from labelance.sampling import LSDMLO as LSDMLO
    from labelance.sampling import MLBOTE as MLBOTE
    from labelance.sampling import MLROS as MLROS
    from labelance.sampling import MLRUS as MLRUS
    from labelance.sampling import MLSMOTE as MLSMOTE
    from labelance.sampling import MLSOL as MLSOL
    from labelance.sampling import MLTL as MLTL
    from labelance.sampling import MLUL as MLUL
    from labelance.sampling import REMEDIAL as REMEDIAL
    from labelance.sampling import UCLSO as UCLSO
    from labelance.sampling import FunctionSampler as FunctionSampler
    from labelance.sampling import MLeNN as MLeNN
    from labelance.sampling import MLRkNNOS as MLRkNNOS
    from labelance.sampling import RemedialHwR as RemedialHwR
    from labelance.sampling import RHwHUS as RHwHUS
    from labelance.sampling import RHwROS as RHwROS
    from labelance.sampling import RHwRSMT as RHwRSMT
    from labelance.sampling import SamplerSequence as SamplerSequence

_PACKAGES = (
    "advice",
    "datasets",
    "decisions",
    "ensemble",
    "exceptions",
    "imbalance",
    "learners",
    "metrics",
    "model_selection",
    "neighbors",
    "outofcore",
    "play",
    "report",
    "sampling",
    "study",
    "testing",
)

_SAMPLERS = (
    "FunctionSampler",
    "LPROS",
    "LPRUS",
    "LSDMLO",
    "MLBOTE",
    "MLROS",
    "MLRUS",
    "MLRkNNOS",
    "MLSMOTE",
    "MLSOL",
    "MLTL",
    "MLUL",
    "MLeNN",
    "REMEDIAL",
    "RHwHUS",
    "RHwROS",
    "RHwRSMT",
    "RemedialHwR",
    "SamplerSequence",
    "UCLSO",
)

# Names that a user meets first, and the package each lives in.
_NAMES = {
    "BudgetClassifier": "labelance.decisions",
    "EMLS": "labelance.ensemble",
    "EMLSMOTE": "labelance.ensemble",
    "EMLSOL": "labelance.ensemble",
    "ERHwRSMT": "labelance.ensemble",
    "LabelCalibration": "labelance.decisions",
    "LabelThresholds": "labelance.decisions",
    "MLSOLBagging": "labelance.ensemble",
    "RareLabelClassifier": "labelance.ensemble",
    "RecallGuarantee": "labelance.decisions",
    "StackedBagging": "labelance.ensemble",
    **dict.fromkeys(_SAMPLERS, "labelance.sampling"),
    "advise": "labelance.advice",
    "profile": "labelance.imbalance",
    "show_versions": "labelance._versions",
}

__all__ = ["__version__", *_NAMES, *_PACKAGES]


# Hidden from type checkers, for which it would make every misspelt name look right.
if not TYPE_CHECKING:

    def __getattr__(name):
        if name in _PACKAGES:
            return import_module(f"labelance.{name}")
        if name in _NAMES:
            # Kept in the module, so that the second look-up is an ordinary one.
            value = globals()[name] = getattr(import_module(_NAMES[name]), name)
            return value
        raise AttributeError(f"module 'labelance' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
