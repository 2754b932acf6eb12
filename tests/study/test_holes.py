"""Studies of files with unknown labels and missing values: known cells count, or the plan fails."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from labelance.exceptions import LabelanceError, StudyError
from labelance.learners import ECC, BinaryRelevance
from labelance.metrics import label_areas, macro_f1
from labelance.report import write_report
from labelance.study import (
    DataSource,
    Study,
    import_results,
    load_study,
    read_label_results,
    read_results,
    run_study,
    to_toml,
)
from labelance.study._data import describe_datasets, load_source
from labelance.study._evaluate import measure
from labelance.testing import sampler_data

OPTIONS = {"missing_labels": "keep", "ignore": ["id"]}
METHODS = ["Default", "MLSMOTE", "MLSOL", "EMLSOL"]


@pytest.fixture
def file(tmp_path):
    """A CSV file with an id; a quarter of the labels is unknown."""
    X, y = sampler_data(n=90)
    cells = np.where(np.random.default_rng(0).random(y.shape) < 0.25, "", y.astype(str))
    lines = [f"r{i}," + ",".join([*map(str, x), *row]) for i, (x, row) in enumerate(zip(X, cells))]
    path = tmp_path / "holes.csv"
    path.write_text("\n".join(["id,a,b,c,d,l0,l1,l2,l3,l4", *lines]))
    return path


@pytest.fixture
def study(file):
    source = DataSource("holes", path=str(file), labels="l*", read_options=OPTIONS)
    learners = ["BR", {"name": "ECC", "class": "ECC"}]
    return Study("holes", [source], learners, METHODS, repeats=1)


@pytest.mark.slow
def test_a_study_of_unknown_labels_measures_known_cells(study, tmp_path):
    outcome = run_study(study, tmp_path / "r.store", executor="serial")
    assert (outcome.done, outcome.failed) == (16, 0)
    table = read_results(study, tmp_path / "r.store")
    assert np.isfinite(table[["macro_f1", "macro_auc_roc", "macro_auc_pr"]]).all(axis=None)
    data = load_source(study.datasets[0])
    y = data.Y.toarray()
    assert 0.2 < np.isnan(y).mean() < 0.3
    for name, learner in (("BR", BinaryRelevance()), ("ECC", ECC(random_state=0))):
        train, test = data.split(0, 1, 2)
        model = learner.fit(data.X[train], y[train])
        F = macro_f1(y[test], model.predict(data.X[test]), zero_division=1)
        chosen = (table["method"] == "Default") & (table["learner"] == name) & (table["fold"] == 1)
        assert_allclose(table.loc[chosen, "macro_f1"], F)
    labels = read_label_results(study, tmp_path / "r.store")
    of_labels = labels.query("learner == 'BR' and method == 'Default'").groupby("label")
    assert_allclose(of_labels["n_positive"].sum(), np.nansum(y, axis=0))
    known = {
        fold: np.isfinite(y[data.split(0, fold, 2)[1]]).sum(axis=0) for fold in set(labels["fold"])
    }
    for fold, rows in labels.groupby("fold"):
        of_each = rows.groupby("label", sort=False)["n_predicted"].max()
        assert (of_each.to_numpy() <= known[fold]).all()
    found = import_results(tmp_path / "r.store")
    figures = pd.DataFrame(found.describe_datasets())
    write_report(found.frame(), tmp_path / "r.md", datasets=figures)
    assert "| holes | 90 | 4 | 5 | – |" in (tmp_path / "r.md").read_text("utf-8")


def test_a_label_without_known_cells_is_left_out_of_means():
    rng = np.random.default_rng(0)
    y = (rng.random((40, 3)) < 0.4).astype(float)
    y[:, 1], scores = np.nan, rng.random((40, 3))
    found, rest = (
        measure(sp.csr_array(y[:, some]), scores[:, some], scores[:, some] > 0.5).row()
        for some in ([0, 1, 2], [0, 2])
    )
    for name in ("macro_f1", "macro_auc_roc", "macro_auc_pr"):
        assert found[name] == rest[name]
    assert found["macro_auc_roc"] == np.nanmean(label_areas(y, scores).auc_roc)


def test_predictions_in_unknown_cells_are_not_counted():
    y = np.array([[1, np.nan], [np.nan, np.nan], [0, 1]])
    for predicted in (np.ones((3, 2)), sp.csr_array(np.ones((3, 2)))):
        assert measure(sp.csr_array(y), np.full((3, 2), 0.5), predicted).n_predicted.tolist() == [
            2,
            1,
        ]


@pytest.mark.filterwarnings("error")
def test_a_fold_without_known_cells_has_no_means():
    nothing = sp.csr_array(np.full((5, 2), np.nan))
    row = measure(nothing, np.full((5, 2), 0.5), np.ones((5, 2))).row()
    assert row["macro_f1"] is row["macro_auc_roc"] is row["macro_auc_pr"] is None
    assert row["n_undefined"] == 2


def test_the_memory_that_reading_may_take_is_no_part_of_a_cell(study):
    cell = study.cells()[0]
    more = replace(study.datasets[0], read_options={**OPTIONS, "max_size": "4GB"})
    assert replace(study, datasets=(more,)).config(cell) == study.config(cell)


def test_options_of_the_reader_are_keys_of_a_dataset(study, file):
    plan = file.parent / "plan.toml"
    plan.write_text(to_toml(study, folder=file.parent))
    assert 'missing_labels = "keep"' in plan.read_text()
    again = load_study(plan)
    assert again.datasets[0].read_options == OPTIONS
    assert again == study
    cell = study.cells()[0]
    assert again.config(cell) == study.config(cell)
    other = replace(study.datasets[0], read_options={**OPTIONS, "missing_labels": "negative"})
    assert replace(study, datasets=(other,)).config(cell) != study.config(cell)


def test_the_cardinality_of_unknown_labels_is_left_open(study):
    (figures,) = describe_datasets(study)
    assert figures["LC"] is None
    assert figures["MeanImR"] > 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"read_options": {"ignore": ["id"]}}, "missing_labels"),
        ({"read_options": {**OPTIONS, "missing_labels": "kept"}}, "keep"),
        ({"path": None}, "names no path"),
    ],
)
def test_how_to_read_a_file_is_checked_before_any_work(study, changes, words, tmp_path):
    source = replace(study.datasets[0], content=None, **changes)
    with pytest.raises(LabelanceError, match=words):
        run_study(replace(study, datasets=(source,)), tmp_path / "r.store")
    assert not (tmp_path / "r.store").exists()


def test_options_that_readers_do_not_have_are_refused():
    with pytest.raises(StudyError, match=r"no key 'missing_label'.*Did you mean 'missing_labels'"):
        DataSource.of({"name": "a", "path": "a.csv", "missing_label": "keep"})
    with pytest.raises(StudyError, match="no key 'missing'"):
        DataSource("a", path="a.csv", read_options={"missing": "keep"})


FOREST = {"name": "Forest", "class": "sklearn.ensemble.ExtraTreesClassifier"}
LPROS = {"name": "LPROS", "sampler": {"class": "LPROS"}}
STACKED = {"name": "S", "ensemble": {"class": "StackedBagging", "sampler": {"class": "LPROS"}}}


def test_parts_that_need_all_labels_are_named_before_any_work(study, tmp_path):
    plan = replace(study, learners=(*study.learners, FOREST), methods=("Default", LPROS, STACKED))
    with pytest.raises(StudyError, match="has unknown labels") as caught:
        run_study(plan, tmp_path / "r.store")
    assert not (tmp_path / "r.store").exists()
    found = caught.value.found
    assert "BinaryRelevance(ExtraTreesClassifier())" in found
    assert {part.partition(":")[0] for part in found.split("; ")} >= {"Forest", "LPROS", "S"}
    assert "BR:" not in found
    sound = plan.only(learners=["BR", "ECC"], methods=["Default"])
    sound.check()


LINEAR = {"name": "Linear", "class": "BinaryRelevance"}
LINEAR |= {"estimator": {"class": "sklearn.linear_model.LogisticRegression"}}


@pytest.mark.slow
def test_parts_that_take_no_missing_values_are_named_before_any_work(tmp_path):
    rows = [f"{i % 7 if i % 5 else ''},{i % 3},{i % 2}" for i in range(60)]
    (tmp_path / "d.csv").write_text("\n".join(["a,b,l", *rows]))
    source = DataSource("d", path=str(tmp_path / "d.csv"), labels=["l"])
    plan = Study("d", [source], ["BR", LINEAR], ["Default", "MLSOL"], repeats=1)
    with pytest.raises(StudyError, match="which has missing values") as caught:
        plan.check()
    assert "Linear: BinaryRelevance takes no missing values" in caught.value.found
    assert "MLSOL: MLSOL takes no missing values" in caught.value.found
    stacked = {"name": "S", "ensemble": {"class": "StackedBagging", "sampler": {"class": "MLSOL"}}}
    with pytest.raises(StudyError, match="S: MLSOL takes no missing values"):
        replace(plan, learners=(FOREST,), methods=(stacked,)).check()
    outcome = run_study(
        plan.only(learners=["BR"], methods=["Default"]), tmp_path / "r.store", executor="serial"
    )
    assert outcome.done == 2


@pytest.mark.slow
def test_generators_may_leave_labels_unknown(study, tmp_path, monkeypatch):
    """What a plan check cannot see becomes failed cells with the reason."""
    (tmp_path / "holes_maker.py").write_text(
        "import numpy as np\nfrom labelance.testing import sampler_data\n"
        "def make():\n    X, y = sampler_data()\n    y = y.astype(float)\n"
        "    y[::3, 0] = np.nan\n    return X, y\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    source = {"name": "made", "make": {"class": "holes_maker.make"}}
    plan = Study("made", [source], ["BR"], ["Default", LPROS], repeats=1)
    outcome = run_study(plan, tmp_path / "r.store", executor="serial")
    assert (outcome.done, outcome.failed) == (2, 2)
    table = read_results(plan, tmp_path / "r.store")
    assert "UnknownLabelsError" in table.query("method == 'LPROS'")["error"].iloc[0]
