"""A plan is read strictly and written back the same."""

from dataclasses import replace

import pytest

from labelance.exceptions import InputError, LabelanceError, LabelanceWarning, StudyError
from labelance.study import (
    Component,
    DataSource,
    Learner,
    Method,
    Study,
    describe_datasets,
    extend_study,
    list_presets,
    load_study,
    run_study,
)
from labelance.study._config import study_of
from labelance.study._data import load_source
from labelance.study._study import plan_of


@pytest.mark.filterwarnings("ignore:.* is skipped")  # learners of other libraries
@pytest.mark.parametrize("name", list_presets())
def test_presets_are_sound_and_survive_as_plain_values(name):
    study = load_study(name)
    study.installed().check()
    again = study_of(plan_of(study))
    assert again == study
    assert again.hash == study.hash
    assert [again.config(c) for c in again.cells()] == [study.config(c) for c in study.cells()]


@pytest.mark.slow
def test_sizes_of_the_presets():
    sizes = {name: len(load_study(name).cells()) for name in list_presets()}
    assert sizes["paper"] == 5460
    assert sizes["paper-small"] == sizes["mulan-small"] == 7 * 6 * 7 * 10
    assert sizes["practice"] == 7 * 4 * 7 * 10
    assert sizes["practice-sparse"] == 11 * 2 * 7 * 10
    decide_themselves = 4
    assert sizes["leaderboard"] == 12 * 3 * (2 * 15 - decide_themselves)
    assert sizes["rivals"] == 13 * (11 * 2 + 4) * 10  # four learners, beside BR alone
    assert sizes["fair"] == 7 * (6 * 12 + 1) * 10  # class weights for BR alone
    assert sizes["beyond"] == 13 * 6 * 2 * 10


@pytest.mark.parametrize("name", ["fair", "rivals"])
def test_a_study_of_one_learner_leaves_out_what_is_for_others(name):
    study = load_study(name)
    part = study.only(learners=["MLkNN"])
    part.check()
    assert part.cells() == [cell for cell in study.cells() if cell.learner == "MLkNN"]
    assert [part.config(c) for c in part.cells()] == [study.config(c) for c in part.cells()]
    with pytest.raises(StudyError, match="there is no part 'BR'"):
        study.only(
            learners=["MLkNN"], methods=[m.name for m in study.methods if m.learners]
        ).check()


def test_a_part_of_a_study_may_lack_some_learners_of_a_method(tmp_path):
    plan = tmp_path / "a.toml"
    words = "datasets = ['flags']\nlearners = ['BR', 'MLkNN']\n[[methods]]\nname = 'A'\n"
    plan.write_text(words + "learners = ['BR', 'MLkNN']")
    load_study(plan).only(learners=["BR"]).check()
    plan.write_text(words + "learners = ['BR', 'MLknn']")
    with pytest.raises(StudyError, match="Did you mean 'MLkNN'"):
        load_study(plan)


def test_beyond_has_the_folds_seeds_and_learners_of_the_paper():
    paper, beyond, fair = map(load_study, ("paper", "beyond", "fair"))
    assert set(beyond.datasets) == set(paper.datasets)
    assert beyond.learners == paper.learners
    assert (beyond.repeats, beyond.folds, beyond.seed) == (paper.repeats, paper.folds, paper.seed)
    assert beyond.method("Bagging") == fair.method("Bagging")
    assert beyond.method("MLSOLBagging").family.seed_key == paper.method("EMLSOL").family.seed_key


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ({"ensemble": "MLSOL"}, "must have the parameter estimator"),
        (
            {"ensemble": {"class": "StackedBagging", "c": 1}},
            r"plan\. .*argument 'c'.*Choose from C, ",
        ),
        ({"ensemble": {"class": "EMLS", "estimator": {"class": "MLkNN"}}}, "sets its estimator"),
        ({"ensemble": "StackedBagging", "sampler": "MLSOL"}, "The method sets sampler"),
        ({"bootstrap": "parents", "sampler": "MLSMOTE"}, "two parents"),
        ({"bootstrap": "parents"}, "two parents"),
    ],
    ids=str,
)
def test_methods_that_cannot_be_built_are_refused(method, words):
    plan = {"datasets": ["flags"], "learners": ["BR"], "methods": [{"name": "mine", **method}]}
    with pytest.raises(StudyError, match=words):
        study_of(plan).check()


def test_the_program_has_other_rules_than_the_paper():
    paper, mulan = load_study("paper-small"), load_study("mulan-small")
    assert paper.hash != mulan.hash
    assert mulan.method("MLSOL").sampler.params["variant"] == "mulan"
    assert mulan.method("EMLSOL").variant == "mulan"
    assert mulan.learner("COCOA").component.params["variant"] == "mulan"
    assert mulan.learner("ECCRU3").component.params["variant"] == "mulan"


def test_a_file_of_ones_own(tmp_path):
    (tmp_path / "tags.csv").write_text("a,b,x,y\n" + "1,2,0,1\n3,4,1,0\n" * 10)
    file = tmp_path / "mine.toml"
    file.write_text(
        """
        repeats = 2
        datasets = [{name = "tags", path = "tags.csv", labels = ["x", "y"]}, "flags"]
        learners = [
          "BR",
          {name = "Trees", class = "sklearn.ensemble.ExtraTreesClassifier", n_estimators = 7},
        ]
        [[methods]]
        name = "Default"
        [[methods]]
        name = "Mine"
        sampler = {class = "labelance.sampling.MLROS", sampling_ratio = 0.5}
        n_estimators = 3
        objective = "f1"
        """
    )
    study = load_study(file)
    study.check()
    assert study.name == "mine"
    assert study.dataset("tags").path == str(tmp_path / "tags.csv")
    assert study.learner("Trees").component.build().n_estimators == 7
    assert study.method("Mine").sampler.build().sampling_ratio == 0.5
    assert len(study.cells()) == 2 * 2 * 2 * 2 * 2


@pytest.mark.slow
def test_ones_own_study_runs(tmp_path):
    lines = [f"{i % 7},{(i * i) % 11},{int(i % 3 == 0)},{int(i % 4 == 0)}" for i in range(60)]
    (tmp_path / "tags.csv").write_text("\n".join(["a,b,x,y", *lines]))
    study = replace(
        load_study("quick"),
        datasets=(DataSource("tags", str(tmp_path / "tags.csv"), labels=["x", "y"]),),
        learners=(Learner("kNN", Component("sklearn.neighbors.KNeighborsClassifier")),),
        repeats=1,
    )
    assert run_study(study, tmp_path / "r.store", executor="serial").done == 14


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("datasets = [", "TOML"),
        ("datasets = ['flags']\nlearners = ['BR']", "methods of a study must be a list"),
        (
            "datasets = 'flags'\nlearners = ['BR']\nmethods = ['Default']",
            "datasets of a study must be a list",
        ),
        ("datasets = ['flags']\nlearners = ['BRR']\nmethods = ['Default']", "one of the paper's"),
        (
            "datasets = ['flags']\nlearners = ['BR']\nmethods = ['Default']\nfold = 3",
            "no key 'fold'",
        ),
        ("datasets = ['flags']\nlearners = ['BR']\nmethods = ['Default']\nfolds = 2.5", "integer"),
        ("datasets = ['flags']\nlearners = [{class = 'BR'}]\nmethods = ['Default']", "with a name"),
        ("datasets = ['flags']\nlearners = [{name = 'A'}]\nmethods = ['Default']", "key class"),
        (
            "datasets = ['flags']\nlearners = ['BR']\nmethods = [{name = 'A', sampling = 'MLSOL'}]",
            "no key 'sampling'",
        ),
    ],
)
def test_mistakes_in_a_file_are_named(tmp_path, text, words):
    file = tmp_path / "bad.toml"
    file.write_text(text)
    with pytest.raises(StudyError, match=words):
        load_study(file)


def test_what_is_neither_preset_nor_file():
    with pytest.raises(StudyError, match="paper-small"):
        load_study("papr")


def test_a_plan_is_checked_before_any_work(tmp_path, case):
    for change, words in [
        ({"datasets": (DataSource("nosuch"),)}, "nosuch"),
        ({"datasets": (DataSource("a", path="nowhere.arff"),)}, "There is no nowhere.arff"),
        ({"datasets": (DataSource("flags"), DataSource("flags"))}, "2 times"),
        ({"datasets": ()}, "Got none"),
        ({"learners": (Learner("A", Component("no.such.Thing")),)}, "no.such.Thing"),
        ({"learners": (Learner("A", Component("MLkNN", {"kk": 3})),)}, "kk"),
        ({"learners": (Learner("A", Component("MLSOL")),)}, "fit and predict"),
        ({"learners": (Learner("A", Component("sklearn.svm.LinearSVR")),)}, "scores"),
        ({"methods": (Method("A", Component("MLkNN")),)}, "fit_resample"),
        ({"methods": (Method("A", n_estimators=0),)}, "at least 1"),
        ({"methods": (Method("A", objective="f2"),)}, "f2"),
        ({"methods": (Method("A", stream=-1),)}, "stream is -1"),
        ({"methods": (Method("A", variant="weka"),)}, "weka"),
        ({"methods": (Method("A", bootstrap="originals"),)}, "needs a sampler"),
        ({"methods": (Method("A", n_estimators=2, bootstrap=1),)}, "bootstrap is 1"),
        (
            {"methods": (Method("A", Component("MLRUS"), bootstrap="originals"),)},
            "only adds rows",
        ),
        ({"methods": (Method("A", tune_on="oob", objective="f1"),)}, "needs bootstrap"),
        ({"methods": (Method("A", learners=("Nobody",)),)}, "Nobody"),
        ({"methods": (Method("A", learner=Component("IRUS")),)}, "to compare with"),
        ({"methods": (Method("A", learner=Component("MLSOL"), learners=("BR",)),)}, "fit and pre"),
        ({"folds": 1}, "at least two folds"),
    ]:
        with case(change, words):
            study = replace(load_study("quick"), **change)
            store = tmp_path / "none.store"
            with pytest.raises(LabelanceError, match=words):
                run_study(study, store)
            assert not store.exists()


def test_folds_of_others(tmp_path):
    folds = tmp_path / "folds.csv"
    folds.write_text("row,rep0\n" + "\n".join(f"{i},{i % 2}" for i in range(40)))
    make = Component(
        "labelance.datasets.make_multilabel_imbalanced", {"n_samples": 40, "random_state": 0}
    )
    source = DataSource("a", make=make, folds=str(folds))
    study = replace(load_study("quick"), datasets=(source,), repeats=1)
    study.check()
    train, test = load_source(source).split(0, 1, 2)
    assert list(test) == list(range(1, 40, 2))
    assert list(train) == list(range(0, 40, 2))
    with pytest.raises(StudyError, match="a column for each of 2"):
        replace(study, repeats=2).check()


@pytest.mark.parametrize("content", [b"row,rep0\n0,a", b"row,rep0\n0,\xff", b"\xff\xfe"])
def test_folds_that_are_no_numbers_are_refused(tmp_path, content):
    folds = tmp_path / "folds.csv"
    folds.write_bytes(content)
    make = Component("labelance.datasets.make_multilabel_imbalanced", {"n_samples": 40})
    source = DataSource("a", make=make, folds=str(folds))
    with pytest.raises(StudyError, match="CSV file of integers"):
        load_source(source)
    if b"\xff" in content:
        with pytest.raises(StudyError, match="CSV file of integers"):
            replace(load_study("quick"), datasets=(source,)).check()


def test_folds_with_fewer_columns_than_their_header_are_refused(tmp_path):
    folds = tmp_path / "folds.csv"
    folds.write_text("row,rep0,rep1\n" + "\n".join(f"{i},{i % 2}" for i in range(40)))
    make = Component("labelance.datasets.make_multilabel_imbalanced", {"n_samples": 40})
    study = replace(load_study("quick"), datasets=(DataSource("a", make=make, folds=str(folds)),))
    with pytest.raises(StudyError, match="2 columns and 3 names"):
        replace(study, repeats=2).check()


@pytest.mark.parametrize("part", ["path", "folds"])
def test_a_name_that_is_too_long_for_a_file_is_not_there(part):
    source = replace(DataSource("flags"), **{part: "x" * 5000})
    study = replace(load_study("quick"), datasets=(source,))
    with pytest.raises(StudyError, match="does not exist"):
        study.check()
    if part == "path":
        assert describe_datasets(study) == []


def test_bare_names_in_python_mean_what_they_mean_in_a_file():
    study = Study("s", datasets=["flags"], learners=["BR"], methods=["Default", "EMLSOL"])
    assert study.dataset("flags") == DataSource("flags")
    assert study.method("EMLSOL") == load_study("paper").method("EMLSOL")
    with pytest.raises(StudyError, match="one of the paper's"):
        Study("s", datasets=["flags"], learners=["nobody"], methods=["Default"])


def test_labels_that_a_file_does_not_have_are_found_before_any_work(tmp_path):
    (tmp_path / "d.csv").write_text("a,happy,sad\n" + "1,0,1\n2,1,0\n" * 20)
    source = DataSource("d", str(tmp_path / "d.csv"), labels=["happy", "sda"])
    study = replace(load_study("quick"), datasets=(source,))
    with pytest.raises(LabelanceError, match="sda"):
        run_study(study, tmp_path / "r.store")
    assert not (tmp_path / "r.store").exists()


def test_no_process_is_refused(tmp_path):
    with pytest.raises(InputError, match="n_jobs must be None or an integer other than 0"):
        run_study(load_study("quick"), tmp_path / "r.store", n_jobs=0)


def test_a_method_is_not_used_with_learners_that_it_leaves_out():
    study = load_study("leaderboard")
    pairs = {(cell.learner, cell.method) for cell in study.cells()}
    assert ("MLkNN", "Thresholds") in pairs
    assert ("EMLSOL", "Default") in pairs
    assert ("EMLSOL", "Thresholds") not in pairs
    with pytest.raises(StudyError, match="without of the method M must be a list"):
        Method.of({"name": "M", "without": "BR"})


def test_learners_of_packages_that_are_not_installed_are_skipped(tiny, monkeypatch, tmp_path):
    trees = {"class": "BinaryRelevance", "estimator": {"class": "lightgbm.LGBMClassifier"}}
    tiny = tiny.only(datasets=[tiny.datasets[0].name], methods=["Default"], repeats=1)
    study = replace(tiny, learners=(Learner.of({"name": "LightGBM", **trees}), *tiny.learners))
    monkeypatch.setattr("labelance.study._design.find_spec", lambda name: None)
    with pytest.warns(LabelanceWarning, match="LightGBM is skipped: lightgbm is not installed"):
        kept = study.installed()
    assert kept == tiny
    with pytest.warns(LabelanceWarning, match="LightGBM is skipped"):
        outcome = run_study(study, tmp_path / "some.store", executor="serial")
    assert (outcome.done, outcome.failed) == (len(tiny.cells()), 0)
    monkeypatch.setattr("labelance.study._design.find_spec", lambda name: object())
    assert study.installed() is study


MINE = """
[[datasets]]
name = "mine"
make = {class = "labelance.datasets.make_multilabel_imbalanced", n_samples = 60}
"""
NEIGHBORS = """
[[learners]]
name = "Neighbors"
class = "sklearn.neighbors.KNeighborsClassifier"
"""


@pytest.mark.parametrize(
    ("text", "n_datasets", "n_new"),
    [(MINE, 1, 0), (NEIGHBORS, 12, 1), (MINE + NEIGHBORS, 1, 1)],
    ids=["data", "learner", "both"],
)
def test_a_file_adds_datasets_and_learners_to_a_preset(text, n_datasets, n_new, tmp_path):
    (tmp_path / "mine.toml").write_text(text)
    board = load_study("leaderboard")
    more = extend_study(board, tmp_path / "mine.toml")
    assert len(more.datasets) == n_datasets
    here = {learner.name for learner in more.learners}
    assert ("Neighbors" in here) == bool(n_new)
    assert (here >= {learner.name for learner in board.learners}) == (n_datasets == 1)
    # What both have is the same cell, so that results merge.
    assert (more.name, more.folds, more.seed, more.methods) == (
        board.name, board.folds, board.seed, board.methods,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "has neither"),
        ("repeats = 2", "no key 'repeats'"),
        ("datasets = [", "is not a valid TOML file"),
    ],
)
def test_a_file_that_adds_nothing_is_an_error(text, problem, tmp_path):
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(StudyError, match=problem):
        extend_study(load_study("leaderboard"), tmp_path / "mine.toml")
    with pytest.raises(StudyError, match="does not exist"):
        extend_study(load_study("leaderboard"), tmp_path / "absent.toml")


def test_a_file_without_a_table_is_named_with_the_table():
    plan = {"name": "x", "datasets": ["a/songs.arff"], "learners": ["BR"], "methods": ["Default"]}
    with pytest.raises(StudyError, match=r'{name = "songs", path = "a/songs.arff"}'):
        study_of(plan)
