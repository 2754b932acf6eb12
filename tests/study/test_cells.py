"""A cell's figures are those of the public classes, whatever is shared behind the scenes."""

import sys
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import f1_score, label_ranking_average_precision_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier

from labelance.decisions import LabelThresholds
from labelance.ensemble import EMLS, StackedBagging
from labelance.exceptions import StudyError
from labelance.learners import MLkNN
from labelance.metrics import label_scores, macro_auc_pr, macro_auc_roc, macro_f1
from labelance.sampling import MLSOL
from labelance.study import (
    Cell,
    Component,
    Learner,
    Method,
    Store,
    load_study,
    read_label_results,
    read_results,
)
from labelance.study._data import FoldData, load_source
from labelance.study._design import build_learner
from labelance.study._evaluate import (
    disagreement,
    evaluate_cells,
    family_stream,
    measure,
    pack,
    unpack,
)
from labelance.study._study import Fold, group_by_fold


def rows_of(study, dataset, fold=0):
    place = Fold(dataset, 0, fold)
    cells = tuple(cell for cell in study.cells() if cell.place == place)
    data = load_source(study.dataset(dataset))
    found = [row for rows in evaluate_cells(study, cells, data) for row in rows]
    fold_data = FoldData(data, place, study.folds)
    return place, fold_data, {(row["learner"], row["method"]): row for row in found}


def by_hand(study, place, fold, learner, method):
    """The readable way: fit the public class that the method stands for."""
    component = method.learner or study.learner(learner).component
    built = build_learner(component, fold.nominal)
    stream = family_stream(study.seed, place, method.family)
    sampler = method.sampler and method.sampler.build()
    if method.objective is None and method.n_estimators == 1:
        X, Y = fold.X, fold.Y
        if sampler is not None:
            drawn = sampler.plan(X, Y).draw(stream.spawn(1)[0])
            X, Y = drawn.X, drawn.y
        model = clone(built).fit(X, Y)
    else:
        model = EMLS(
            built,
            sampler,
            n_estimators=method.n_estimators,
            objective=method.objective,
            threshold_search=method.threshold_search,
            tune_on=method.tune_on,
            bootstrap=method.bootstrap,
            random_state=stream,
        ).fit(fold.X, fold.Y)
    scores, predicted = model.predict_proba(fold.X_test), model.predict(fold.X_test)
    return (
        macro_f1(fold.Y_test, predicted, zero_division=1),
        macro_auc_roc(fold.Y_test, scores),
        macro_auc_pr(fold.Y_test, scores, undefined=0),
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::labelance.exceptions.LabelanceWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_cells_equal_the_public_classes(tiny):
    first = tiny.learners[0].name
    study = replace(
        tiny,
        methods=(
            *tiny.methods,
            Method("Tuned", objective="gmean"),
            Method("Bagging", n_estimators=3, bootstrap=True, objective="f1"),
            Method("Plain", tiny.method("MLSOL").sampler, n_estimators=2),
            Method(
                "Beside",
                tiny.method("MLSOL").sampler,
                n_estimators=2,
                bootstrap="originals",
                objective="f1",
            ),
            Method("Own", learner=Component("MLkNN", {"n_neighbors": 3}), learners=(first,)),
            Method("Other", learner=Component("MLkNN", {"n_neighbors": 4}), learners=(first,)),
        ),
    )
    place, fold, rows = rows_of(study, "one")
    assert len(rows) == 24
    for (learner, name), row in rows.items():
        assert row["status"] == "done", row.get("error")
        wanted = by_hand(study, place, fold, learner, study.method(name))
        found = (row["macro_f1"], row["macro_auc_roc"], row["macro_auc_pr"])
        assert found == pytest.approx(wanted, abs=1e-12), (learner, name)


@pytest.mark.slow
def test_thresholds_of_other_rows_come_from_the_public_classes(tiny):
    methods = (
        Method("CV", objective="f1", tune_on="cv"),
        Method("OOB", n_estimators=4, bootstrap=True, objective="f1", tune_on="oob"),
    )
    study = replace(tiny, methods=methods).only(learners=["MLkNN"])
    place, fold, rows = rows_of(study, "one")
    built = build_learner(study.learner("MLkNN").component, fold.nominal)
    for method, model in zip(
        methods, (LabelThresholds(built, shrinkage=0), EMLS(built, n_estimators=4))
    ):
        stream = family_stream(study.seed, place, method.family)
        model.set_params(tune_on=method.tune_on, random_state=stream)
        if method.bootstrap:
            model.set_params(bootstrap=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            predicted = model.fit(fold.X, fold.Y).predict(fold.X_test)
        wanted = macro_f1(fold.Y_test, predicted, zero_division=1)
        assert rows["MLkNN", method.name]["macro_f1"] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::labelance.exceptions.LabelanceWarning")
def test_an_ensemble_is_built_around_the_learner(tiny):
    methods = (
        Method("Ours", ensemble=Component("StackedBagging", {"sampler": {"class": "MLSOL"}})),
        Method("Theirs", ensemble=Component("sklearn.multioutput.MultiOutputClassifier")),
    )
    knn = Learner("kNN", Component("sklearn.neighbors.KNeighborsClassifier", {"n_neighbors": 4}))
    study = replace(tiny, methods=methods, learners=(knn,))
    place, fold, rows = rows_of(study, "one")
    stream = family_stream(study.seed, place, methods[0].family)
    built = knn.component.build()
    ours = StackedBagging(built, MLSOL(), random_state=stream)
    for method, model in zip(methods, (ours, MultiOutputClassifier(built)), strict=True):
        row, truth = rows["kNN", method.name], fold.Y_test
        model.fit(fold.X, fold.Y.toarray() if sp.issparse(fold.Y) else fold.Y)
        predicted = model.predict(fold.X_test)
        assert row["macro_f1"] == pytest.approx(macro_f1(truth, predicted, zero_division=1))
        scores = label_scores(model, fold.X_test)
        assert row["macro_auc_roc"] == pytest.approx(macro_auc_roc(truth, scores))
    members = [
        label_scores(member, fold.X_test[:, columns])
        for member, columns in zip(ours.estimators_, ours.estimators_features_, strict=True)
    ]
    assert rows["kNN", "Ours"]["member_disagreement"] == pytest.approx(disagreement(members))


def test_one_search_serves_all_that_look_among_the_rows_of_a_fold(tiny, monkeypatch):
    handed = []

    class Recorded(MLkNN):
        def fit(self, X, y, *, neighborhood=None):
            handed.append(neighborhood)
            return super().fit(X, y, neighborhood=neighborhood)

    def plan(self, data, neighborhood, original=MLSOL._plan):
        handed.append(neighborhood)
        return original(self, data, neighborhood)

    monkeypatch.setattr(MLSOL, "_plan", plan)
    monkeypatch.setitem(sys.modules, "recorded", SimpleNamespace(MLkNN=Recorded))
    learner = Learner("MLkNN", Component("recorded.MLkNN", {"n_neighbors": 10, "scale": "range"}))
    study = replace(tiny, learners=(learner,)).only(methods=["Default", "MLSOL"])
    _, _, rows = rows_of(study, "one")
    assert all(row["status"] == "done" for row in rows.values())
    # MLkNN's ten serve MLSOL's five; among the rows that MLSOL made, MLkNN looks itself.
    ours = [around for around in handed if around is not None]
    assert sorted(around.n_neighbors for around in ours) == [5, 10]
    assert handed.count(None) == 1
    assert np.shares_memory(ours[0].indices, ours[1].indices)


@pytest.mark.slow
def test_members_are_fitted_once_for_single_and_ensemble(tiny, monkeypatch):
    fits = []

    class Counted(KNeighborsClassifier):
        def fit(self, X, y):
            fits.append(X.shape[0])
            return super().fit(X, y)

    monkeypatch.setitem(sys.modules, "counted", SimpleNamespace(Counted=Counted))
    study = replace(tiny, learners=(Learner("kNN", Component("counted.Counted")),))
    _, _, rows = rows_of(study, "two")
    assert all(row["status"] == "done" for row in rows.values())
    assert len(fits) == 1 + 3 * 5


class Unsaid(ClassifierMixin, BaseEstimator):
    """A multi-label classifier that leaves scikit-learn's tags as they are."""

    def fit(self, X, y):
        self.share_ = y.mean(axis=0)
        return self

    def predict_proba(self, X):
        return np.tile(self.share_, (X.shape[0], 1))

    def predict(self, X):
        return (self.predict_proba(X) >= 0.5).astype(int)


def test_a_classifier_of_ones_own_needs_no_tags(tiny, monkeypatch):
    monkeypatch.setitem(sys.modules, "unsaid", SimpleNamespace(Unsaid=Unsaid))
    study = replace(tiny, learners=(Learner("Mine", Component("unsaid.Unsaid")),))
    _, _, rows = rows_of(study.only(methods=["Default", "EMLSOL"]), "one")
    assert [row["status"] for row in rows.values()] == ["done", "done"]


class Bare:
    """A learner and sampler by its methods, and nothing else."""

    fit_resample = fit = predict = predict_proba = None


class Stubborn(Bare, BaseEstimator):
    """Keeps other parameters than it is given, so scikit-learn cannot clone it."""

    def __init__(self, k=1):
        self.k = [k]


@pytest.mark.parametrize("kind", ["learner", "sampler"])
@pytest.mark.parametrize(
    ("made", "words"),
    [(Bare, "does not implement a 'get_params'"), (Stubborn, "Stubborn cannot be cloned: ")],
)
def test_what_cannot_be_cloned_is_refused_before_any_work(tiny, monkeypatch, kind, made, words):
    monkeypatch.setitem(sys.modules, "own", SimpleNamespace(**{made.__name__: made}))
    own = Component(f"own.{made.__name__}")
    parts = {
        "learner": {"learners": (Learner("Own", own),)},
        "sampler": {"methods": (Method("Own", own),)},
    }
    with pytest.raises(StudyError, match=words):
        replace(tiny, **parts[kind]).check()


@pytest.mark.slow
def test_sample_weights_are_only_asked_of_learners_that_can(tiny):
    study = replace(tiny, methods=(Method("Default"), Method("Weights", balanced=True)))
    assert {c.learner for c in study.cells() if c.method == "Weights"} == {"BR"}
    _, fold, rows = rows_of(study, "one")
    built = build_learner(study.learner("BR").component, fold.nominal, balanced=True)
    assert built.estimator.class_weight == "balanced"
    predicted = built.fit(fold.X, fold.Y).predict(fold.X_test)
    wanted = macro_f1(fold.Y_test, predicted, zero_division=1)
    assert rows["BR", "Weights"]["macro_f1"] == wanted
    assert wanted != rows["BR", "Default"]["macro_f1"]


def test_rows_beside_a_bag_are_those_the_sampler_makes_of_all_rows(tiny):
    from labelance.study._evaluate import TrainingSets

    method = Method("B", tiny.method("MLSOL").sampler, n_estimators=2, bootstrap="originals")
    place = Fold("one", 0, 0)
    fold = FoldData(load_source(tiny.dataset("one")), place, 2)
    streams = family_stream(0, place, method.family).spawn(2)
    sets = TrainingSets(method.family, fold, streams).sets
    fresh = family_stream(0, place, method.family).spawn(2)
    n = fold.Y.shape[0]
    for drawn, stream in zip(sets, fresh):
        alone = method.sampler.build().plan(fold.X, fold.Y).draw(stream)
        assert np.array_equal(drawn.X[n:], alone.X[n:])
        originals = {tuple(row) for row in fold.X}
        assert {tuple(row) for row in drawn.X[:n]} < originals
        assert len(drawn.left_out) > 0


def test_nominal_features_reach_samplers_and_learners_and_what_is_inside():
    learner = Learner("M", Component("MLkNN"))
    nominal = np.array([True, False])
    assert build_learner(learner.component, nominal).categorical_features is nominal
    from labelance.study._design import prepare

    sampler = Component("RHwRSMT", {"resampler": {"class": "MLSMOTE"}}).build()
    assert prepare(sampler, nominal).resampler.categorical_features is nominal
    assert build_learner(learner.component, np.zeros(2, bool)).categorical_features is None


def test_keys_do_not_change():
    study = load_study("paper")
    assert str(study.cells()[0]) == "bibtex/BR/Default/0/0"
    assert len(set(map(str, study.cells()))) == 5460
    place = Fold("flags", 1, 0)
    streams = [family_stream(0, place, study.method(m).family) for m in ("MLSOL", "EMLSOL")]
    first, second = (stream.integers(2**32) for stream in streams)
    assert first == second
    other = family_stream(0, place, study.method("MLSMOTE").family).integers(2**32)
    assert other != first


def test_a_parameter_with_another_name_does_not_change_the_draws():
    """The streams of the presets are those that the committed results were computed with."""
    paper, place = load_study("paper"), Fold("flags", 1, 0)
    keys = {name: paper.method(name).family.seed_key for name in ("MLSMOTE", "RHwRSMT", "MLSOL")}
    assert keys == {"MLSMOTE": 3554389521, "RHwRSMT": 2029311701, "MLSOL": 2957388254}
    renamed = Method("M", Component("MLSOL", {"other": 1}), stream=keys["MLSOL"])
    draws = [
        family_stream(0, place, method.family).integers(2**32)
        for method in (renamed, paper.method("MLSOL"), replace(renamed, stream=None))
    ]
    assert draws[0] == draws[1] != draws[2]


def test_groups_of_a_fold_hold_every_cell_once(tiny):
    for by_learner, count in ((False, 4), (True, 8)):
        groups = list(group_by_fold(tiny.cells(), by_learner=by_learner))
        assert len(groups) == count
        assert sorted(cell for cells in groups for cell in cells) == sorted(tiny.cells())
        assert all(len({cell.place for cell in cells}) == 1 for cells in groups)
        places = [cells[0].place for cells in groups]
        assert places == sorted(places, key=places.index)  # folds come one after the other


def test_cell_prints_as_its_key():
    assert f"{Cell('a', 'b', 'c', 0, 1)}" == "a/b/c/0/1"


def test_disagreement_is_one_minus_the_mean_correlation():
    rng = np.random.default_rng(0)
    scores = [rng.random((30, 3)) for _ in range(4)]
    scores[0][:, 2] = 0.5  # a label without a correlation
    wanted = []
    for a in range(4):
        for b in range(a):
            wanted += [np.corrcoef(scores[a][:, j], scores[b][:, j])[0, 1] for j in range(2)]
    assert disagreement(scores) == pytest.approx(1 - np.mean(wanted))
    assert disagreement([scores[1]] * 3) == pytest.approx(0)
    assert np.isnan(disagreement(scores[:1]))


def test_labels_own_figures_are_kept():
    table = np.array([[0.1, np.nan], [1.0, 0.0]])
    assert np.array_equal(unpack(pack(table)), table, equal_nan=True)


@pytest.mark.slow
def test_figures_of_labels_have_the_means_of_the_cells(tiny, tiny_store):
    labels, cells = read_label_results(tiny, tiny_store), read_results(tiny, tiny_store)
    keys = list(Cell._fields)
    means = labels.groupby(keys, sort=False)[["f1", "auc_roc"]].mean()
    assert [tuple(key) for key in means.index] == tiny.cells()
    np.testing.assert_allclose(means["f1"], cells["macro_f1"])
    np.testing.assert_allclose(means["auc_roc"], cells["macro_auc_roc"])
    assert labels[["brier", "calibration_error"]].stack().between(0, 1).all()
    place = Fold(tiny.datasets[0].name, 0, 0)
    fold = FoldData(load_source(tiny.datasets[0]), place, tiny.folds)
    first = labels.head(fold.Y_test.shape[1])
    assert first["n_positive"].tolist() == np.asarray(fold.Y_test.sum(axis=0)).ravel().tolist()


@pytest.mark.slow
def test_figures_of_labels_give_micro_f_and_hold_the_ranking(tiny, tiny_store):
    rng = np.random.default_rng(0)
    Y, scores = rng.random((40, 5)) < 0.3, rng.random((40, 5))
    Y[:, 4] = False
    predicted = scores > 0.6
    found = measure(sp.csr_array(Y.astype(int)), scores, predicted)
    both = found.n_positive + found.n_predicted
    micro = (found.f1 * both).sum() / both.sum()
    assert micro == pytest.approx(f1_score(Y, predicted, average="micro"))
    wanted = label_ranking_average_precision_score(Y, scores)
    np.testing.assert_allclose(found.lrap, wanted)
    labels = read_label_results(tiny, tiny_store)
    assert (labels.groupby(list(Cell._fields))["lrap"].nunique() == 1).all()


@pytest.mark.slow
def test_figures_of_labels_that_an_older_version_kept_are_fewer(tiny, tiny_store, tmp_path):
    before = tmp_path / "before.store"
    Store(before).add(
        {**row, "labels": pack(unpack(row["labels"])[:3])} for row in Store(tiny_store).rows(tiny)
    )
    labels, now = read_label_results(tiny, before), read_label_results(tiny, tiny_store)
    pd.testing.assert_frame_equal(labels.iloc[:, :9], now.iloc[:, :9])
    assert labels[["brier", "calibration_error", "n_positive", "lrap"]].isna().all().all()


def test_results_are_a_tidy_frame(tiny, tiny_store):
    frame = read_results(tiny, tiny_store)
    assert isinstance(frame, pd.DataFrame)
    assert [tuple(row) for row in frame[list(Cell._fields)].to_numpy()] == tiny.cells()
    assert set(frame["config"]) == {tiny.hash}
    assert (frame["status"] == "done").all()
    assert frame[["macro_f1", "macro_auc_roc", "macro_auc_pr"]].notna().all().all()
    assert (frame["cpu_seconds"] > 0).all()
    assert frame["commit"].notna().all() or frame["version"].notna().all()
