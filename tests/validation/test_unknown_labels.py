"""The law of unknown labels: a class or function works on known cells only, or refuses by name."""

import inspect
import re
import warnings
from functools import partial
from importlib import import_module
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from labelance import decisions, imbalance
from labelance.ensemble import StackedBagging
from labelance.exceptions import (
    LabelanceError,
    LabelanceWarning,
    LabelFormatError,
    UnknownLabelsError,
)
from labelance.learners import BinaryRelevance
from labelance.model_selection import multilabel_train_test_split
from labelance.neighbors import find_neighbors
from labelance.sampling import LPROS, MLROS, MLSMOTE, MLSOL, label_weights
from labelance.testing import sampler_data

pytestmark = pytest.mark.usefixtures("few_steps")
PACKAGES = (
    "advice", "annotation", "datasets", "decisions", "ensemble", "imbalance", "learners", "metrics",
    "model_selection", "play", "report", "sampling",
)  # fmt: skip
LABELS = {"y", "Y", "y_true", "y_train"}

# Work on known cells only. All other names refuse unknown cells.
USES_BY_PACKAGE = {
    "annotation": "suspect_labels",
    "decisions": """
        BudgetClassifier LabelCalibration LabelThresholds RecallGuarantee find_budget_rule
        find_calibration find_thresholds guarantee_recall
    """,
    "ensemble": """
        EMLS EMLSMOTE EMLSOL ERHwRSMT MLSOLBagging RareLabelClassifier StackedBagging
        draw_training_sets
    """,
    "imbalance": """
        cvir density imr irlbl label_counts local_distribution mean_imr mean_ir profile
    """,
    "learners": """
        BinaryRelevance COCOA CalibratedLabelRanking ECC ECCRU ECCRU2 ECCRU3 IRUS MCE MLkNN PerLabel
        RAkEL
    """,
    "metrics": """
        calibration_bins example_f1 hamming_loss imbalance_report label_areas macro_auc_pr
        macro_auc_roc macro_balanced_accuracy macro_brier_loss macro_calibration_error macro_f1
        macro_g_mean micro_f1
    """,
    "model_selection": """
        IterativeStratifiedGroupKFold IterativeStratifiedKFold IterativeStratifiedShuffleSplit
        RepeatedIterativeStratifiedKFold label_distribution
    """,
    "report": """
        CalibrationDisplay LabelFrequencyDisplay MetricByRarityDisplay MinorityTypesDisplay
        ThresholdDisplay
    """,
    "sampling": """
        FunctionSampler MLROS MLRUS MLSMOTE MLSOL MLTL MLUL MLeNN REMEDIAL RHwHUS RHwROS RHwRSMT
        RareLabelBatchSampler RemedialHwR SamplerSequence focal_parameters label_weights
        logit_adjustment sample_weights
    """,
}
USES = {f"{package}.{name}" for package, names in USES_BY_PACKAGE.items() for name in names.split()}

# Not called with labels as data: values that others make, classes to derive from, other kinds of y.
NO_LABELS = {
    "advice.advise": "looks at the clock; see tests/advice",
    "datasets.MultiClassReduction": "takes targets of several classes",
    "datasets.MultiLabelDataset": "holds a file's labels; see tests/datasets",
    "datasets.drop_rare_labels": "counts ones; see tests/datasets",
    "decisions.BudgetDecisions": "is a result",
    "learners.BaseMultiLabelClassifier": "is a base class",
    "learners.C45Classifier": "learns one target",
    "metrics.JointScorer": "calls metrics",
    "metrics.LabelScorer": "calls metrics",
    "play.Scene": "is a result",
    "play.Synthetic": "is a result",
    "play.explore": "starts a server",
    "sampling.BaseMultiLabelSampler": "is a base class",
    "sampling.Draw": "is a result",
}

# Unknown may well look like absent, or like both, to these.
SAME_AS_FILLED = {
    "imbalance.label_counts": "counts ones",
    "imbalance.irlbl": "compares counts of ones",
    "imbalance.mean_ir": "compares counts of ones",
    "imbalance.cvir": "compares counts of ones",
    "report.LabelFrequencyDisplay": "counts ones",
    "sampling.RareLabelBatchSampler": "draws rows that have a label",
}


def takes_labels(thing):
    """Say whether a public class or function takes labels, in one of its public methods."""
    calls = [thing]
    if inspect.isclass(thing):
        calls = [m for n, m in inspect.getmembers(thing, callable) if not n.startswith("_")]
        calls += [thing.__init__, *([thing.__call__] if "__call__" in vars(thing) else [])]
    for call in calls:
        try:
            if LABELS & set(inspect.signature(call).parameters):
                return True
        except (TypeError, ValueError):  # built-in
            continue
    return False


def all_names():
    for package in PACKAGES:
        module = import_module(f"labelance.{package}")
        for name in module.__all__:
            thing = getattr(module, name)
            if callable(thing) and takes_labels(thing):
                yield f"{package}.{name}"


NAMES = sorted(set(all_names()) - NO_LABELS.keys())


def keep_most(X, y):
    """A function for FunctionSampler."""
    return X[3:], y[3:]


MAKE = {
    "BudgetClassifier": lambda new: new(BinaryRelevance(), per_row=2),
    "EMLSMOTE": lambda new: new(BinaryRelevance()),
    "EMLSOL": lambda new: new(BinaryRelevance()),
    "ERHwRSMT": lambda new: new(BinaryRelevance()),
    "FunctionSampler": lambda new: new(keep_most),
    "MLSOLBagging": lambda new: new(BinaryRelevance()),
    "LabelCalibration": lambda new: new(BinaryRelevance(), min_class_count=3),
    "RecallGuarantee": lambda new: new(BinaryRelevance(), recall=0.7, too_few="always"),
    "SamplerSequence": lambda new: new([MLROS(), MLSOL()]),
    "SOSHF": lambda new: new(3),
}
OPTIONS = {
    "find_budget_rule": {"per_row": 2},
    "guarantee_recall": {"recall": 0.5, "too_few": "always"},
    "guarantee_precision": {"precision": 0.5},
    "RareLabelBatchSampler": {"batch_size": 8},
    "suspect_labels": {"label_names": range(5)},
}


def make(kind):
    """Return an estimator; those around others have BinaryRelevance, those with a sampler MLROS."""
    around = "estimator" in inspect.signature(kind).parameters
    if kind.__name__ in MAKE:
        made = MAKE[kind.__name__](kind)
    elif not kind.__module__.startswith("labelance.learners") and around:
        sampler = {"sampler": MLROS()} if "sampler" in inspect.signature(kind).parameters else {}
        made = kind(BinaryRelevance(), **sampler)
    else:
        made = kind()
    few = {"random_state": 0, "n_estimators": 3}
    return made.set_params(**{name: few[name] for name in few if name in made.get_params()})


def call(name, X, y, scores):
    """Return what a class or function makes of labels, as arrays."""
    package, _, name = name.rpartition(".")
    thing = getattr(import_module(f"labelance.{package}"), name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelanceWarning)
        return _call(thing, X, y, scores)


def _call(thing, X, y, scores):
    if hasattr(thing, "fit_resample"):
        return make(thing).fit_resample(X, y)
    if hasattr(thing, "get_params"):
        model = make(thing).fit(X, y)
        return model.predict_proba(X), model.predict(X)
    if hasattr(thing, "split"):
        return list(thing(random_state=0).split(X, y, *(_groups(thing, X))))
    for way in ("from_predictions", "from_data"):
        if hasattr(thing, way):
            display = _call_function(getattr(thing, way), X, y, scores)
            plt.close(display.figure_)
            return getattr(display, "bins", display)
    found = _call_function(thing, X, y, scores)
    return found.predict_proba(scores) if thing is decisions.find_calibration else found


def _groups(thing, X):
    return [np.arange(len(X)) // 2] if "Group" in thing.__name__ else []


def _call_function(function, X, y, scores):
    known = {
        "X": X, "y": y, "X_resampled": X, "y_resampled": y, "y_true": y, "y_train": y,
        "y_score": scores, "y_proba": scores,
        "y_pred": (scores > 0.5).astype(int), "k": 2, "sampler": MLROS(random_state=0),
        "folds": np.arange(len(X)) % 3, "neighborhood": find_neighbors(X, 5),
        "random_state": 0, "time_budget": 1,
    }  # fmt: skip
    parameters = inspect.signature(function).parameters.values()
    options = OPTIONS.get(function.__name__, {})
    optional = {"random_state", "time_budget", "sampler"}
    given = {
        p.name: known[p.name]
        for p in parameters
        if p.name in known and (p.default is p.empty or p.name in optional)
    }
    return function(**given, **options)


def arrays_of(result):
    """Return all numbers in a result, in order."""
    if isinstance(result, (list, tuple)) and not hasattr(result, "_fields"):
        return [a for part in result for a in arrays_of(part)]
    if hasattr(result, "toarray"):
        return [result.toarray()]
    if hasattr(result, "left_out"):  # a training set
        return arrays_of([result.X, result.y])
    if hasattr(result, "select_dtypes"):
        result = result.select_dtypes("number")
    if hasattr(result, "to_numpy"):
        return [result.to_numpy(dtype=float, na_value=np.nan)]
    if isinstance(result, (int, float, np.ndarray, np.generic)):
        return [np.asarray(result, dtype=float)]
    parts = getattr(result, "_asdict", None) or (lambda: vars(result))
    numbers = {k: v for k, v in parts().items() if isinstance(v, (float, np.ndarray))}
    return [np.asarray(v, dtype=float) for v in numbers.values() if np.asarray(v).dtype.kind != "U"]


def equal(one, other):
    return len(one) == len(other) and all(map(partial(np.array_equal, equal_nan=True), one, other))


@pytest.fixture(scope="module")
def data():
    """Rows, labels, a mask of cells to hide, and scores that know the labels a little."""
    X, y = sampler_data(n=90)
    rng = np.random.default_rng(3)
    scores = np.clip(0.3 * y + 0.6 * rng.random(y.shape), 0, 1)
    hidden = rng.random(y.shape) < 0.25
    return np.asarray(X, dtype=float), np.asarray(y, dtype=int), hidden, scores


def nullable(y, hidden):
    """Return a frame of nullable integers, which keeps values under its mask."""
    columns = {
        f"l{j}": pd.arrays.IntegerArray(y[:, j].copy(), hidden[:, j].copy())
        for j in range(y.shape[1])
    }
    return pd.DataFrame(columns)


# Handed y under another name, or within a dataset, so that `takes_labels` does not see it.
HIDDEN_LABELS = {
    "datasets.apply_protocol": "tests/datasets/test_protocol.py",
    "datasets.write_multilabel": "tests/datasets/test_unknown_labels.py",
    "model_selection.multilabel_train_test_split": "below",
}


@pytest.mark.slow
def test_train_test_split_spreads_known_cells(data):
    X, y, hidden, _ = data
    holes, rows = np.where(hidden, np.nan, y), np.arange(len(X))
    train, test, *_ = multilabel_train_test_split(rows, holes, random_state=0)
    flipped = nullable(np.where(hidden, 1 - y, y), hidden)
    again, other, _, part = multilabel_train_test_split(rows, flipped, random_state=0)
    assert_array_equal(train, again)
    assert_array_equal(test, other)
    assert_array_equal(part.isna(), hidden[test])
    # Some fill must change the rows, or the holes were not seen.
    filled = multilabel_train_test_split(rows, y, random_state=0)[1]
    assert not np.array_equal(test, filled)


def test_the_guide_tells_of_every_name():
    page = (Path(__file__).parents[2] / "docs/user_guide/targets.md").read_text("utf-8")
    told = set(re.findall(r"\w+", " ".join(re.findall(r"`[^`]*`", page))))
    assert not {name.rpartition(".")[2] for name in NAMES} - told


def test_every_name_is_listed():
    known = {f"{p}.{n}" for p in PACKAGES for n in import_module(f"labelance.{p}").__all__}
    assert USES | NO_LABELS.keys() | SAME_AS_FILLED.keys() | HIDDEN_LABELS.keys() <= known
    assert USES <= set(NAMES)


@pytest.mark.parametrize("name", sorted(set(NAMES) - USES))
def test_unknown_cells_are_refused_by_name(name, data):
    X, y, hidden, scores = data
    holes = np.where(hidden, np.nan, y)
    with pytest.raises(UnknownLabelsError) as caught:
        call(name, X, holes, scores)
    assert name.rpartition(".")[2] in caught.value.problem
    assert " since " in caught.value.problem
    assert f"{hidden.sum()} unknown cells" in caught.value.found


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(USES))
def test_only_known_cells_count(name, data):
    """One test, as its laws compare the same few results."""
    X, y, hidden, scores = data

    def found(labels):
        return arrays_of(call(name, X, labels, scores))

    with_holes, absent = found(np.where(hidden, np.nan, y)), found(np.where(hidden, 0, y))
    assert with_holes
    # The container does not matter, nor do the values under the mask of a nullable frame.
    assert equal(with_holes, found(nullable(y, hidden)))
    assert equal(with_holes, found(nullable(np.where(hidden, 1 - y, y), hidden)))
    # With nothing unknown, labels that could be unknown are as whole numbers.
    full = np.zeros_like(hidden)
    assert equal(absent, found(nullable(np.where(hidden, 0, y), full)))
    if name not in SAME_AS_FILLED:  # unknown is neither absent nor present
        assert not equal(with_holes, absent)
        assert not equal(with_holes, found(np.where(hidden, 1, y)))


@pytest.mark.slow
def test_out_of_bag_scores_of_a_pipeline_know_which_rows_are_known():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 4)), (rng.random((200, 2)) < 0.4).astype(float)  # pure noise
    y[::2, 0] = np.nan
    forest = RandomForestClassifier(30, bootstrap=True, random_state=0)
    plain = BinaryRelevance(forest)
    found = [
        decisions.LabelThresholds(model, tune_on="oob").fit(X, y).thresholds_
        for model in (plain, make_pipeline(FunctionTransformer(), plain))
    ]
    assert_array_equal(*found)


def test_a_profile_counts_unknown_cells_and_measures_the_others(data):
    X, y, hidden, _ = data
    found = imbalance.profile(X, np.where(hidden, np.nan, y))
    assert_array_equal(found.n_unknown, hidden.sum(axis=0))
    assert_array_equal(found.to_frame()["unknown"], hidden.sum(axis=0))
    for j in range(y.shape[1]):  # a label alone, in the rows in which it is known
        one = imbalance.profile(None, y[~hidden[:, j]][:, [j]])
        assert one.label_counts[0] == found.label_counts[j]
        assert_array_equal(one.imr[0], found.imr[j])
    whole = found.cardinality, found.n_labelsets, found.scumble, found.scumble_cv, found.tcs
    assert np.isnan(whole).all()
    assert found.to_dict()["n_labelsets"] is None
    assert "unknown" in str(found)
    assert "nan" not in str(found)
    assert f"{hidden.sum()} unknown cells" in found._repr_html_()
    assert "unknown" not in imbalance.profile(X, y).to_frame()


def test_an_explanation_counts_known_ones(data):
    X, y, hidden, _ = data
    holes = np.where(hidden, np.nan, y)
    told = MLSMOTE(random_state=0).explain(X, holes)
    after = MLSMOTE(random_state=0).fit_resample(X, holes)[1]
    assert_array_equal(told.gained, np.nansum(after[len(y) :], axis=0))
    assert_array_equal(told.after.n_unknown, np.isnan(after).sum(axis=0))
    assert "nan" not in str(told)
    with pytest.raises(UnknownLabelsError, match="explain"):
        LPROS().explain(X, holes)


@pytest.mark.parametrize("kind", ["balanced", "effective", "positive"])
def test_weights_of_a_label_are_those_of_its_known_rows(kind, data):
    _, y, hidden, _ = data
    found = label_weights(np.where(hidden, np.nan, y), kind=kind)
    for j in range(y.shape[1]):
        alone = label_weights(y[~hidden[:, j]][:, [j]], kind=kind)
        assert_array_equal(found[j], alone[0])


@pytest.mark.slow
def test_members_that_know_nothing_of_a_label_do_not_vote_against_it():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(2, size=(60, 3)).astype(float)
    y[:, 0] = np.nan
    y[:3, 0] = 1  # many bags have none of these rows
    tree = BinaryRelevance(DecisionTreeClassifier(max_depth=2))
    model = StackedBagging(tree, None, n_estimators=20, random_state=0, oob_score=True).fit(X, y)
    assert model.predict_proba(X)[:, 0].min() > 0.999
    assert np.nanmin(model.oob_decision_function_[:, 0]) > 0.999


def hide(pattern, y):
    """Return labels with holes as data really have them."""
    holes = y.astype(float)
    if pattern == "whole rows":
        holes[::4] = np.nan
    elif pattern == "two sources":  # no row knows all labels
        holes[::2, :2] = holes[1::2, 2:] = np.nan
    elif pattern == "positives only":  # of the first label nothing but ones is known
        holes[holes[:, 0] == 0, 0] = np.nan
    elif pattern == "one row":  # of the first label one row is known
        holes[1:, 0] = np.nan
    elif pattern == "most":
        holes[np.random.default_rng(0).random(y.shape) < 0.9] = np.nan
    else:
        holes[:, 0] = np.nan
    return holes


SLOW = ["whole rows", "positives only", "one row", "most", "a whole label"]


# RAkEL needs rows that know three labels, the others minority cells among known neighbors.
TOO_FEW_KNOWN = {
    "two sources": {"learners.RAkEL"},
    "most": {
        "ensemble.EMLSOL", "ensemble.MLSOLBagging", "learners.RAkEL", "sampling.MLSOL",
        "sampling.MLUL", "sampling.SamplerSequence", "sampling.sample_weights",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_holes_of_two_sources_give_a_result_or_an_error_of_ours(name, data):
    check_holes(name, "two sources", data)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_holes_of_any_pattern_give_a_result_or_an_error_of_ours(name, data):
    for pattern in SLOW:
        check_holes(name, pattern, data)


def check_holes(name, pattern, data):
    X, y, _, scores = data
    holes = hide(pattern, y)
    hidden = np.isnan(holes)
    # A label of which nothing is known is an error of its own.
    refusals = LabelanceError if name in USES else LabelFormatError

    def outcome(labels):
        try:
            return arrays_of(call(name, X, nullable(labels, hidden), scores)), None
        except refusals as error:
            return [], (type(error), str(error))

    (one, why), (other, why_other) = outcome(y), outcome(np.where(hidden, 1 - y, y))
    assert why == why_other, pattern
    assert equal(one, other), pattern
    if name not in USES:
        assert why is not None, pattern
    elif pattern == "a whole label":
        assert one or "needs known values for every label" in why[1]
    else:
        assert bool(one) is (name not in TOO_FEW_KNOWN.get(pattern, ())), pattern
