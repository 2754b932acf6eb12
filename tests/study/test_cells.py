"""A cell's figures are those of the public classes, whatever is shared behind the scenes."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from labelance.ensemble import EMLS, LabelThresholds
from labelance.metrics import macro_auc_pr, macro_auc_roc, macro_f1
from labelance.study import Cell, Component, Learner, Method, load_study, read_results
from labelance.study._component import build_learner
from labelance.study._data import FoldData, load
from labelance.study._design import Task, tasks_of
from labelance.study._evaluate import do_task, family_stream
from labelance.study._measures import disagreement, pack, unpack


def rows_of(study, dataset, fold=0):
    cells = tuple(c for c in study.cells() if (c.dataset, c.repeat, c.fold) == (dataset, 0, fold))
    task = Task(dataset, 0, fold, cells)
    data = load(study.dataset(dataset))
    found = [row for rows in do_task(study, task, data) for row in rows]
    return task, FoldData(data, task, study.folds), {(r["learner"], r["method"]): r for r in found}


def by_hand(study, task, fold, learner, method):
    """The readable way: fit the public class that the method stands for."""
    built = build_learner(study.learner(learner).component, fold.nominal)
    stream = family_stream(study.seed, task, method.family)
    sampler = method.sampler and method.sampler.build()
    if method.threshold is None and method.n_estimators == 1:
        X, Y = fold.X, fold.Y
        if sampler is not None:
            drawn = sampler.plan(X, Y).draw(stream.spawn(1)[0])
            X, Y = drawn.X, drawn.Y
        model = clone(built).fit(X, Y)
    else:
        model = EMLS(
            built,
            sampler,
            n_estimators=method.n_estimators,
            objective=method.threshold,
            threshold_search=method.threshold_search,
            bootstrap=method.bootstrap,
            random_state=stream,
        ).fit(fold.X, fold.Y)
    scores, predicted = model.predict_proba(fold.X_test), model.predict(fold.X_test)
    return (
        macro_f1(fold.Y_test, predicted, zero_division=1),
        macro_auc_roc(fold.Y_test, scores),
        macro_auc_pr(fold.Y_test, scores, undefined=0),
    )


@pytest.mark.filterwarnings("ignore::labelance.exceptions.LabelanceWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_cells_equal_the_public_classes(tiny):
    study = replace(
        tiny,
        methods=(
            *tiny.methods,
            Method("Tuned", threshold="gmean"),
            Method("Bagging", n_estimators=3, bootstrap=True, threshold="f1"),
            Method("Plain", tiny.method("MLSOL").sampler, n_estimators=2),
            Method(
                "Beside",
                tiny.method("MLSOL").sampler,
                n_estimators=2,
                bootstrap="beside",
                threshold="f1",
            ),
        ),
    )
    task, fold, rows = rows_of(study, "one")
    assert len(rows) == 22
    for (learner, name), row in rows.items():
        assert row["status"] == "done", row.get("error")
        wanted = by_hand(study, task, fold, learner, study.method(name))
        found = (row["macro_f1"], row["macro_auc_roc"], row["macro_auc_pr"])
        assert found == pytest.approx(wanted, abs=1e-12), (learner, name)


def test_thresholds_of_other_rows_come_from_the_public_classes(tiny):
    methods = (
        Method("CV", threshold="f1", threshold_data="cv"),
        Method("OOB", n_estimators=4, bootstrap=True, threshold="f1", threshold_data="oob"),
    )
    study = replace(tiny, methods=methods).only(learners=["MLkNN"])
    task, fold, rows = rows_of(study, "one")
    built = build_learner(study.learner("MLkNN").component, fold.nominal)
    for method, model in zip(methods, (LabelThresholds(built), EMLS(built, n_estimators=4))):
        stream = family_stream(study.seed, task, method.family)
        model.set_params(threshold_data=method.threshold_data, random_state=stream)
        if method.bootstrap:
            model.set_params(bootstrap=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            predicted = model.fit(fold.X, fold.Y).predict(fold.X_test)
        wanted = macro_f1(fold.Y_test, predicted, zero_division=1)
        assert rows["MLkNN", method.name]["macro_f1"] == pytest.approx(wanted, abs=1e-12)


def test_one_search_serves_all_that_look_among_the_rows_of_a_fold(tiny, monkeypatch):
    import labelance.learners._mlknn as mlknn
    import labelance.neighbors._find as find_module
    import labelance.study._data as folds

    shared, own = [], []
    find_neighbors = folds.find_neighbors

    def find(X, k, **options):
        shared.append(k)
        return find_neighbors(X, k, **options)

    def watch(search):
        def watched(*rows, **options):
            if "queries" not in options:
                own.append(rows[0].shape[0])
            return search(*rows, **options)

        return watched

    monkeypatch.setattr(folds, "find_neighbors", find)
    for module in (find_module, mlknn):
        monkeypatch.setattr(module, "search_neighbors", watch(module.search_neighbors))
    _, fold, rows = rows_of(tiny.only(methods=["Default", "MLSOL"]), "one")
    assert all(row["status"] == "done" for row in rows.values())
    assert shared == [10]  # MLkNN's ten serve MLSOL's five
    n = fold.Y.shape[0]
    # The shared one, and MLkNN's among the rows that MLSOL made.
    assert own == [n, n + int(0.3 * n)]


def test_members_are_fitted_once_for_single_and_ensemble(tiny, monkeypatch):
    from labelance.learners import BinaryRelevance

    fits = []
    original = BinaryRelevance.fit
    monkeypatch.setattr(
        BinaryRelevance, "fit", lambda self, X, Y: fits.append(1) or original(self, X, Y)
    )
    rows_of(tiny.only(learners=["BR"]), "two")
    assert len(fits) == 1 + 3 * 5


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

    method = Method("B", tiny.method("MLSOL").sampler, n_estimators=2, bootstrap="beside")
    task = Task("one", 0, 0, ())
    fold = FoldData(load(tiny.dataset("one")), task, 2)
    streams = family_stream(0, task, method.family).spawn(2)
    sets = TrainingSets(method.family, fold, streams, 5).sets
    fresh = family_stream(0, task, method.family).spawn(2)
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
    from labelance.study._component import prepare

    sampler = Component("RHwRSMT", {"resampler": {"class": "MLSMOTE"}}).build()
    assert prepare(sampler, nominal).resampler.categorical_features is nominal
    assert build_learner(learner.component, np.zeros(2, bool)).categorical_features is None


def test_keys_do_not_change():
    study = load_study("paper")
    assert str(study.cells()[0]) == "bibtex/BR/Default/0/0"
    assert len(set(map(str, study.cells()))) == 5460
    task = Task("flags", 1, 0, ())
    streams = [family_stream(0, task, study.method(m).family) for m in ("MLSOL", "EMLSOL")]
    first, second = (stream.integers(2**32) for stream in streams)
    assert first == second
    other = family_stream(0, task, study.method("MLSMOTE").family).integers(2**32)
    assert other != first


def test_tasks_hold_every_cell_once(tiny):
    for by_learner, count in ((False, 4), (True, 8)):
        tasks = list(tasks_of(tiny.cells(), by_learner=by_learner))
        assert len(tasks) == count
        assert sorted(c for t in tasks for c in t.cells) == sorted(tiny.cells())
        assert all({(c.dataset, c.repeat, c.fold) for c in t.cells} == {t.place} for t in tasks)


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


def test_results_are_a_tidy_frame(tiny, tiny_store):
    frame = read_results(tiny, tiny_store)
    assert isinstance(frame, pd.DataFrame)
    assert [tuple(row) for row in frame[list(Cell._fields)].to_numpy()] == tiny.cells()
    assert set(frame["config"]) == {tiny.hash}
    assert (frame["status"] == "done").all()
    assert frame[["macro_f1", "macro_auc_roc", "macro_auc_pr"]].notna().all().all()
    assert (frame["cpu_seconds"] > 0).all()
    assert frame["commit"].notna().all() or frame["version"].notna().all()
