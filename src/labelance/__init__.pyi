"""The names of labelance: for type checkers, and read by ``__init__.py``, one in a line."""

from labelance import advice as advice
from labelance import annotation as annotation
from labelance import datasets as datasets
from labelance import decisions as decisions
from labelance import ensemble as ensemble
from labelance import exceptions as exceptions
from labelance import imbalance as imbalance
from labelance import learners as learners
from labelance import metrics as metrics
from labelance import model_selection as model_selection
from labelance import neighbors as neighbors
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

__version__: str
__all__: list[str]

def __dir__() -> list[str]: ...
