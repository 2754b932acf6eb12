"""Results from anybody: reading them runs, opens and changes nothing, and damage has a name."""

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from labelance.datasets import MultiLabelDataset, make_multilabel_imbalanced
from labelance.exceptions import LabelanceError, StudyError
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
from labelance.study._study import plan_of

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
    return Path(shutil.copy(tiny_store, tmp_path / "copy.db"))


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


def change(store, sql, *values):
    with closing(sqlite3.connect(store)) as db, db:
        db.execute(sql, values)


def change_plan(store, edit):
    """Edit the plan of a store as an attacker would."""
    db = sqlite3.connect(store)
    plan = json.loads(db.execute("SELECT plan FROM studies").fetchone()[0])
    db.close()
    edit(plan)
    change(store, "UPDATE studies SET plan = ?", json.dumps(plan))


def read_all(path, scratch):
    """Do all that only reads results."""
    found = import_results(path)
    found.study.cells()
    export_results(path, scratch / "folder")
    export_results(path, scratch / "table.json")
    merge_results([path], scratch / "merged.db")
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
def test_reading_a_store_runs_no_code_that_it_names(store, evil, tmp_path):
    change_plan(store, put_evil_everywhere)
    study = study_of(Store(store, read_only=True).plans()[0], trust=())
    configs = {str(cell): study.config(cell) for cell in study.cells()}
    db = sqlite3.connect(store)
    with db:  # so that the rows belong to the evil plan
        for key, config in configs.items():
            db.execute(
                "UPDATE cells SET config = ? WHERE dataset || '/' || learner || '/' || method "
                "|| '/' || repeat || '/' || fold = ?", (config, key)
            )  # fmt: skip
    db.close()
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


@pytest.mark.parametrize(
    "path",
    [
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
    ],
)
@pytest.mark.parametrize("part", ["make", "learner", "sampler", "own", "nested"])
def test_only_estimators_that_are_known_are_computed_with(store, evil, path, part):
    def edit(plan):
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
        run_study(found.study, store.with_name("other.db"), executor="serial")
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


def test_no_file_that_a_store_names_is_opened_to_read_it(store, tmp_path, monkeypatch):
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
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_reading_writes_nothing(store, tmp_path):
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    shutil.copy(store, shelf / "s.db")
    before = snapshot(shelf)
    read_all(shelf / "s.db", tmp_path / "out")
    assert Store(shelf / "s.db", read_only=True).claims() == []
    assert snapshot(shelf) == before


@pytest.mark.parametrize("wal", [False, True])
def test_a_database_of_others_is_refused_and_left_alone(tmp_path, tiny, wal):
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    db = sqlite3.connect(shelf / "theirs.db")
    if wal:
        db.execute("PRAGMA journal_mode=WAL")
    db.execute("CREATE TABLE people (name TEXT)")
    db.commit()
    db.close()
    before = snapshot(shelf)
    for do in (
        lambda: import_results(shelf / "theirs.db"),
        lambda: merge_results([shelf / "theirs.db"], tmp_path / "all.db"),
        lambda: merge_results([tmp_path / "none"], shelf / "theirs.db"),
        lambda: read_results(tiny, shelf / "theirs.db"),
        lambda: run_study(tiny, shelf / "theirs.db", executor="serial"),
    ):
        with pytest.raises(StudyError):
            do()
    names = {file.name: file.read_bytes() for file in shelf.iterdir() if file.suffix == ".db"}
    assert names == before


def test_a_store_is_read_while_somebody_writes_it(store):
    db = sqlite3.connect(store)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("UPDATE cells SET macro_f1 = 0.25 WHERE dataset = 'one'")
    db.commit()  # it is in the log beside the store, and not yet in the store
    assert store.with_name("copy.db-wal").stat().st_size > 0
    rows = import_results(store).rows
    assert {row["macro_f1"] for row in rows if row["dataset"] == "one"} == {0.25}
    db.execute("BEGIN IMMEDIATE")
    assert len(import_results(store).rows) == 56
    db.close()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(store, tiny, tmp_path):
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    shutil.copy(store, shelf / "s.db")
    shelf.chmod(0o555)
    assert len(import_results(shelf / "s.db").rows) == 56
    for do in (
        lambda: export_results(shelf / "s.db", shelf / "out"),
        lambda: run_study(tiny, shelf / "new.db", executor="serial"),
        lambda: write_report(import_results(shelf / "s.db").frame(), shelf / "r.html"),
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


def test_a_store_on_a_full_disk_keeps_what_it_has(store, tiny, monkeypatch):
    full = Store(store)
    with closing(sqlite3.connect(store)) as db:
        pages = db.execute("PRAGMA page_count").fetchone()[0]
    connect = sqlite3.connect

    def small(*place, **options):
        db = connect(*place, **options)
        db.execute(f"PRAGMA max_page_count = {pages}")
        return db

    row = {**full.rows()[0], "status": "failed", "dataset": "big", "error": "x" * 1_000_000}
    with monkeypatch.context() as patch:
        patch.setattr("sqlite3.connect", small)
        with pytest.raises(StudyError, match=r"is full.*Free disk space"):
            full.add([row])
    assert len(import_results(store).rows) == 56


@pytest.mark.parametrize("version", [1, 99])
def test_a_store_of_another_version_is_refused(store, version):
    db = sqlite3.connect(store)
    db.execute(f"PRAGMA user_version = {version}")
    db.close()
    for do in (lambda: import_results(store), lambda: Store(store)):
        with pytest.raises(StudyError, match=rf"version {version}\..*Install"):
            do()


DAMAGE = [
    ("UPDATE cells SET macro_f1 = 'much'", ()),
    ("UPDATE cells SET macro_f1 = 1e6", ()),
    ("UPDATE cells SET fit_seconds = 9e999", ()),
    ("UPDATE cells SET status = 'perhaps'", ()),
    ("UPDATE cells SET versions = '{'", ()),
    ("UPDATE cells SET versions = '[1]'", ()),
    ("UPDATE cells SET finished = 3.5, machine = x'00'", ()),
    ("UPDATE cells SET machine = CAST(x'ff' AS TEXT)", ()),
    ("UPDATE studies SET plan = '{'", ()),
    ("UPDATE studies SET plan = '[]'", ()),
    ("UPDATE studies SET plan = NULL", ()),
    ("UPDATE studies SET plan = 5", ()),
    ("UPDATE studies SET plan = ?", ("[" * 100_000,)),
    ("UPDATE studies SET plan = json_set(plan, '$.repeats', 1000000000)", ()),
    ("UPDATE studies SET plan = json_set(plan, '$.repeats', 'two')", ()),
    ("UPDATE studies SET plan = json_set(plan, '$.name', json('\"\\ud800\"'))", ()),
    ("UPDATE studies SET plan = json_set(plan, '$.methods[0].n_estimators', '5')", ()),
    ("UPDATE studies SET plan = json_set(plan, '$.methods[0].learners', 5)", ()),
    ("UPDATE studies SET plan = json_set(plan, '$.learners[0].class', 5)", ()),
    ("UPDATE studies SET plan = json_set(plan, '$.datasets[0].path', 5)", ()),
    ("UPDATE studies SET plan = json_set(plan, '$.datasets[1].name', 'one')", ()),
    ("ALTER TABLE cells DROP COLUMN machine", ()),
    ("DROP TABLE studies", ()),
]


@pytest.mark.parametrize(("sql", "values"), DAMAGE, ids=[sql[:70] for sql, _ in DAMAGE])
def test_damage_in_a_store_has_a_name(store, tmp_path, sql, values):
    change(store, sql, *values)
    for do in (
        lambda: import_results(store),
        lambda: export_results(store, tmp_path / "out"),
        lambda: verify_results(store, sample=1),
        lambda: merge_results([store], tmp_path / "merged.db"),
    ):
        with pytest.raises(StudyError):
            do()
    assert not (tmp_path / "merged.db").exists()


@pytest.mark.parametrize("content", [b"junk", pack(np.array([["f1"]])), pack(np.zeros(3))])
def test_figures_of_labels_that_cannot_be_read_are_damage(store, tiny, tmp_path, content):
    change(store, "UPDATE cells SET labels = ? WHERE fold = 1", content)
    for do in (
        lambda: read_label_results(tiny, store),
        lambda: merge_results([store], tmp_path / "merged.db"),
    ):
        with pytest.raises(StudyError, match="values of labels"):
            do()


@pytest.mark.parametrize("damage", ["status = 'weird'", "macro_f1 = 'abc'", "macro_auc_pr = 7"])
def test_damaged_cells_do_not_count_as_finished(store, tiny, damage):
    change(store, f"UPDATE cells SET {damage} WHERE fold = 0")
    for do in (
        lambda: run_study(tiny, store, executor="serial"),
        lambda: Store(store, read_only=True).status(tiny),
    ):
        with pytest.raises(StudyError, match="wrong type in the table"):
            do()


def test_cells_from_a_folder_have_no_figures_of_labels(folder, tiny, tmp_path):
    merge_results([folder], tmp_path / "merged.db")
    assert read_label_results(tiny, tmp_path / "merged.db").empty


def test_a_damaged_or_refused_store_is_closed(store, monkeypatch):
    """Python 3.13 warns of connections that are left open, and Windows keeps their files locked."""
    opened = []
    connect = sqlite3.connect

    def recorded(*place, **options):
        opened.append(connect(*place, **options))
        return opened[-1]

    store.write_bytes(store.read_bytes()[:100] + b"junk" * 1000)
    monkeypatch.setattr("sqlite3.connect", recorded)
    for read_only in (True, False):
        with pytest.raises(StudyError):
            Store(store, read_only=read_only)
    assert len(opened) == 3  # the file and its copy in memory, then the file
    for db in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            db.execute("SELECT 1")


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
    """Damage a store: its bytes, its plan, or a value in a table."""
    kind = lot.randrange(3)
    if kind == 0:
        store.write_bytes(damaged_bytes(store.read_bytes(), lot))
        return
    if kind == 1:
        db = sqlite3.connect(store)
        plan = json.loads(db.execute("SELECT plan FROM studies").fetchone()[0])
        db.close()
        change(store, "UPDATE studies SET plan = ?", json.dumps(damaged_value(plan, lot)))
        return
    table = lot.choice(["cells", "studies", "figures", "claims"])
    db = sqlite3.connect(store)
    column = lot.choice([row[1] for row in db.execute(f"PRAGMA table_info({table})")])
    db.close()
    plain = [value for value in VALUES if not isinstance(value, (list, dict))]
    value = lot.choice([value for value in plain if value not in ("\ud800", 2**70)] + [b"\xff"])
    try:
        change(store, f"UPDATE {table} SET {column} = ? WHERE rowid % 2" if table != "cells" else
               f"UPDATE {table} SET {column} = ? WHERE fold = 1", value)  # fmt: skip
    except sqlite3.IntegrityError:
        change(store, f"DELETE FROM {table}")


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
                lambda: merge_results([path], scratch / "all.db"),
                lambda: import_results(path).study.hash,
                lambda: write_report(import_results(path).frame(missing=True), scratch / "r.md"),
                lambda: path.is_dir() or Store(path, read_only=True).claims(),
            ],
        )
    )


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_damaged_only_our_errors_come(store, folder, tmp_path, seed):
    lot = random.Random(seed)
    damage_store(store, lot)
    use(store, tmp_path / "scratch")
    damage_folder(folder, lot)
    use(folder, tmp_path / "scratch")


def test_a_table_whose_name_is_no_text_is_damage(tmp_path):
    path = Store(tmp_path / "s.db").path
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_master SET name = CAST(x'ff' AS TEXT) WHERE name = 'figures'")
    db.close()
    for read_only in (True, False):
        with pytest.raises(StudyError, match="is damaged"):
            Store(path, read_only=read_only)


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
