"""Learners for imbalanced multi-label data."""

from labelance.learners._base import (
    BaseMultiLabelClassifier,
    WeightedClassifier,
    all_learners,
    fit_inner,
    inner_scores,
    relevance,
)
from labelance.learners._binary_relevance import BinaryRelevance
from labelance.learners._calibration import (
    LabelCalibration,
    correct_prior,
    fit_maps,
    fit_sigmoids,
    fit_steps,
)
from labelance.learners._chains import ChainPlan, fit_clone_chains
from labelance.learners._clr import CalibratedLabelRanking
from labelance.learners._cocoa import COCOA, draw_couples, split_couples
from labelance.learners._ecc import ECC, cardinality_threshold
from labelance.learners._eccru import ECCRU, ECCRU2, ECCRU3, open_labels_by_chain, share_chains
from labelance.learners._irus import IRUS, split_inversely
from labelance.learners._label_powerset import LabelPowerset
from labelance.learners._mce import MCE
from labelance.learners._mlknn import MLkNN, count_neighbors, count_rows
from labelance.learners._objectives import (
    CostMatrix,
    Objective,
    PrecisionAtRecall,
    RecallAtPrecision,
)
from labelance.learners._out_of_sample import (
    CV_FOLDS,
    KnownScores,
    ScoreSource,
    has_bags,
    out_of_bag_scores,
    refuse_single_label_estimator,
)
from labelance.learners._per_label import PerLabel
from labelance.learners._rakel import RAkEL, draw_subsets
from labelance.learners._reduction import (
    CloneTrainer,
    Constant,
    Rows,
    Weights,
    split_labelsets,
    split_powerset,
    take_weights,
)
from labelance.learners._soshf import SOSHF
from labelance.learners._soshf_kernels import (
    Search,
    best_split,
    climb,
    hellinger,
    label_costs,
    scan,
    soft_hellinger,
    two_classes,
)
from labelance.learners._thresholds import (
    GRID,
    LabelThresholds,
    ThresholdSearch,
    TunedClassifier,
    Variant,
    best_thresholds,
    pooled_threshold,
    shrink_thresholds,
)
from labelance.learners.tree import C45Classifier

# What is not listed is for our own packages and tests: it takes clean data and checks nothing.
__all__ = [
    "COCOA",
    "ECC",
    "ECCRU",
    "ECCRU2",
    "ECCRU3",
    "IRUS",
    "MCE",
    "SOSHF",
    "BaseMultiLabelClassifier",
    "BinaryRelevance",
    "C45Classifier",
    "CalibratedLabelRanking",
    "LabelPowerset",
    "MLkNN",
    "PerLabel",
    "RAkEL",
    "all_learners",
]
