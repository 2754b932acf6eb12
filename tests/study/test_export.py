"""Plans as text, results as files: what is written is read back, and stores come together."""

import json
import math
import shutil
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from labelance.exceptions import StudyError
from labelance.study import (
    Component,
    DataSource,
    Learner,
    Store,
    describe_datasets,
    export_results,
    import_results,
    list_presets,
    load_study,
    merge_results,
    read_results,
    run_study,
    to_toml,
)
from labelance.study._results import choose_study, studies_of
from labelance.study._store import cell_of


def written(study, folder, name="plan.toml"):
    """Write a plan and read it back."""
    path = folder / name
    path.write_text(to_toml(study, folder=folder), encoding="utf-8")
    return load_study(path)


@pytest.mark.parametrize("preset", list_presets())
def test_a_preset_survives_toml(preset, tmp_path):
    study = load_study(preset)
    again = written(study, tmp_path)
    assert again == study
    assert again.hash == study.hash
    assert [again.config(c) for c in again.cells()] == [study.config(c) for c in study.cells()]


VALUES = st.recursive(
    st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab é.\"'\\", min_size=1), inner)
    ),
    max_leaves=6,
)


@pytest.mark.slow
@given(name=st.text(st.characters(codec="utf-8"), min_size=1), value=VALUES)
def test_any_name_and_parameter_survives_toml(tmp_path_factory, name, value):
    study = replace(
        load_study("quick"), name=name, learners=[Learner(name, Component("X", {"p": value}))]
    )
    again = written(study, tmp_path_factory.mktemp("toml"))
    assert again == study
    assert json.dumps(again.learners[0].component.document()) == json.dumps(
        study.learners[0].component.document()
    )


def test_files_are_named_from_the_folder_of_the_plan(tmp_path, monkeypatch):
    for name in ("tags.csv", "tags.xml", "folds.csv"):
        (tmp_path / name).write_text("")
    source = DataSource(
        "mine",
        path=str(tmp_path / "tags.csv"),
        labels=str(tmp_path / "tags.xml"),
        folds=str(tmp_path / "folds.csv"),
    )
    study = replace(load_study("quick"), datasets=[source])
    (tmp_path / "below").mkdir()
    assert written(study, tmp_path / "below") == study
    assert 'path = "../tags.csv"' in to_toml(study, folder=tmp_path / "below")
    monkeypatch.chdir(tmp_path)  # the same plan, whoever reads it from wherever
    assert load_study("below/plan.toml") == study


def test_results_belong_to_what_a_file_says(tiny, tiny_store, tmp_path):
    """The same file in another place is the same dataset; another file in its place is not."""

    def study_of(path, text):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return replace(tiny, datasets=[DataSource("mine", path=str(path), labels=["b"])])

    here, there, other = (
        study_of(tmp_path / folder / "x.csv", text)
        for folder, text in {"a": "a,b\n1,0\n", "b": "a,b\n1,0\n", "c": "a,b\n1,1\n"}.items()
    )
    cell = here.cells()[0]
    assert here.config(cell) == there.config(cell) != other.config(cell)
    for study in (here, there):
        Store(tmp_path / "s.store").remember(study)
    (tmp_path / "a/x.csv").unlink()  # a store is read without the data
    assert choose_study(Store(tmp_path / "s.store")).config(cell) == here.config(cell)
    Store(tmp_path / "s.store").remember(other)
    assert len(studies_of(Store(tmp_path / "s.store"))) == 2


def test_toml_has_no_none():
    learner = Learner("A", Component("X", {"p": None}))
    with pytest.raises(StudyError, match=r"numbers, strings.*Got None"):
        to_toml(replace(load_study("quick"), learners=[learner]))


def test_a_folder_gives_back_what_the_store_has(tiny, tiny_store, tmp_path, figures):
    export_results(tiny_store, tmp_path / "out")
    found = import_results(tmp_path / "out")
    assert found.study == tiny
    assert found.about == {
        **import_results(tiny_store).about,
        "datasets": describe_datasets(tiny),
    }
    exact = [
        name
        for name in figures(tiny, tiny_store)
        if name not in ("member_disagreement",)  # six digits of it are kept
    ]
    assert_frame_equal(found.frame()[exact], figures(tiny, tiny_store)[exact], check_exact=True)
    assert_frame_equal(read_results(tiny, tmp_path / "out")[exact], found.frame()[exact])
    small = tiny.only(datasets=["two"], methods=["MLSOL"])
    assert len(read_results(small, tmp_path / "out")) == len(small.cells())


def test_what_about_says(tiny, tiny_store, tmp_path):
    export_results(tiny_store, tmp_path)
    about = json.loads((tmp_path / "about.json").read_text())
    assert about["config"] == tiny.hash
    assert (about["cells"], about["done"], about["failed"]) == (56, 56, 0)
    assert len(about["machines"]) == 1
    assert "numpy" in about["versions"]


def test_five_thousand_rows_are_less_than_a_megabyte(tiny_store, tmp_path):
    export_results(tiny_store, tmp_path)
    size = (tmp_path / "results.csv").stat().st_size
    assert size / 56 * 5460 < 1e6


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_one_file_for_other_programs(tiny, tiny_store, tmp_path, ending):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / f"results.{ending}"
    export_results(tiny_store, path)
    if ending == "json":
        rows = pandas.DataFrame(json.loads(path.read_text())["results"])
    else:
        # As text: older versions of pandas read the last digit of a number wrong.
        options = {"dtype": {"macro_f1": str}} if ending == "csv" else {}
        rows = getattr(pandas, f"read_{ending}")(path, **options)
    assert list(rows["macro_f1"].astype(float)) == list(read_results(tiny, tiny_store)["macro_f1"])


def test_other_endings_and_empty_stores_are_refused(tiny, tiny_store, tmp_path):
    with pytest.raises(StudyError, match=r"\.csv, \.parquet or \.json.*out\.xls"):
        export_results(tiny_store, tmp_path / "out.xls")
    Store(tmp_path / "s.store").remember(tiny)
    with pytest.raises(StudyError, match="no finished cells"):
        export_results(tmp_path / "s.store", tmp_path / "out")
    with pytest.raises(StudyError, match=r"no results\.csv"):
        import_results(tmp_path)


@pytest.mark.slow
def test_runs_of_parts_are_one_study(tiny, tmp_path):
    store = tmp_path / "s.store"
    parts = [
        tiny.only(datasets=["two"], learners=["MLkNN"], methods=["Default"]),
        tiny.only(datasets=["one"], learners=["MLkNN"], methods=["MLSOL", "Default"]),
    ]
    for part in parts:
        run_study(part, store, executor="serial")
    found = import_results(store)
    assert {source.name for source in found.study.datasets} == {"one", "two"}
    assert len(found.rows) == sum(len(part.cells()) for part in parts)


@pytest.mark.slow
def test_more_repetitions_are_the_same_study(tiny, tmp_path):
    small = tiny.only(datasets=["two"], learners=["MLkNN"], methods=["Default"])
    for repeats in (1, 2):
        run_study(small.only(repeats=repeats), tmp_path / "s.store", executor="serial")
    found = import_results(tmp_path / "s.store")
    assert (found.study.repeats, found.about["cells"], found.about["done"]) == (2, 4, 4)


@pytest.mark.slow
def test_different_studies_do_not_mix(tiny, tmp_path):
    store = tmp_path / "s.store"
    small = tiny.only(datasets=["two"], learners=["MLkNN"], methods=["Default", "MLSOL"])
    other = replace(small, seed=7)
    for study in (small, other):
        run_study(study, store, executor="serial")
    with pytest.raises(StudyError, match=f"one study.*{small.hash}.*{other.hash}.*--study"):
        import_results(store)
    with pytest.raises(StudyError, match="'tiny' fits 2"):
        import_results(store, study="tiny")
    for study in (small, other):
        assert import_results(store, study=study.hash[:6]).study == study
    with pytest.raises(StudyError, match="'nonsense' fits 0"):
        import_results(store, study="nonsense")


@pytest.mark.slow
def test_stores_of_two_machines_come_together(tiny, tiny_store, tmp_path, figures):
    halves = [tiny.only(datasets=["one"]), tiny.only(datasets=["two"])]
    for number, half in enumerate(halves):
        _copy_part(tiny_store, tmp_path / f"{number}.store", half)
    merged = merge_results([tmp_path / "0.store", tmp_path / "1.store"], tmp_path / "all.store")
    assert (merged.new, merged.total) == (56, 56)
    assert_frame_equal(figures(tiny, tmp_path / "all.store"), figures(tiny, tiny_store))
    again = merge_results([tmp_path / "0.store"], tmp_path / "all.store")
    assert (again.new, again.total) == (0, 56)


def test_a_study_goes_on_from_an_exported_folder(tiny, tiny_store, tmp_path):
    half = tiny.only(datasets=["one"])
    _copy_part(tiny_store, tmp_path / "half.store", half)
    export_results(tmp_path / "half.store", tmp_path / "half")
    assert merge_results([tmp_path / "half"], tmp_path / "new.store").new == len(half.cells())
    outcome = run_study(half, tmp_path / "new.store", executor="serial")
    assert (outcome.done, outcome.left) == (28, 0)
    assert import_results(tmp_path / "new.store").study == half


def test_merging_a_folder_keeps_where_its_cells_come_from(tiny_store, tmp_path, change_rows):
    path = tmp_path / "two.store"
    shutil.copytree(tiny_store, path)
    origin = {"commit_id": "c0ffee", "machine": "another, 2 cores"}
    origin |= {"versions": json.dumps({"numpy": "1.0"}), "finished": "2001-01-01T00:00:00+00:00"}
    change_rows(path, lambda row: row.update(origin) if row["dataset"] == "two" else None)
    export_results(path, tmp_path / "first")
    merge_results([tmp_path / "first"], tmp_path / "new.store")
    export_results(tmp_path / "new.store", tmp_path / "second")
    first, second = (
        json.loads((tmp_path / f"{n}/about.json").read_text()) for n in ("first", "second")
    )
    assert second == first
    assert first["commits"][1:] == ["c0ffee"]
    assert first["versions"]["numpy"][1:] == ["1.0"]
    assert first["first_finished"].startswith("2001")


def test_a_folder_of_other_rules_stays_out_of_stores(tiny_store, tmp_path):
    export_results(tiny_store, tmp_path / "old")
    about = json.loads((tmp_path / "old/about.json").read_text())
    (tmp_path / "old/about.json").write_text(json.dumps({**about, "config": "0ther0rules0"}))
    assert len(import_results(tmp_path / "old").rows) == 56  # a report may still be made
    with pytest.raises(StudyError, match=r"another version with other rules.*0ther0rules0"):
        merge_results([tmp_path / "old"], tmp_path / "new.store")
    assert not (tmp_path / "new.store").exists()


@pytest.mark.parametrize(("change", "differs"), [(1e-15, False), (1e-6, True), (math.nan, True)])
def test_a_conflict_is_found_before_anything_is_written(
    tiny_store, tmp_path, change, differs, change_rows
):
    other = tmp_path / "other.store"
    shutil.copytree(tiny_store, other)

    def edit(row):
        if str(cell_of(row)) == "two/BR/MLSOL/0/1":
            row["macro_f1"] = None if math.isnan(change) else row["macro_f1"] + change

    change_rows(other, edit)
    if not differs:
        assert merge_results([tiny_store, other], tmp_path / "all.store").total == 56
        return
    with pytest.raises(StudyError, match=r"macro_f1 of two/BR/MLSOL/0/1 is .* in one and .*verify"):
        merge_results([tiny_store, other], tmp_path / "all.store")
    assert not (tmp_path / "all.store").exists()


def _copy_part(store, path, study):
    Store(path).remember(study)
    Store(path).add(Store(store).rows(study))


@pytest.mark.slow
def test_a_report_knows_what_is_left_to_do(tiny, tmp_path):
    from labelance.report import write_report

    run_study(tiny.only(datasets=["two"]), tmp_path / "p.store", executor="serial")
    Store(tmp_path / "p.store").remember(tiny)
    opened = import_results(tmp_path / "p.store")
    assert len(opened.frame()) == 28
    frame = opened.frame(missing=True)
    assert frame["status"].value_counts().to_dict() == {"done": 28, "missing": 28}
    write_report(frame, tmp_path / "r.md")
    text = (tmp_path / "r.md").read_text()
    assert "28 of 56 cells are finished" in text
    assert "one (no fold has a value)" in text
