"""Committed figures, computed again."""

import csv
from dataclasses import replace

import pytest

from labelance.exceptions import StudyError
from labelance.study import (
    Component,
    Method,
    export_results,
    import_results,
    load_study,
    merge_results,
    run_study,
    verify_results,
)
from labelance.study._store import Store, cell_of


@pytest.fixture
def folder(tiny_store, tmp_path):
    export_results(tiny_store, tmp_path / "results")
    return tmp_path / "results"


def change(folder, number, **figures):
    """Change a row of results.csv; return its cell."""
    path = folder / "results.csv"
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    rows[number] |= figures
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return rows[number]


@pytest.mark.slow
def test_committed_results_are_right_to_the_last_bit(folder, tiny_store):
    seen = []
    for source in (folder, tiny_store):
        checked = verify_results(source, sample=6, seed=1, watch=seen.append)
        assert (len(checked.cells), checked.n_exact, checked.differing) == (6, 6, ())
        assert checked.largest_difference == 0
    assert seen == [1, 2, 3, 4, 5, 6] * 2


@pytest.mark.slow
def test_the_seed_chooses_the_cells(folder):
    first, again, other = (
        [one.cell for one in verify_results(folder, sample=4, seed=seed).cells]
        for seed in (3, 3, 4)
    )
    assert first == again != other


def test_learners_can_be_chosen(folder):
    checked = verify_results(folder, sample=2, learners=["MLkNN"])
    assert [one.cell.learner for one in checked.cells] == ["MLkNN"] * 2
    with pytest.raises(StudyError, match="Did you mean 'MLkNN'"):
        verify_results(folder, learners=["MLKNN"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "difference"), [("0.123456789", None), ("", float("inf")), (1e-14, 1e-14)]
)
def test_a_wrong_figure_is_found(folder, wrong, difference):
    true = float(change(folder, 30)["macro_auc_pr"])
    wrong = repr(true + wrong) if isinstance(wrong, float) else wrong
    row = change(folder, 30, macro_auc_pr=wrong)
    checked = verify_results(folder, sample=None, datasets=["two"])
    assert len(checked.cells) == 28
    assert checked.n_exact == 27
    found = max(checked.cells, key=lambda one: one.difference)
    assert (found.cell.learner, found.cell.method) == (row["learner"], row["method"])
    assert found.metric == "macro_auc_pr"
    if difference == 1e-14:  # another machine's last bits
        assert checked.differing == ()
        assert 0 < checked.largest_difference < 1e-12
    else:
        assert checked.differing == (found,)
        assert found.difference == pytest.approx(difference or abs(true - float(wrong)))


@pytest.fixture(scope="module")
def stacked(tiny, tmp_path_factory):
    """Cells of a method with a second level, and of one without."""
    second = Component("StackedBagging", {"n_estimators": 2})
    methods = (Method("Default"), Method("Stacked", ensemble=second))
    study = replace(tiny.only(datasets=["two"], learners=["MLkNN"]), methods=methods)
    store = tmp_path_factory.mktemp("stacked") / "s.store"
    assert run_study(study, store, executor="serial").done == 4
    return store


@pytest.mark.slow
@pytest.mark.parametrize(
    ("apart", "same"), [(5e-7, {"Stacked"}), (1e-5, set()), (1e-14, {"Stacked", "Default"})]
)
def test_only_a_second_level_may_differ_by_more_than_last_bits(stacked, tmp_path, apart, same):
    """Its sums depend on the processor: 1.5e-7 was seen in one AUC."""
    folder = tmp_path / "results"
    export_results(stacked, folder)
    for number in range(4):
        true = float(change(folder, number)["macro_auc_roc"])
        change(folder, number, macro_auc_roc=repr(true + (apart if true < 0.5 else -apart)))
    checked = verify_results(folder, sample=None)
    assert {one.cell.method for one in checked.cells if one.same} == same
    assert checked.n_exact == 0
    assert checked.n_within == 2 * len(same)
    assert len(checked.differing) == 4 - 2 * len(same)


@pytest.mark.parametrize(
    ("method", "apart", "agree"),
    [("Stacked", 5e-7, True), ("Stacked", 1e-5, False), ("Default", 5e-7, False)],
)
def test_stores_are_merged_by_the_same_tolerance(stacked, tmp_path, method, apart, agree):
    other, into = tmp_path / "other.store", tmp_path / "all.store"
    rows = Store(stacked).rows()
    for row in rows:
        if row["method"] == method:
            row["macro_auc_roc"] += apart
    Store(other).add(rows)
    Store(other).remember(import_results(stacked).study)
    if not agree:
        with pytest.raises(StudyError, match=f"agree on the cells they share.*{method}"):
            merge_results([stacked, other], into)
        return
    assert merge_results([stacked, other], into).total == 4
    assert merge_results([other], into).new == 0  # into a store that has them, too
    kept = {cell_of(row): row["macro_auc_roc"] for row in Store(into).rows()}
    assert kept == {cell_of(row): row["macro_auc_roc"] for row in Store(stacked).rows()}


@pytest.mark.slow
def test_a_cell_that_cannot_be_computed_any_more_differs(folder):
    plan = (folder / "study.toml").read_text()
    (folder / "study.toml").write_text(plan.replace("sampling_ratio = 0.3", "sampling_ratio = -9"))
    checked = verify_results(folder, sample=None, datasets=["one"])
    assert {one.cell.method for one in checked.differing} == {"MLSOL", "EMLSOL"}
    assert all("sampling_ratio" in one.error for one in checked.differing)


def test_wrong_questions(folder):
    with pytest.raises(StudyError, match="there is no part 'nonsense'"):
        verify_results(folder, datasets=["nonsense"])
    with pytest.raises(StudyError, match="sample=0"):
        verify_results(folder, sample=0)


@pytest.mark.slow
@pytest.mark.data
def test_real_data_with_nominal_features(data_dir, tmp_path):
    study = load_study("paper").only(
        datasets=["flags"], learners=["BR", "RAkEL"], methods=["RHwRSMT", "EMLSOL"], repeats=1
    )
    run_study(study, tmp_path / "s.store", executor="serial")
    export_results(tmp_path / "s.store", tmp_path / "flags")
    assert verify_results(tmp_path / "flags", sample=None).n_exact == 8
