"""Advice: how large a comparison is, what its folds say, and what is said about them."""

import itertools
import json
from contextlib import nullcontext
from html import escape
from itertools import count

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from imblearn.pipeline import make_pipeline as make_sampler_pipeline
from numpy.testing import assert_allclose
from scipy.stats import ttest_1samp
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC

from labelance import _progress, advise
from labelance._progress import show_progress
from labelance._utils._random import set_random_states
from labelance._validation._data import validate_data
from labelance.advice import CandidateResult
from labelance.advice._code import write_expression, write_imports
from labelance.advice._compare import (
    CANDIDATES,
    DEFAULT,
    SAMPLERS,
    ConfidenceInterval,
    Costs,
    _weight_parameters,
    choose_by_rarity,
    choose_design,
    choose_sizes,
    extrapolate,
    least_seconds,
    make_estimator,
    paired_interval,
    simplest,
)
from labelance.advice._facts import open_rows
from labelance.advice._learners import Learner, LearnerRace
from labelance.datasets import make_multilabel_imbalanced
from labelance.decisions import CostMatrix, LabelThresholds
from labelance.ensemble._race import find_candidates
from labelance.exceptions import (
    InputError,
    NothingToSampleError,
    TooFewRowsError,
    UnknownLabelsError,
)
from labelance.learners import BinaryRelevance
from labelance.sampling import MLSOL

KNN = KNeighborsClassifier(10)
FOREST = RandomForestClassifier(5, random_state=0)


@pytest.fixture(scope="module")
def data():
    return make_multilabel_imbalanced(240, 6, 4, random_state=0)


@pytest.fixture(autouse=True)
def still_clock(monkeypatch):
    """No time passes, so that every fold that is planned is run, however busy the machine is."""
    monkeypatch.setattr("labelance.advice._advise.perf_counter", lambda: 0.0)


@pytest.fixture
def two_folds(monkeypatch):
    """The time is up at once, which is after two folds: enough to be told what to do."""
    ticks = count(step=1000)
    monkeypatch.setattr("labelance.advice._advise.perf_counter", lambda: float(next(ticks)))


@pytest.fixture(scope="module")
def advice(data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("labelance.advice._advise.perf_counter", lambda: 0.0)
        return advise(*data, estimator=KNN, budget=1)


# ------------------------------------------------------------------------- the comparison


def costs_of(per_row, default=1e-3):
    """Return what a learner of so many seconds a row is counted with."""
    learner = Learner(lambda n: KNN, lambda n: per_row * n, lambda n: default * n)
    return Costs(learner, CANDIDATES, {}, 10)


@pytest.mark.parametrize("per_row", [1e-5, 1e-4, 1e-3])
@pytest.mark.parametrize("n", [200, 2400, 16000])
def test_more_seconds_are_never_less_of_a_comparison(per_row, n):
    costs = costs_of(per_row)
    designs = [choose_design(n, costs, budget) for budget in [1, 5, 20, 60, 120, 600, 6000]]
    rows = [design.n_rows for design in designs]
    assert rows == sorted(rows)
    assert all(0 < row <= n for row in rows)
    assert all(1 <= design.n_rounds <= 4 for design in designs)
    assert all(design.n_folds == 5 * design.n_rounds for design in designs)
    everything = choose_design(2400, costs, np.inf)
    assert (everything.n_rows, everything.n_folds, everything.omitted) == (2400, 20, {})


def test_what_is_dear_is_compared_from_some_budget_on_and_its_time_is_counted():
    costs = costs_of(1e-3, default=1e-2)
    least = least_seconds(240, costs)
    designs = [choose_design(240, costs, budget) for budget in [least, 5, 10, 100, 1000]]
    assert designs[0].names == ("nothing", "thresholds")
    assert designs[-1].names == CANDIDATES
    for fewer, more in itertools.pairwise(designs):
        assert set(fewer.names) <= set(more.names)
    for design, budget in zip(designs, [least, 5, 10, 100, 1000]):
        assert {*design.names, *design.omitted} == set(CANDIDATES)
        assert costs.round(design.names, design.n_learned) <= budget
    assert "s for it. Pass a larger budget." in designs[1].omitted["RareLabelClassifier"]


@pytest.mark.parametrize("per_row", [1e-6, 1e-4, 1e-2])
def test_a_learning_curve_fits_into_what_the_comparison_leaves(per_row):
    costs, n = costs_of(per_row), 30_000
    for times in (1, 100):
        budget = times * least_seconds(n, costs)
        design = choose_design(n, costs, budget)
        sizes = choose_sizes("thresholds", n, costs, design, budget)
        assert 160 <= sizes[-1] <= 16_000
        assert all(2 * few in (more, more - 1) for few, more in itertools.pairwise(sizes))
        assert len(sizes) == 3 or times == 1
        spent = design.n_rounds * costs.round(design.names, design.n_learned)
        assert spent + costs.curve("thresholds", sizes) <= budget * 1.0001
    assert choose_sizes("thresholds", 240, costs, choose_design(240, costs, 1e6), 1e6) == ()


def test_a_line_by_the_logarithm_of_rows_goes_on_and_a_flat_one_stays():
    sizes = (1000, 2000, 4000)
    rising = np.log(sizes)[:, None] * 0.05 + np.linspace(0, 0.01, 5)
    found = extrapolate(16_000, sizes, rising)
    assert rising[-1].mean() < found.mean <= rising[-1].mean() + 0.05 * np.log(4) + 1e-9
    assert found.low < found.mean < found.high
    flat = extrapolate(16_000, sizes, rising * 0 + 0.3 + np.linspace(0, 0.01, 5))
    assert_allclose(flat.mean, 0.305)
    wider = extrapolate(64_000, sizes, rising)
    assert wider.high - wider.low > found.high - found.low
    assert extrapolate(10**9, sizes, rising + 0.4).high <= 1
    few = extrapolate(16_000, sizes, rising, 0.05)  # positives that other rows may have or not
    assert few.high - few.low > max(found.high - found.low, 0.2)
    assert few.mean == found.mean


def test_the_interval_is_students_but_wider_since_folds_share_rows():
    difference = np.array([0.1, 0.2, 0.15, 0.05, 0.1])
    found, plain = paired_interval(difference), ttest_1samp(difference, 0).confidence_interval()
    wider = np.sqrt((1 / 5 + 1 / 4) / (1 / 5))
    assert_allclose(found.mean, difference.mean())
    assert_allclose(found.high - found.mean, wider * (plain.high - found.mean))
    assert_allclose(found.mean - found.low, found.high - found.mean)
    assert paired_interval(difference[:1]).error == np.inf
    wide = paired_interval(np.array([-1.0, 1.0, -1.0, 1.0, 1.0]))
    assert (wide.low, wide.high) == (-1, 1)  # no difference of two shares is larger


@pytest.mark.parametrize("n_folds", [1, 2, 4])
def test_fewer_than_five_folds_have_no_interval(n_folds):
    found = paired_interval(np.linspace(0.25, 0.26, n_folds))
    assert np.isnan([found.low, found.high]).all()
    assert (found.error == np.inf) == (n_folds == 1)


def outcome(name, values):
    return CandidateResult(name, {"macro_f1": np.array(values)})


def test_the_simplest_within_one_standard_error_of_the_best_is_taken():
    nothing = outcome("nothing", [0.50, 0.52, 0.48, 0.50])
    noise = outcome("MLSOL", [0.53, 0.49, 0.50, 0.49])
    gain = outcome("thresholds", [0.60, 0.63, 0.57, 0.61])
    failed = CandidateResult("MLROS", {}, "nothing to sample")
    assert simplest((nothing, failed, noise), "macro_f1") is nothing
    assert simplest((nothing, gain, noise), "macro_f1") is gain


# ------------------------------------------------------------------------------- the advice


@pytest.mark.slow
def test_the_same_seed_gives_the_same_advice(data, advice):
    again = advise(*data, estimator=KNN, budget=1)
    assert again.design.n_run == again.design.n_folds
    assert again.to_dict() == advice.to_dict()
    other = advise(*data, estimator=KNN, budget=1, random_state=1)
    assert other.to_dict()["candidates"] != advice.to_dict()["candidates"]


@pytest.mark.slow
def test_what_is_advised_is_the_simplest_of_the_best_and_the_verdict_says_so(advice):
    assert advice.advised == simplest(advice.outcomes, "macro_f1").name
    assert advice.verdict.startswith(("Do not resample", "Resample with", "Use MLSOLBagging"))
    gain = advice.gain(advice.advised)
    assert f"{gain.mean:+.3f}" in advice.verdict
    assert gain.low < gain.mean < gain.high
    names = [one.name for one in advice.outcomes if not one.failed]  # without class weights
    assert names == ["nothing", "thresholds", "MLROS", "MLSMOTE", "MLSOL", "MLSOLBagging"]


@pytest.mark.parametrize(
    ("inside", "weighted"),
    [
        (LogisticRegression(), LogisticRegression(class_weight="balanced")),
        (GaussianNB(), None),
        (make_pipeline(StandardScaler(), GaussianNB()), None),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_labels_are_weighted_where_classifiers_have_no_class_weights(data, inside, weighted):
    learner = make_pipeline(StandardScaler(), BinaryRelevance(inside))
    found = make_estimator("class weights", learner, validate_data(*data, caller="test"), 0)
    expected = BinaryRelevance(inside, label_weight="balanced")
    expected = BinaryRelevance(weighted) if weighted else expected
    assert repr(set_random_states(found[-1], 0)) == repr(set_random_states(expected, 0))


def test_neighbors_have_no_weights_to_compare():
    assert _weight_parameters(BinaryRelevance(KNN)) == _weight_parameters(KNN) == []


@pytest.mark.slow
def test_thresholds_change_decisions_and_no_scores(advice):
    assert advice.gain("thresholds").mean != 0
    assert_allclose(advice.gain("thresholds", "macro_auc_pr").mean, 0)


@pytest.mark.slow
@pytest.mark.usefixtures("two_folds")
@pytest.mark.parametrize("measure", ["macro_f1", "macro_auc_pr"])
def test_the_code_makes_the_estimator(data, measure):
    X, y = data
    found = advise(X, y, estimator=FOREST, budget=1, measure=measure)
    names = {"X": X, "y": y}
    exec(found.code, names)
    assert repr(names["model"]) == repr(found.estimator)
    assert found.estimator.fit(X, y).predict(X).shape == y.shape


@pytest.mark.slow
@pytest.mark.usefixtures("two_folds")
def test_every_verdict_has_code_that_runs(data, monkeypatch):
    X, y = data
    for name in ("nothing", "class weights", "MLROS", "MLSOLBagging"):
        monkeypatch.setattr(
            "labelance.advice._advise.simplest",
            lambda outcomes, measure, name=name: {one.name: one for one in outcomes}[name],
        )
        found = advise(X, y, estimator=FOREST, budget=1)
        names = {"X": X, "y": y}
        exec(found.code, names)
        assert repr(names["model"]) == repr(found.estimator)
        assert found.advised == name
        assert name in found.verdict or name in ("nothing", "class weights")


@pytest.fixture
def small_default(monkeypatch):
    """RareLabelClassifier as it is advised, but with its quickest part only."""
    keep_parts(monkeypatch, "ensemble._rare_label", "kernel ridge")


@pytest.fixture
def linear_only(monkeypatch):
    """A race of one learner, the quickest."""
    keep_parts(monkeypatch, "advice._learners", "linear")


def keep_parts(monkeypatch, module, *names):
    monkeypatch.setattr(
        f"labelance.{module}.find_candidates",
        lambda *a: [one for one in find_candidates(*a) if one.part.name in names],
    )


def advise_of(name, data, monkeypatch, **options):
    """Return the advice if the comparison says `name`."""
    with monkeypatch.context() as patch:
        patch.setattr(
            "labelance.advice._advise.simplest",
            lambda outcomes, measure: {one.name: one for one in outcomes}[name],
        )
        return advise(*data, **options)


@pytest.mark.slow
@pytest.mark.usefixtures("two_folds", "small_default", "linear_only")
def test_the_default_is_one_line_to_copy(data, monkeypatch):
    found = advise_of("RareLabelClassifier", data, monkeypatch, budget=900)
    assert "model = RareLabelClassifier(random_state=0).fit(X, y)\n" in found.code
    assert found.verdict.startswith("Use RareLabelClassifier: nothing simpler")
    names = dict(zip("Xy", data))
    exec(found.code, names)
    assert repr(names["model"]) == repr(found.estimator)
    order = [one.name for one in found.outcomes]
    assert order[:4] == ["nothing", "thresholds", "class weights", "RareLabelClassifier"]
    result = found.to_dict()
    assert result["design"]["omitted"] == {}
    assert result["candidates"][3]["macro_f1"]["mean"] == found.outcomes[3].mean("macro_f1")


@pytest.mark.slow
@pytest.mark.usefixtures("two_folds", "small_default")
def test_the_default_replaces_a_learner_that_is_given_and_comes_last(data, monkeypatch):
    found = advise_of("RareLabelClassifier", data, monkeypatch, estimator=KNN, budget=900)
    assert found.verdict.startswith("Replace your learner by RareLabelClassifier")
    assert found.outcomes[-1].name == "RareLabelClassifier"
    kept = advise_of("thresholds", data, monkeypatch, estimator=KNN, budget=900)
    assert "RareLabelClassifier, which would replace your learner, is" in kept.verdict
    assert "LabelThresholds(KNeighborsClassifier(n_neighbors=10)" in kept.code


def test_a_default_that_the_budget_does_not_allow_is_told_with_the_reason(advice):
    assert "RareLabelClassifier   could not be tried: A round of 5 folds with it" in str(advice)
    assert "RareLabelClassifier was not compared. A round of 5 folds with it" in advice.verdict
    reason = {"name": "RareLabelClassifier", "failed": advice.design.omitted[DEFAULT]}
    assert advice.to_dict()["candidates"][-1] == reason


@pytest.mark.slow
@pytest.mark.usefixtures("two_folds")
@pytest.mark.parametrize("name", ["nothing", "thresholds", "MLROS"])
def test_the_code_takes_labels_as_they_came(data, name, monkeypatch):
    X, y = data
    monkeypatch.setattr(
        "labelance.advice._advise.simplest",
        lambda outcomes, measure: {one.name: one for one in outcomes}[name],
    )
    for labels in (sp.csr_array(y), [list(np.flatnonzero(row).astype(str)) for row in y]):
        names = {"X": X, "y": labels}
        exec(advise(X, labels, estimator=KNN, budget=2).code, names)
        assert names["model"].n_features_in_ == X.shape[1]


@pytest.mark.slow
@pytest.mark.usefixtures("two_folds")
def test_a_learner_with_thresholds_is_judged_by_its_own_decisions(data):
    """One that may never predict a label finds none, whatever its scores are."""
    never = LabelThresholds(KNN, objective=CostMatrix([[0, 1], [0, 0]]), random_state=0)
    outcomes = advise(*data, estimator=never, budget=1).outcomes
    found = {one.name: one.mean("macro_f1") for one in outcomes if not one.failed}
    assert [found[name] for name in ("nothing", "MLROS", "MLSOL")] == [0, 0, 0]


@pytest.mark.slow
@pytest.mark.usefixtures("two_folds")
@pytest.mark.parametrize(
    "learner",
    [OneVsRestClassifier(LogisticRegression()), make_pipeline(StandardScaler(), KNN)],
    ids=["wrapped", "pipeline"],
)
def test_the_code_imports_what_is_inside_a_learner(data, learner):
    found = advise(*data, estimator=learner, budget=2)
    names = dict(zip("Xy", data))
    exec(found.code, names)
    assert repr(names["model"]) == repr(found.estimator)


class Unsampled(BaseEstimator):
    """A sampler that changes nothing."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit_resample(self, X, y):
        return X, y


@pytest.mark.slow
@pytest.mark.usefixtures("two_folds")
def test_margins_are_decided_by_their_sign_whatever_comes_before_the_learner(data, monkeypatch):
    monkeypatch.setitem(SAMPLERS, "MLROS", Unsampled)
    margins = OneVsRestClassifier(LinearSVC(random_state=0))
    found = {one.name: one for one in advise(*data, estimator=margins, budget=2).outcomes}
    for measure, values in found["nothing"].folds.items():
        assert_allclose(found["MLROS"].folds[measure], values, err_msg=measure)


@pytest.mark.slow
@pytest.mark.usefixtures("two_folds")
@pytest.mark.parametrize("name", ["MLROS", "MLSMOTE", "MLSOL", "MLSOLBagging"])
def test_the_code_takes_missing_values_where_there_are_some(data, monkeypatch, name):
    X, y = data[0].copy(), data[1]
    X[::7, 2] = np.nan
    monkeypatch.setattr(
        "labelance.advice._advise.simplest",
        lambda outcomes, measure: {one.name: one for one in outcomes}[name],
    )
    found = advise(X, y, estimator=FOREST, budget=2)
    names = {"X": X, "y": y}
    exec(found.code, names)
    assert repr(names["model"]) == repr(found.estimator)


def test_it_prints_as_text_json_and_html(advice):
    assert json.loads(advice.to_json())["advised"] == advice.advised
    text = str(advice)
    assert all(word in text for word in ("AUCPR", "MLSOL", "model.fit(X, y)"))
    page = advice._repr_html_()
    facts = f"{advice.facts.n_samples} rows, {advice.facts.n_features} features"
    assert facts in text
    assert facts in page
    assert page.count("<tr>") == 1 + sum(not one.failed for one in advice.outcomes)
    assert escape(advice.verdict.partition(". ")[0]) in page
    assert "<script" not in page


@pytest.mark.slow
@pytest.mark.usefixtures("two_folds", "linear_only")
@pytest.mark.parametrize("kind", ["sparse", "frame"])
def test_sparse_rows_and_nominal_columns_have_learners_that_take_them(data, kind):
    X, y = data
    if kind == "sparse":
        X = sp.csr_array(np.where(abs(X) > 0.8, X, 0))
    else:
        X = pd.DataFrame(X).assign(land=pd.Categorical(np.where(X[:, 0] > 0, "sea", "hill")))
        X.columns = X.columns.astype(str)
    found = advise(X, y, budget=2)
    assert {one.name for one in found.outcomes if one.failed} <= {"RareLabelClassifier"}
    names = {"X": X, "y": y}
    exec(found.code, names)
    assert found.estimator.fit(X, y).predict(X).shape == y.shape


@pytest.mark.slow
@pytest.mark.usefixtures("two_folds")
def test_labels_that_cannot_be_judged_are_counted(data):
    X, y = data
    y = np.column_stack([y, np.arange(240) < 3, np.arange(240) > 1]).astype(int)
    found = advise(X, y, estimator=KNN, budget=2)
    assert found.facts.n_unjudged == 2
    assert "2 of 6 labels" in found.verdict
    with pytest.raises(TooFewRowsError, match="at least 5 rows"):
        advise(X, y[:, 4:], estimator=KNN)


@pytest.mark.slow
@pytest.mark.usefixtures("two_folds")
def test_one_label_is_advised_of_in_the_singular(data):
    X, y = data
    rare = (np.arange(240) < 3).astype(int)
    alone = advise(X, y[:, :1], estimator=KNN, budget=2)
    assert f"1 label in {y[:, 0].sum()} rows." in str(alone).replace("\n", " ")
    beside = advise(X, np.column_stack([y[:, 0], rare]), estimator=KNN, budget=2)
    assert "1 of 2 labels was not judged" in beside.verdict


class Refusing(BaseEstimator):
    """A sampler that has nothing to do."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit_resample(self, X, y):
        raise NothingToSampleError("problem", "found", "cure")


@pytest.mark.slow
@pytest.mark.usefixtures("two_folds")
def test_a_sampler_that_refuses_is_told_and_left_out(data, monkeypatch):
    monkeypatch.setitem(SAMPLERS, "MLROS", Refusing)
    found = advise(*data, estimator=KNN, budget=1)
    failed = {one.name: one.failed for one in found.outcomes if one.failed}
    assert list(failed) == ["MLROS", "RareLabelClassifier"]
    assert "MLROS                 could not be tried: problem. found. cure" in str(found)
    assert {"name": "MLROS", "failed": failed["MLROS"]} in found.to_dict()["candidates"]


@pytest.mark.slow
@pytest.mark.usefixtures("two_folds")
def test_the_clock_ends_it_between_folds_only(data):
    found = advise(*data, estimator=KNN, budget=1)
    assert found.design.n_run == 2
    assert "after 2 of 5 folds" in found.verdict
    assert all(one.failed or len(one.folds["macro_f1"]) == 2 for one in found.outcomes)


class Interrupting(BaseEstimator):
    """A sampler during which Ctrl-C is pressed, in the third fold or in the first."""

    left = 2

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit_resample(self, X, y):
        Interrupting.left -= 1
        if Interrupting.left < 0:
            raise KeyboardInterrupt
        return X, y


@pytest.mark.slow
def test_an_interrupt_keeps_the_folds_that_are_finished(data, monkeypatch):
    monkeypatch.setitem(SAMPLERS, "MLSMOTE", Interrupting)
    monkeypatch.setattr(Interrupting, "left", 2)
    found = advise(*data, estimator=KNN, budget=1)
    assert found.design.interrupted
    assert found.design.n_run == 2
    assert "It was interrupted after 2 of" in found.verdict
    json.loads(found.to_json())
    monkeypatch.setattr(Interrupting, "left", 1)
    with pytest.raises(KeyboardInterrupt):
        advise(*data, estimator=KNN, budget=1)


@pytest.mark.slow
@pytest.mark.usefixtures("two_folds")
def test_rare_labels_stay_judged_where_few_rows_are_learned_from(monkeypatch):
    monkeypatch.setattr("labelance.advice._compare._FEWEST_ROWS", 60)
    monkeypatch.setattr("labelance.advice._compare._MOST_JUDGED", 500)
    rng = np.random.default_rng(0)
    y = np.zeros((600, 30), dtype=int)
    for j in range(30):
        y[rng.permutation(600)[: 6 + 3 * j], j] = 1
    found = advise(rng.normal(size=(600, 3)), y, estimator=KNN, budget=3)
    assert (found.design.n_rows, found.design.n_judged, found.facts.n_rows_seen) == (60, 500, 500)
    assert found.facts.n_unjudged == 0
    assert "500 of 600 rows of which 48 are learned from at a time" in found.verdict
    found = advise(np.zeros((600, 1)), y * (y.sum(axis=0) > 6), estimator=KNN, budget=3)
    assert ", 29 of 30 labels)" in found.verdict


def test_rows_by_rarity_hold_every_label_that_fits():
    rng = np.random.default_rng(0)
    Y = sp.csr_array((rng.random((900, 20)) < np.geomspace(0.01, 0.5, 20)).astype(np.int8))
    counts, labels = Y.sum(axis=0), np.arange(20)
    rows = choose_by_rarity(Y, labels, 150, np.random.default_rng(1))
    assert len(np.unique(rows)) == 150
    assert (Y[rows].sum(axis=0) >= np.minimum(counts, 5)).all()
    flipped = sp.csr_array(1 - Y.toarray())  # labels that few rows lack
    rows = choose_by_rarity(flipped, labels, 150, np.random.default_rng(1))
    assert (Y[rows].sum(axis=0) >= np.minimum(counts, 5)).all()
    few = choose_by_rarity(Y, labels, 7, np.random.default_rng(1))
    assert len(few) == 7
    assert Y[few][:, [counts.argmin()]].sum() >= 5


@pytest.mark.slow
@pytest.mark.usefixtures("two_folds")
@pytest.mark.parametrize("certain", [True, False])
def test_only_a_gain_whose_interval_is_above_zero_is_a_rise(data, monkeypatch, certain):
    low = 0.01 if certain else -0.032
    interval = ConfidenceInterval(0.1, 0.05, low, 0.219)
    monkeypatch.setattr("labelance.advice._advise.paired_interval", lambda difference: interval)
    monkeypatch.setattr("labelance.advice._advise.simplest", lambda outcomes, measure: outcomes[1])
    found = advise(*data, estimator=KNN, budget=2)
    assert ("raises" in found.verdict) == certain
    assert ("That may raise macro F" in found.verdict) == (not certain)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"estimator": LinearRegression()}, "must have predict_proba or .* has neither"),
        ({"measure": "accuracy"}, "measure must be .* Got 'accuracy'"),
        ({"budget": 0}, "budget must be .* Got budget=0"),
        ({"budget": "60"}, "budget must be .* Got budget='60'"),
        ({"estimator": "forest"}, "estimator must be .* Got 'forest'"),
        ({"estimator": RandomForestClassifier}, "must be an unfitted classifier"),
        ({"estimator": LogisticRegression()}, "advise needs a classifier that learns many"),
    ],
)
def test_what_makes_no_sense_is_refused(data, options, words):
    with pytest.raises(InputError, match=words):
        advise(*data, **options)


def test_members_share_the_trees_of_a_forest_and_nothing_of_boosting(data):
    """A fifth of the rounds of boosting would be another, weaker model."""
    clean = validate_data(*data, caller="a test")
    learners = {
        "n_estimators": RandomForestClassifier(50),
        "estimator__n_estimators": BinaryRelevance(ExtraTreesClassifier(50)),
    }
    for name, learner in learners.items():
        model = make_estimator("MLSOLBagging", learner, clean, 0)
        assert model.estimator.get_params()[name] == 10
        assert learner.get_params()[name] == 50
    boosting = BinaryRelevance(GradientBoostingClassifier(n_estimators=50))
    model = make_estimator("MLSOLBagging", boosting, clean, 0)
    assert model.estimator.estimator.n_estimators == 50


# --------------------------------------------------------------------------- unknown labels


@pytest.mark.slow
@pytest.mark.usefixtures("two_folds", "linear_only", "small_default")
def test_labels_are_learned_and_judged_where_they_are_known(data):
    X, y = data
    hidden = np.random.default_rng(0).random(y.shape) < 0.3
    holes = np.where(hidden, np.nan, y)
    found = advise(X, holes, budget=3)
    assert not any(one.failed for one in found.outcomes if one.name in ("MLSOL", "MLSMOTE"))
    assert found.facts.n_unknown == hidden.sum()
    assert f"{hidden.sum()} cells of y are unknown" in str(found)
    assert found.facts.rarest == np.nansum(holes, axis=0).min()
    assert found.estimator.fit(X, holes).predict(X).shape == y.shape
    other = np.where(hidden, 1 - y, y)  # under the mask of a nullable frame
    columns = {j: pd.arrays.IntegerArray(other[:, j], hidden[:, j]) for j in range(y.shape[1])}
    again = advise(X, pd.DataFrame(columns), budget=3)
    for one, same in zip(found.outcomes, again.outcomes, strict=True):
        assert {m: v.tolist() for m, v in one.folds.items()} == {
            m: v.tolist() for m, v in same.folds.items()
        }
    with pytest.raises(UnknownLabelsError, match="BinaryRelevance"):
        advise(X, holes, estimator=FOREST, budget=1)
    holes[4:, 0] = np.nan
    with pytest.raises(TooFewRowsError, match="known in at least 5 rows"):
        advise(X, holes, budget=1)


def test_rows_in_which_a_label_is_unknown_are_not_chosen_for_it():
    rng = np.random.default_rng(0)
    Y = sp.csr_array((np.arange(400)[:, None] < [6, 200]).astype(np.int8))
    unknown = sp.csr_array((np.arange(400)[:, None] >= [300, 400]).astype(np.int8))
    rows = choose_by_rarity(Y, np.arange(2), 20, rng, unknown)
    assert (rows < 6).sum() >= 5


@pytest.mark.slow
def test_progress_shows_the_description_and_every_candidate(monkeypatch):
    seen = {}

    class Bar:
        def __init__(self, *, desc, **options):
            self.desc = desc
            seen.setdefault(desc, 0)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def get_lock(self):
            return nullcontext()

        def update(self, n):
            seen[self.desc] += n

    monkeypatch.setattr(_progress, "is_interactive", lambda **where: True)
    monkeypatch.setattr(_progress, "_bars", lambda process: Bar)
    X, y = make_multilabel_imbalanced(100, n_labels=3, random_state=0)
    with show_progress(1):
        advice = advise(X, y, estimator=KNeighborsClassifier(5), budget=2)
    tried = [one for one in advice.outcomes if one.name not in advice.design.omitted]
    assert next(iter(seen)) == "Describing"
    assert seen["Comparing"] == advice.design.n_run
    assert seen["Trying"] == advice.design.n_run * len(tried)


# ------------------------------------------------------------------------ the first question


TEXTS = [
    f"{'rain' if i % 3 else 'sun'} and {'wind' if i % 7 else 'snow'} {i % 5}" for i in range(90)
]
WEATHER = np.array([["sun" in text, "snow" in text] for text in TEXTS]).astype(int)


def run_code(found, X, y):
    names = {"X": X, "y": y}
    exec(found.code, names)
    assert repr(names["model"]) == repr(found.estimator)
    return names["model"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plane", "learners"),
    [(True, {"linear", "network"}), (False, {"network", "random forest", "boosting"})],
)
def test_the_learner_is_that_of_least_log_loss(plane, learners):
    """Sides of a plane are a line's; products of signs are not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8))
    inside = X[:, :4].sum(axis=1) > 0 if plane else X[:, 0] * X[:, 1] > 0
    clean = validate_data(X, inside[:, None].astype(int), caller="a test")
    race = LearnerRace.open(clean, None, rng)
    best, trials = race.run(list(race.public), np.inf, rng)
    losses = {one.learner: one.log_loss for one in trials}
    assert [one.learner for one in trials if one.chosen] == [best]
    assert best == min(losses, key=losses.get)
    assert best in learners
    assert all(one.n_rows == 300 for one in trials)
    cheapest, trials = race.run(["linear", "boosting"], 1e-9, rng)
    assert cheapest == "linear"
    assert [one.learner for one in trials if one.n_rows] == ["linear"]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_forests_are_learners_of_sparse_rows_that_they_take(dtype):
    """scikit-learn's trees fail on 64-bit indices, which SciPy's arrays may have."""
    rng = np.random.default_rng(0)
    X = sp.random_array((60, 200), density=0.05, format="csr", rng=rng)
    X.indices, X.indptr = X.indices.astype(dtype), X.indptr.astype(dtype)
    y = (rng.random((60, 2)) < 0.3).astype(int)
    race = LearnerRace.open(validate_data(X, y, caller="a test"), None, rng)
    assert ("random forest" in race.public) == (dtype == np.int32)
    for learner in race.learners(None).values():
        learner.make(60).fit(X, y)


@pytest.mark.slow
@pytest.mark.usefixtures("two_folds", "small_default")
def test_the_race_is_told_and_what_won_is_in_the_code(data, monkeypatch):
    keep_parts(monkeypatch, "advice._learners", "linear", "extra trees")
    found = advise(*data, budget=90)
    losses = {one.learner: one.log_loss for one in found.race}
    assert list(losses) == ["linear", "extra trees"]
    name = {"linear": "LogisticRegression", "extra trees": "ExtraTreesClassifier"}
    assert name[min(losses, key=losses.get)] in found.code
    assert "of 2 that were tried on 240 rows it had the least log loss" in found.verdict
    assert [one["log_loss"] for one in found.to_dict()["race"]] == list(losses.values())


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [None, KNN])
def test_too_few_seconds_are_refused_before_any_work_and_the_cure_suffices(data, estimator):
    with pytest.raises(
        InputError, match=r"should take .* Got budget=1e-09. Try budget=\d+"
    ) as error:
        advise(*data, estimator=estimator, budget=1e-9)
    budget = int(str(error.value).split("budget=")[-1].rstrip("."))
    assert advise(*data, estimator=estimator, budget=budget).design.n_run == 5


def test_a_forest_is_not_the_learner_because_it_alone_is_cheap(data, monkeypatch):
    """On embeddings with a small budget regressions were not tried, and macro F was a third."""
    seconds = {"linear": 1.0, "extra trees": 1e-6}
    monkeypatch.setattr(LearnerRace, "_fit_seconds", lambda self, name, n: seconds.get(name, 9.0))
    with pytest.raises(InputError, match=r"Try budget=\d\d"):
        advise(*data, budget=9)


@pytest.mark.slow
@pytest.mark.usefixtures("two_folds", "linear_only", "small_default")
@pytest.mark.parametrize("form", ["list", "array", "series", "missing", "frame", "vectors", "ids"])
def test_texts_vectors_and_ids_are_rows_as_they_are(form):
    numbers = np.random.default_rng(0).normal(size=(90, 3)) + WEATHER[:, :1]
    missing = [None, *TEXTS[1:]]
    frame = pd.DataFrame({"post": TEXTS, "size": numbers[:, 0], "day": pd.Timestamp("2020-01-01")})
    X = {
        "list": TEXTS,
        "array": np.array(TEXTS, dtype=object),
        "series": pd.Series(TEXTS),
        "missing": missing,
        "frame": frame.assign(vector=list(numbers), post=missing),
        "vectors": pd.Series(list(numbers)),
        "ids": frame[["size", "day"]],
    }[form]
    found = advise(X, WEATHER, budget=20)
    model = run_code(found, X, WEATHER)
    failed = [one.name for one in found.outcomes if one.failed]
    assert ("MLSOL" in failed) == (form != "ids")
    assert ("day" in str(found)) == (form in ("frame", "ids"))
    if form in ("list", "array", "series"):
        assert model.predict(X).shape == WEATHER.shape


@pytest.mark.slow
@pytest.mark.usefixtures("two_folds", "small_default")
def test_a_pipeline_of_a_user_reads_texts_itself():
    pipeline = make_pipeline(TfidfVectorizer(), BinaryRelevance(LogisticRegression()))
    found = advise(TEXTS, WEATHER, estimator=pipeline, budget=100)
    tried = {one.name: one.failed for one in found.outcomes}
    assert not any(tried[name] for name in ("nothing", "thresholds", "RareLabelClassifier"))
    assert "makes rows of numbers" in tried["MLSOL"]
    assert found.race == ()
    assert "text: " in str(found.facts)
    run_code(found, TEXTS, WEATHER)
    rows = [{"word": text.split()[0]} for text in TEXTS]  # which only the pipeline can read
    pipeline = make_pipeline(DictVectorizer(), BinaryRelevance(LogisticRegression()))
    found = advise(rows, WEATHER, estimator=pipeline, budget=100)
    assert found.outcomes[-1].name == "RareLabelClassifier"
    assert found.outcomes[-1].failed
    assert np.isnan(found.facts.neighbor_auc)
    json.loads(found.to_json())


@pytest.mark.slow
def test_figures_of_a_part_of_the_rows_come_with_an_estimate_for_all(data, monkeypatch):
    assert advise(*data, estimator=KNN, budget=1).estimate is None
    monkeypatch.setattr("labelance.advice._compare._MOST_ROWS", 60)
    found = advise(*data, estimator=KNN, budget=1)
    assert found.design.n_learned == 48
    estimate = found.estimate
    assert estimate.n_rows == 240
    assert 48 <= estimate.sizes[-1] <= 192
    assert estimate.low <= estimate.mean <= estimate.high
    assert f"With all 240 rows macro F should be about {estimate.mean:.3f}, an est" in found.verdict
    assert found.to_dict()["estimate"]["mean"] == estimate.mean


def test_seconds_of_fits_are_shown_and_are_no_part_of_the_same_advice(advice):
    assert all(one.seconds > 0 for one in advice.outcomes if not one.failed)
    assert "fit s" in str(advice)
    assert "seconds" not in advice.to_json()


def test_code_makes_what_is_inside_of_what(data):
    scaled = make_pipeline(
        StandardScaler(with_mean=False), BinaryRelevance(LogisticRegression(C=3))
    )
    columns = ColumnTransformer(
        [("one", StandardScaler(), [0]), ("stack", FunctionTransformer(np.vstack), [1])]
    )
    for model in (
        LabelThresholds(scaled, random_state=0),
        make_sampler_pipeline(MLSOL(random_state=0), StandardScaler(), scaled),
        Pipeline([("named", columns), ("last", OneVsRestClassifier(LinearSVC()))]),
    ):
        names = {}
        exec(f"{write_imports(model)}model = {write_expression(model)}", names)
        assert repr(names["model"]) == repr(model)
        assert max(map(len, write_expression(model).split("\n"))) <= 88


@pytest.mark.parametrize(
    ("n", "d", "seconds"),
    [(240, 384, 0.0080), (4000, 384, 0.0739), (16_000, 384, 0.3105), (1000, 100, 0.0051)],
)
def test_regressions_of_scikit_learn_are_counted_as_they_were_measured(n, d, seconds):
    """Those of the race are solved side by side: their count was a third of it for many rows."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, d)), rng.integers(0, 2, (60, 28))
    race = LearnerRace.open(validate_data(X, y, caller="a test"), None, rng)
    learner = race.learners(None)["linear"]
    assert 0.5 <= learner.seconds(n) / (28 * seconds) <= 2


POSTS = [f"{text} on day {i}" for i, text in enumerate(TEXTS)]


def open_linear(X):
    rows = open_rows(X, WEATHER, None)
    race = LearnerRace.open(rows.data, rows.groups, np.random.default_rng(0))
    return race.learners(None)["linear"]


@pytest.mark.parametrize("name", ["embedding", "post__id", "numbers", "categories", 7])
@pytest.mark.parametrize("texts", [False, True])
def test_columns_of_vectors_are_read_alike_whatever_they_are_called(name, texts):
    rng = np.random.default_rng(0)
    more = {"size": rng.normal(size=90), "key": ["red", "blue", "green"] * 30}
    more |= {"post": POSTS} if texts else {}
    vectors = list(rng.normal(size=(90, 5)) * (1 if texts else [1, 10, 100, 1, 1]))
    frame = pd.DataFrame({"vector": vectors, **more})
    other = pd.DataFrame({**more, "vector": vectors}).rename(columns={"vector": name})
    if name == 7:
        other.columns = range(20, 20 + len(other.columns))
    expected, found = (open_linear(X).make(90).fit(X, WEATHER) for X in (frame, other))
    assert_allclose(found.predict_proba(other), expected.predict_proba(frame), atol=0.01)
    assert found[-1].get_params()["estimator__C"] == expected[-1].get_params()["estimator__C"]


def test_vectors_next_to_texts_are_counted_too():
    frame = pd.DataFrame(
        {"post": POSTS, "vector": list(np.random.default_rng(0).normal(size=(90, 60)))}
    )
    both, texts = open_linear(frame), open_linear(frame["post"])
    assert_allclose(both.seconds(90), texts.seconds(90) + 2 * (3e-3 + 5e-8 * 90 * 60))
