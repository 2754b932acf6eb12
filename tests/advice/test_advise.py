"""Advice: how large a comparison is, what its folds say, and what is said about them."""

import json
from html import escape
from itertools import count

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.stats import ttest_1samp
from sklearn.base import BaseEstimator
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from labelance import advise
from labelance._progress import Board, show_progress
from labelance._validation._data import validate_data
from labelance.advice import CandidateResult
from labelance.advice._compare import (
    SAMPLERS,
    ConfidenceInterval,
    choose_by_rarity,
    choose_design,
    make_estimator,
    paired_interval,
    simplest,
)
from labelance.datasets import make_multilabel_imbalanced
from labelance.decisions import CostMatrix, LabelThresholds
from labelance.ensemble._parts import Kernel
from labelance.exceptions import (
    InputError,
    NothingToSampleError,
    TooFewRowsError,
    UnknownLabelsError,
)
from labelance.learners import BinaryRelevance

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


@pytest.mark.parametrize("sparse", [False, True])
def test_more_seconds_are_never_less_of_a_comparison(sparse):
    budgets = [1, 5, 20, 60, 120, 600, 6000]
    for n, d, q in [(200, 10, 5), (2400, 100, 14), (16000, 500, 900)]:
        designs = [choose_design(n, d, q, sparse=sparse, budget=b) for b in budgets]
        rows = [design.n_rows for design in designs]
        assert rows == sorted(rows)
        assert all(0 < row <= n for row in rows)
        assert all(1 <= design.n_rounds <= 4 for design in designs)
        assert all(design.n_folds == 5 * design.n_rounds for design in designs)
    everything = choose_design(2400, 100, 14, sparse=sparse, budget=None)
    assert (everything.n_rows, everything.n_folds) == (2400, 20)


def test_seconds_without_end_are_a_budget():
    endless = choose_design(2400, 100, 14, sparse=False, budget=np.inf)
    assert endless == choose_design(2400, 100, 14, sparse=False, budget=None)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_default_is_compared_from_some_budget_on_and_its_time_is_counted(sparse):
    budgets = [1, 10, 100, 1000, 10_000, 100_000]
    designs = [choose_design(240, 50, 20, sparse=sparse, budget=b) for b in budgets]
    omitted = [bool(design.omitted) for design in designs]
    assert omitted == sorted(omitted, reverse=True)
    assert (omitted[0], omitted[-1]) == (True, False)
    assert "The budget is 1 s. Pass a larger budget." in designs[0].omitted
    first = omitted.index(False)
    assert designs[first - 1].n_rows <= designs[first].n_rows
    # Boosting takes a fit for every label, up to 32.
    many, few = (choose_design(240, 50, q, sparse=False, budget=100) for q in (32, 33))
    assert many.omitted
    assert not few.omitted


def test_the_interval_is_students_but_wider_since_folds_share_rows():
    difference = np.array([0.1, 0.2, 0.15, 0.05, 0.1])
    found, plain = paired_interval(difference), ttest_1samp(difference, 0).confidence_interval()
    wider = np.sqrt((1 / 5 + 1 / 4) / (1 / 5))
    assert_allclose(found.mean, difference.mean())
    assert_allclose(found.high - found.mean, wider * (plain.high - found.mean))
    assert_allclose(found.mean - found.low, found.high - found.mean)
    assert paired_interval(difference[:1]).error == np.inf
    two = paired_interval(np.array([-0.4, 0.2]))
    assert (two.low, two.high) == (-1, 1)  # no difference of two shares is larger


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


def test_thresholds_change_decisions_and_no_scores(advice):
    assert advice.gain("thresholds").mean != 0
    assert_allclose(advice.gain("thresholds", "macro_auc_pr").mean, 0)


@pytest.mark.usefixtures("two_folds")
@pytest.mark.parametrize("measure", ["macro_f1", "macro_auc_pr"])
def test_the_code_makes_the_estimator(data, measure):
    X, y = data
    found = advise(X, y, estimator=FOREST, budget=1, measure=measure)
    names = {"X": X, "y": y}
    exec(found.code, names)
    assert repr(names["model"]) == repr(found.estimator)
    assert found.estimator.fit(X, y).predict(X).shape == y.shape


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
    monkeypatch.setattr("labelance.ensemble._race.PARTS", (Kernel(),))


def advise_of(name, data, monkeypatch, **options):
    """Return the advice if the comparison says `name`."""
    with monkeypatch.context() as patch:
        patch.setattr(
            "labelance.advice._advise.simplest",
            lambda outcomes, measure: {one.name: one for one in outcomes}[name],
        )
        return advise(*data, **options)


@pytest.mark.usefixtures("two_folds", "small_default")
def test_the_default_is_one_line_to_copy(data, monkeypatch):
    monkeypatch.setattr("labelance.advice._advise.make_learner", lambda data, n_jobs: KNN)
    found = advise_of("RareLabelClassifier", data, monkeypatch, budget=900)
    assert "model = RareLabelClassifier(random_state=0).fit(X, y)\n" in found.code
    assert found.verdict.startswith("Use RareLabelClassifier: nothing that was tried is clearly")
    names = dict(zip("Xy", data))
    exec(found.code, names)
    assert repr(names["model"]) == repr(found.estimator)
    order = [one.name for one in found.outcomes]
    assert order[:3] == ["nothing", "RareLabelClassifier", "thresholds"]
    result = found.to_dict()
    assert result["design"]["omitted"] == ""
    assert result["candidates"][1]["macro_f1"]["mean"] == found.outcomes[1].mean("macro_f1")


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
    reason = {"name": "RareLabelClassifier", "failed": advice.design.omitted}
    assert advice.to_dict()["candidates"][-1] == reason


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
        exec(advise(X, labels, estimator=KNN, budget=0.01).code, names)
        assert names["model"].n_features_in_ == X.shape[1]


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
    found = advise(*data, estimator=learner, budget=0.01)
    names = dict(zip("Xy", data))
    exec(found.code, names)
    assert repr(names["model"]) == repr(found.estimator)


class Unsampled(BaseEstimator):
    """A sampler that changes nothing."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit_resample(self, X, y):
        return X, y


@pytest.mark.usefixtures("two_folds")
def test_margins_are_decided_by_their_sign_whatever_comes_before_the_learner(data, monkeypatch):
    monkeypatch.setitem(SAMPLERS, "MLROS", Unsampled)
    margins = OneVsRestClassifier(LinearSVC(random_state=0))
    found = {one.name: one for one in advise(*data, estimator=margins, budget=0.01).outcomes}
    for measure, values in found["nothing"].folds.items():
        assert_allclose(found["MLROS"].folds[measure], values, err_msg=measure)


@pytest.mark.usefixtures("two_folds")
@pytest.mark.parametrize("name", ["MLROS", "MLSMOTE", "MLSOL", "MLSOLBagging"])
def test_the_code_takes_missing_values_where_there_are_some(data, monkeypatch, name):
    X, y = data[0].copy(), data[1]
    X[::7, 2] = np.nan
    monkeypatch.setattr(
        "labelance.advice._advise.simplest",
        lambda outcomes, measure: {one.name: one for one in outcomes}[name],
    )
    found = advise(X, y, estimator=FOREST, budget=0.01)
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
@pytest.mark.usefixtures("two_folds")
@pytest.mark.parametrize("kind", ["sparse", "frame"])
def test_sparse_rows_and_nominal_columns_have_learners_that_take_them(data, kind, monkeypatch):
    for part in ("_advise", "_compare"):
        monkeypatch.setattr(f"labelance.advice.{part}.TREES", 10)  # 100 say the same, later
    X, y = data
    if kind == "sparse":
        X = sp.csr_array(np.where(abs(X) > 0.8, X, 0))
    else:
        X = pd.DataFrame(X).assign(land=pd.Categorical(np.where(X[:, 0] > 0, "sea", "hill")))
        X.columns = X.columns.astype(str)
    found = advise(X, y, budget=0.01)
    assert [one.name for one in found.outcomes if one.failed] == ["RareLabelClassifier"]
    names = {"X": X, "y": y}
    exec(found.code, names)
    assert found.estimator.fit(X, y).predict(X).shape == y.shape


@pytest.mark.usefixtures("two_folds")
def test_labels_that_cannot_be_judged_are_counted(data):
    X, y = data
    y = np.column_stack([y, np.arange(240) < 3, np.arange(240) > 1]).astype(int)
    found = advise(X, y, estimator=KNN, budget=1)
    assert found.facts.n_unjudged == 2
    assert "2 of 6 labels" in found.verdict
    with pytest.raises(TooFewRowsError, match="at least 5 rows"):
        advise(X, y[:, 4:], estimator=KNN)


@pytest.mark.usefixtures("two_folds")
def test_one_label_is_advised_of_in_the_singular(data):
    X, y = data
    rare = (np.arange(240) < 3).astype(int)
    alone = advise(X, y[:, :1], estimator=KNN, budget=0.01)
    assert f"1 label in {y[:, 0].sum()} rows." in str(alone).replace("\n", " ")
    beside = advise(X, np.column_stack([y[:, 0], rare]), estimator=KNN, budget=0.01)
    assert "1 of 2 labels is in" in beside.verdict


class Refusing(BaseEstimator):
    """A sampler that has nothing to do."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit_resample(self, X, y):
        raise NothingToSampleError("problem", "found", "cure")


@pytest.mark.usefixtures("two_folds")
def test_a_sampler_that_refuses_is_told_and_left_out(data, monkeypatch):
    monkeypatch.setitem(SAMPLERS, "MLROS", Refusing)
    found = advise(*data, estimator=KNN, budget=1)
    failed = {one.name: one.failed for one in found.outcomes if one.failed}
    assert list(failed) == ["MLROS", "RareLabelClassifier"]
    assert "MLROS                 could not be tried: problem. found. cure" in str(found)
    assert {"name": "MLROS", "failed": failed["MLROS"]} in found.to_dict()["candidates"]


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


@pytest.mark.usefixtures("two_folds")
def test_rare_labels_stay_judged_where_few_rows_are_learned_from(monkeypatch):
    monkeypatch.setattr("labelance.advice._compare._FEWEST_ROWS", 60)
    monkeypatch.setattr("labelance.advice._compare._MOST_ROWS", 500)
    rng = np.random.default_rng(0)
    y = np.zeros((600, 30), dtype=int)
    for j in range(30):
        y[rng.permutation(600)[: 6 + 3 * j], j] = 1
    found = advise(rng.normal(size=(600, 3)), y, estimator=KNN, budget=0.01)
    assert (found.design.n_rows, found.design.n_judged, found.facts.n_rows_seen) == (60, 500, 500)
    assert found.facts.n_unjudged == 0
    assert "500 of 600 rows of which 48 are learned from at a time" in found.verdict
    found = advise(np.zeros((600, 1)), y * (y.sum(axis=0) > 6), estimator=KNN, budget=0.01)
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


@pytest.mark.usefixtures("two_folds")
@pytest.mark.parametrize("certain", [True, False])
def test_only_a_gain_whose_interval_is_above_zero_is_a_rise(data, monkeypatch, certain):
    low = 0.01 if certain else -0.032
    interval = ConfidenceInterval(0.1, 0.05, low, 0.219)
    monkeypatch.setattr("labelance.advice._advise.paired_interval", lambda difference: interval)
    monkeypatch.setattr("labelance.advice._advise.simplest", lambda outcomes, measure: outcomes[1])
    found = advise(*data, estimator=KNN, budget=0.01)
    assert ("raises" in found.verdict) == certain
    assert ("That may raise macro F" in found.verdict) == (not certain)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"estimator": LinearRegression()}, "must have predict_proba or .*Pass a classifier"),
        ({"measure": "accuracy"}, "measure must be .* Got 'accuracy'"),
        ({"budget": 0}, "budget must be .* Got budget=0"),
        ({"budget": "60"}, "budget must be .* Got budget='60'"),
        ({"estimator": "forest"}, "estimator must be .* Got 'forest'"),
        ({"estimator": RandomForestClassifier}, "Pass an unfitted classifier"),
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


@pytest.mark.usefixtures("two_folds")
def test_labels_are_learned_and_judged_where_they_are_known(data, monkeypatch):
    monkeypatch.setattr("labelance.advice._compare.TREES", 5)
    X, y = data
    hidden = np.random.default_rng(0).random(y.shape) < 0.3
    holes = np.where(hidden, np.nan, y)
    found = advise(X, holes, budget=1)
    assert not any(one.failed for one in found.outcomes if one.name in ("MLSOL", "MLSMOTE"))
    assert found.facts.n_unknown == hidden.sum()
    assert f"{hidden.sum()} cells of y are unknown" in str(found)
    assert found.facts.rarest == np.nansum(holes, axis=0).min()
    assert found.estimator.fit(X, holes).predict(X).shape == y.shape
    other = np.where(hidden, 1 - y, y)  # under the mask of a nullable frame
    columns = {j: pd.arrays.IntegerArray(other[:, j], hidden[:, j]) for j in range(y.shape[1])}
    again = advise(X, pd.DataFrame(columns), budget=1)
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


def test_progress_shows_the_description_and_every_candidate():
    seen = {}

    class Heard(Board):
        def advance(self, loop, n):
            seen[loop.what] = seen.get(loop.what, 0) + n

        def show(self, loop):
            seen.setdefault(loop.what, 0)
            return super().show(loop)

    X, y = make_multilabel_imbalanced(100, n_labels=3, random_state=0)
    with show_progress(1, Heard(draws=False)):
        advice = advise(X, y, estimator=KNeighborsClassifier(5), budget=0.01)
    tried = [one for one in advice.outcomes if one.failed != advice.design.omitted]
    assert next(iter(seen)) == "Describing"
    assert seen["Comparing"] == advice.design.n_run
    assert seen["Trying"] == advice.design.n_run * len(tried)
