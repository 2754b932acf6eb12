"""Results from anybody: reading them runs, opens and changes nothing, and damage has a name."""

import json
import math
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from labelance.datasets import MultiLabelDataset, make_multilabel_imbalanced
from labelance.exceptions import LabelanceError, LabelanceWarning, StudyError
from labelance.report import write_report
from labelance.study import (
    Store,
    StudyResults,
    export_results,
    import_results,
    list_presets,
    load_study,
    merge_results,
    read_label_results,
    read_results,
    run_study,
    verify_results,
)
from labelance.study._config import study_of
from labelance.study._data import load_source
from labelance.study._evaluate import pack
from labelance.study._store import _write, cell_of
from labelance.study._study import Fold, plan_of

EVIL = """
from pathlib import Path
Path(__file__).with_name("imported").touch()

def call(**options):
    Path(__file__).with_name("called").touch()
    raise RuntimeError
"""


@pytest.fixture
def store(tiny_store, tmp_path):
    """A copy of a whole store."""
    return Path(shutil.copytree(tiny_store, tmp_path / "copy.store"))


@pytest.fixture
def folder(tiny_store, tmp_path):
    """A whole exported folder."""
    export_results(tiny_store, tmp_path / "exported")
    return tmp_path / "exported"


@pytest.fixture
def evil(tmp_path, monkeypatch):
    """The folder of a module that leaves a mark when it is imported or called."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code/evil.py").write_text(EVIL)
    monkeypatch.syspath_prepend(tmp_path / "code")
    yield tmp_path / "code"
    sys.modules.pop("evil", None)


def read_all(path, scratch):
    """Do all that only reads results."""
    found = import_results(path)
    found.study.cells()
    export_results(path, scratch / "folder")
    export_results(path, scratch / "table.json")
    merge_results([path], scratch / "merged.store")
    write_report(found.frame(missing=True), scratch / "report.md")


def put_evil_everywhere(plan):
    for source in plan["datasets"]:
        source["make"] = {"class": "evil.call"}
    for learner in plan["learners"]:
        learner["class"] = "evil.call"
    for method in plan["methods"]:
        method["sampler"] = {"class": "evil.call"}
        method["balanced"] = True


@pytest.mark.slow
def test_reading_a_store_runs_no_code_that_it_names(
    store, evil, tmp_path, change_plan, change_rows
):
    change_plan(store, put_evil_everywhere)
    study = study_of(Store(store, read_only=True).plans()[0], trust=())
    configs = {str(cell): study.config(cell) for cell in study.cells()}
    # so that the rows belong to the evil plan
    change_rows(store, lambda row: row.update(config=configs[str(cell_of(row))]))
    assert len(import_results(store).done) == 56
    read_all(store, tmp_path / "out")
    read_all(tmp_path / "out/folder", tmp_path / "again")
    assert [file.name for file in evil.iterdir()] == ["evil.py"]


def test_a_report_neither_opens_nor_fetches_the_folds_of_a_plan(tiny, monkeypatch):
    """They are named beside a dataset of the catalogue, which a report does read."""
    asked, url = [], "http://127.0.0.1:1/folds.csv"

    def read(*names, **options):
        asked.append(names)
        return MultiLabelDataset(*make_multilabel_imbalanced(n_samples=40, random_state=0))

    plan = {**plan_of(tiny), "datasets": [{"name": "flags", "folds": url}]}
    found = StudyResults(study_of(plan, trust=()), [], {})
    monkeypatch.setattr("labelance.study._data.verify_dataset", lambda name: Mock(files=()))
    monkeypatch.setattr("labelance.study._data.load_dataset", read)
    monkeypatch.setattr("urllib.request.urlopen", lambda *args, **options: asked.append(args))
    assert [figures["n"] for figures in found.describe_datasets()] == [40]
    with pytest.raises(StudyError, match="folds of flags"):
        load_source(found.study.dataset("flags"))
    assert asked == [("flags",), ("flags",)]


@pytest.mark.parametrize("part", ["make", "learner", "sampler", "own", "nested"])
def test_only_estimators_that_are_known_are_computed_with(store, evil, part, change_plan, case):
    for path in [
        "evil.call",
        "os.system",
        "subprocess.getoutput",
        "labelance.study._store.os.system",
        "sklearn.utils.os.system",
        "sklearn.utils.os",
        "labelance.cli.main",
        "labelance.study.load_study",
        "sklearn.datasets.load_svmlight_file",
        "sklearn.utils.parallel_backend",
        "sklearn.pipeline.Pipeline",
        "sklearn.model_selection.GridSearchCV",
        "sklearn.cluster.FeatureAgglomeration",
        "sklearn.tests.test_base.MyEstimator",
        "imblearn.pipeline.Pipeline",
        "imblearn.over_sampling.warnings.warn",
        "sklearn.joblib.load",
        "..evil",
        "",
    ]:
        with case(path):

            def edit(plan, path=path):
                if part == "make":
                    plan["datasets"][0]["make"] = {"class": path}
                elif part == "learner":
                    plan["learners"][0]["class"] = path
                elif part == "sampler":
                    plan["methods"][0]["sampler"] = {"class": path}
                elif part == "own":
                    plan["methods"][0] |= {
                        "learner": {"class": path},
                        "learners": [plan["learners"][0]["name"]],
                    }
                else:
                    plan["learners"][0]["estimator"] = {"class": path}

            change_plan(store, edit)
            found = import_results(store)
            with pytest.raises(StudyError):
                verify_results(study_with_rows(found), sample=1)
            with pytest.raises(StudyError):
                run_study(found.study, store.with_name("other.store"), executor="serial")
            assert [file.name for file in evil.iterdir()] == ["evil.py"]


def study_with_rows(found):
    """Return results with one finished row, whatever became of the plan."""
    from dataclasses import replace

    cell = found.study.cells()[0]
    row = {**cell._asdict(), "status": "done", "macro_f1": 0.5, "macro_auc_roc": 0.5}
    return replace(found, rows=[{**row, "macro_auc_pr": 0.5}])


def test_a_caller_may_trust_more(store, evil):
    (evil / "friend.py").write_text(
        "from os import system\n"
        "from sklearn.neighbors import KNeighborsClassifier\n"
        "class Mine(KNeighborsClassifier): pass\n"
    )
    plan = plan_of(import_results(store).study)
    plan["learners"] = [{"name": "Mine", "class": "friend.Mine"}]
    with pytest.raises(StudyError, match=r"friend\.Mine.*trust=\[\.\.\.\].*--trust MODULE"):
        study_of(plan, trust=()).learners[0].component.build()
    assert study_of(plan, trust=("friend",)).learners[0].component.build().n_neighbors == 5
    plan["learners"] = [{"name": "Mine", "class": "friend.system", "command": "touch here"}]
    with pytest.raises(StudyError, match=r"friend\.system"):  # imported there, not made there
        study_of(plan, trust=("friend",)).learners[0].component.build()
    with pytest.raises(StudyError, match="trust must be a list"):
        import_results(store, trust="friend")


def test_a_plan_of_ones_own_is_trusted(tmp_path, evil):
    text = 'datasets = ["flags"]\nmethods = ["Default"]\n[[learners]]\nname = "M"\nclass = "{}"'
    (tmp_path / "mine.toml").write_text(text.format("collections.OrderedDict"))
    assert load_study(tmp_path / "mine.toml").learners[0].component.build() == {}


@pytest.mark.filterwarnings("ignore:.* is skipped")  # packages of the leaderboard
def test_all_classes_of_the_presets_are_known():
    for name in list_presets():
        study = load_study(name).installed()
        study = study_of(plan_of(study), trust=["lightgbm", "xgboost", "catboost", "mlrl"])
        for part in [*study.learners, *study.methods]:
            for name in ("component", "sampler", "learner"):
                component = getattr(part, name, None)
                assert component is None or component.build() is not None
            around = getattr(part, "ensemble", None)
            assert around is None or around.build(estimator=None) is not None
        for source in study.datasets:
            assert source.make is None or source.make.find() is not None


@pytest.mark.slow
def test_no_file_that_a_store_names_is_opened_to_read_it(store, tmp_path, change_plan):
    private = tmp_path / "private.csv"
    private.write_text("secret\n")

    def edit(plan):
        plan["datasets"][0] = {"name": "one", "path": str(private), "labels": ["a"]}

    change_plan(store, edit)
    opened = []
    sys.addaudithook(lambda event, args: opened.append(args[0]) if event == "open" else None)
    found = import_results(store)
    read_all(store, tmp_path / "out")
    assert str(private) not in map(str, opened)
    assert found.study.datasets[0].content is None
    with pytest.raises(StudyError, match="do not exist, or have changed"):
        verify_results(study_with_rows(found), datasets=["one"])


def snapshot(folder):
    return {
        path: (path.stat().st_mtime_ns, path.is_file() and path.read_bytes())
        for path in [folder, *folder.rglob("*")]
    }


@pytest.mark.slow
def test_reading_writes_nothing(store, tmp_path):
    Store(store).claim(Fold("one", 0, 0))
    before = snapshot(store)
    read_all(store, tmp_path / "out")
    assert len(Store(store, read_only=True).claims()) == 1
    assert snapshot(store) == before


def test_a_file_is_refused_and_left_alone(tmp_path, tiny):
    path = tmp_path / "theirs.db"
    path.write_text("my notes")
    for do in (
        lambda: import_results(path),
        lambda: merge_results([path], tmp_path / "all.store"),
        lambda: merge_results([tmp_path / "none"], path),
        lambda: read_results(tiny, path),
        lambda: run_study(tiny, path, executor="serial"),
    ):
        with pytest.raises(StudyError):
            do()
    assert path.read_text() == "my notes"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(store, tiny, tmp_path):
    shelf = tmp_path / "shelf"
    shutil.copytree(store, shelf / "s.store")
    for path in (shelf, shelf / "s.store", *(shelf / "s.store").iterdir()):
        path.chmod(0o555)
    assert len(import_results(shelf / "s.store").rows) == 56
    for do in (
        lambda: export_results(shelf / "s.store", shelf / "out"),
        lambda: run_study(tiny, shelf / "new.store", executor="serial"),
        lambda: write_report(import_results(shelf / "s.store").frame(), shelf / "r.html"),
    ):
        with pytest.raises(LabelanceError):
            do()


def test_a_full_disk_has_a_name(store, tmp_path):
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    from labelance._utils._files import replace_when_done

    with (
        pytest.raises(LabelanceError, match="No space left"),
        replace_when_done(tmp_path / "r.csv"),
        open("/dev/full", "w") as file,
    ):
        file.write("x" * 100_000)
    assert not (tmp_path / "r.csv").exists()


def test_a_store_of_another_version_is_refused(store):
    (store / "labelance-store-1").rename(store / "labelance-store-99")
    for do in (lambda: Store(store, read_only=True), lambda: Store(store)):
        with pytest.raises(StudyError, match=r"Another version .*Install"):
            do()


def nested(plan):
    """Make a plan of lists in lists."""
    for _ in range(900):
        plan["name"] = [plan["name"]]


DAMAGE = {
    "a plan that is a list": lambda plan: plan.update(datasets=5),
    "billions of cells": lambda plan: plan.update(repeats=1_000_000_000),
    "repeats in words": lambda plan: plan.update(repeats="two"),
    "half a character": lambda plan: plan.update(name="\ud800"),
    "lists in lists": nested,
    "members in words": lambda plan: plan["methods"][0].update(n_estimators="5"),
    "learners that are a number": lambda plan: plan["methods"][0].update(learners=5),
    "a class that is a number": lambda plan: plan["learners"][0].update({"class": 5}),
    "a path that is a number": lambda plan: plan["datasets"][0].update(path=5),
    "two of a name": lambda plan: plan["datasets"][1].update(name="one"),
}


@pytest.mark.parametrize("edit", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_plan_that_is_none_has_a_name(store, tmp_path, edit, change_plan):
    change_plan(store, edit)
    for do in (
        lambda: import_results(store),
        lambda: export_results(store, tmp_path / "out"),
        lambda: verify_results(store, sample=1),
        lambda: merge_results([store], tmp_path / "merged.store"),
    ):
        with pytest.raises(StudyError):
            do()
    assert not (tmp_path / "merged.store").exists()


WRONG = [
    {"macro_f1": "much"}, {"macro_f1": 1e6}, {"macro_auc_pr": True}, {"fit_seconds": math.inf},
    {"status": "perhaps"}, {"machine": "\ud800"}, {"dataset": None}, {"fold": "1"}, {"n_train": []},
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_fold_with_values_that_cannot_be_counts_as_not_done(store, tiny, wrong, change_rows):
    """Its hash is right: somebody made it so."""

    def edit(row):
        if str(cell_of(row)) == "one/BR/MLSOL/0/1":
            row.update(wrong)

    change_rows(store, edit)
    with pytest.warns(LabelanceWarning, match=r"one-0-1-\w+\.json is damaged"):
        assert len(Store(store).status(tiny)) == 56 - 14


CUTS = {
    "cut": lambda content: content[: len(content) // 2],
    "empty": lambda content: b"",
    "a digit": lambda content: content.replace(b"0", b"1", 1),
    "zeros": lambda content: bytes(len(content)),
    "no text": lambda content: b"\xff" + content,
}


@pytest.mark.parametrize("damage", CUTS.values(), ids=CUTS.keys())
def test_a_damaged_fold_is_said_and_done_again(store, tiny, figures, tiny_store, damage):
    one = tiny.only(datasets=["one"], learners=["MLkNN"], methods=["Default"])
    (path,) = (store / "folds").glob("one-0-0-*")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(LabelanceWarning, match="counts as not there"):
        outcome = run_study(one, store, executor="serial")
    assert (outcome.done, outcome.failed) == (2, 0)
    assert figures(one, store).equals(figures(one, tiny_store))
    assert len(Store(store).rows(tiny)) == 56 - 13  # its other cells are left to do


def test_a_damaged_plan_is_said(store, tiny):
    (path,) = (store / "plans").iterdir()
    path.write_text("{")
    with (
        pytest.warns(LabelanceWarning, match="is damaged"),
        pytest.raises(StudyError, match="holds no study"),
    ):
        import_results(store)
    path.unlink()
    assert run_study(tiny, store, executor="serial").done == 56
    assert import_results(store).study == tiny


@pytest.mark.parametrize("said", ["{", "[1]", '{"a": 1}'])
def test_versions_that_are_none_are_damage(store, said, change_rows):
    change_rows(store, lambda row: row.update(versions=said))
    with pytest.raises(StudyError, match="versions of a cell"):
        import_results(store)


@pytest.mark.parametrize("content", ["junk", pack(np.array([["f1"]])), pack(np.zeros(3))])
def test_figures_of_labels_that_cannot_be_read_are_damage(store, tiny, content, change_rows):
    change_rows(store, lambda row: row.update(labels=content))
    with pytest.raises(StudyError, match="values of labels"):
        read_label_results(tiny, store)


def test_cells_from_a_folder_have_no_figures_of_labels(folder, tiny, tmp_path):
    merge_results([folder], tmp_path / "merged.store")
    assert read_label_results(tiny, tmp_path / "merged.store").empty


def only_ours(do):
    """Run what may fail, but only with an error of ours."""
    try:
        do()
    except LabelanceError:
        return 1
    return 0


VALUES = [None, True, -1, 0, 3.5, 2**70, float("nan"), float("inf"), "", "x", "\x00", "\ud800",
          [], {}, [1], {"a": 1}, "=1+1", "../../x", "<b>$\\frac{</b>"]  # fmt: skip


def damaged_bytes(content, lot):
    """Flip, cut, or overwrite some bytes."""
    content = bytearray(content)
    kind = lot.randrange(4)
    if kind == 0:
        return bytes(content[: lot.randrange(len(content))])
    start = lot.randrange(len(content))
    for place in range(start, min(start + (1, 1, 4, 400)[kind], len(content))):
        content[place] = lot.randrange(256)
    return bytes(content)


def damaged_value(value, lot):
    """Replace or remove one value somewhere inside plain values."""
    if isinstance(value, dict) and value and lot.random() < 0.9:
        key = lot.choice(list(value))
        if lot.random() < 0.1:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: damaged_value(value[key], lot)}
    if isinstance(value, list) and value and lot.random() < 0.9:
        place = lot.randrange(len(value))
        return [*value[:place], damaged_value(value[place], lot), *value[place + 1 :]]
    return lot.choice(VALUES)


def damage_store(store, lot):
    """Damage a file of a store: its bytes; or a value in it, with a hash that is right."""
    Store(store).claim(Fold("one", 0, 0))
    path = lot.choice(sorted(store.glob("*/*.json")))
    if lot.random() < 0.3:
        path.write_bytes(damaged_bytes(path.read_bytes(), lot))
    elif path.parent.name == "claims":
        path.write_text(json.dumps(damaged_value(json.loads(path.read_text()), lot)))
    else:
        said = json.loads(path.read_text().partition("\n")[2])
        _write(path, damaged_value(said, lot))


def damage_folder(folder, lot):
    """Damage a file of an exported folder: its bytes, or a value in it."""
    path = folder / lot.choice(["results.csv", "study.toml", "about.json"])
    if path.suffix == ".json" and lot.random() < 0.7:
        path.write_text(json.dumps(damaged_value(json.loads(path.read_text()), lot)))
    elif path.suffix == ".csv" and lot.random() < 0.7:
        lines = [line.split(",") for line in path.read_text().splitlines()]
        line = lot.choice(lines)
        line[lot.randrange(len(line))] = str(lot.choice(VALUES)).replace("\ud800", "")
        path.write_text("\n".join(map(",".join, lines)))
    else:
        path.write_bytes(damaged_bytes(path.read_bytes(), lot))


def use(path, scratch):
    """Do all that reads results, each on its own; return how many errors of ours came."""
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    return sum(
        map(
            only_ours,
            [
                lambda: import_results(path),
                lambda: export_results(path, scratch / "out"),
                lambda: export_results(path, scratch / "out.json"),
                lambda: merge_results([path], scratch / "all.store"),
                lambda: import_results(path).study.hash,
                lambda: write_report(import_results(path).frame(missing=True), scratch / "r.md"),
                lambda: Store.is_at(path) and Store(path, read_only=True).claims(),
            ],
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
# Damage is said, each time.
@pytest.mark.filterwarnings("ignore::labelance.exceptions.LabelanceWarning")
def test_whatever_is_damaged_only_our_errors_come(store, folder, tmp_path, seed):
    lot = random.Random(seed)
    damage_store(store, lot)
    use(store, tmp_path / "scratch")
    damage_folder(folder, lot)
    use(folder, tmp_path / "scratch")


@pytest.mark.slow
def test_the_command_line_looks_for_code_in_the_present_folder_last(store, tmp_path):
    """A file beside results must not take the place of a package."""
    for name in ("pandas", "imblearn", "jinja2", "matplotlib"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(f'{__name__} was taken over')")
    done = subprocess.run(
        [sys.executable, "-P", "-c", "from labelance.cli import main; main()",
         "study", "report", store.name, "-o", "r.md"],
        cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path[1:])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "written" in done.stdout
