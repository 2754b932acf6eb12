"""Every figure of the tables, against a loop that one can read."""

import statistics

import numpy as np
import pandas as pd
import pytest

from labelance.exceptions import InputError
from labelance.report import paper_table2, study_tables, write_report
from labelance.study.statistics import compare

METRICS = {"macro_f1": "F-measure", "macro_auc_roc": "AUC-ROC", "macro_auc_pr": "AUCPR"}


def cells_of(results, **where):
    """The rows with these values, in the order of folds."""
    for column, value in where.items():
        results = results[results[column] == value]
    return results.sort_values(["repeat", "fold"])


def mean_scores(results, metric, learner):
    """Dataset -> method -> mean over folds, one cell at a time."""
    scores = {}
    for dataset in sorted(set(results["dataset"])):
        scores[dataset] = {}
        for method in ("Default", "MLSOL", "EMLSOL"):
            cells = cells_of(results, dataset=dataset, learner=learner, method=method)
            scores[dataset][method] = statistics.fmean(cells[metric])
    return scores


def ranks_by_hand(scores):
    """Average over datasets of 1 + how many are better + half of how many are as good."""
    total = {}
    for by_method in scores.values():
        for method, mine in by_method.items():
            others = [other for name, other in by_method.items() if name != method]
            better = sum(other > mine for other in others)
            same = sum(other == mine for other in others)
            total[method] = total.get(method, 0) + 1 + better + same / 2
    return {method: rank / len(scores) for method, rank in total.items()}


@pytest.mark.slow
def test_table2_is_the_mean_of_ranks_with_wins_and_losses(results):
    table = study_tables(results)["table2"]
    for metric, name in METRICS.items():
        rows = table[table["Measure"] == name].set_index("Learner")
        total = dict.fromkeys(["Default", "MLSOL", "EMLSOL"], (0, 0))
        for learner in ("BR", "MLkNN"):
            scores = mean_scores(results, metric, learner)
            ranks = ranks_by_hand(scores)
            tested = compare(pd.DataFrame(scores).T)
            for method, rank in ranks.items():
                wins, losses = tested.wins[method], tested.losses[method]
                assert rows.loc[learner, method] == f"{rank:.2f} ({wins}/{losses})"
                total[method] = (total[method][0] + wins, total[method][1] + losses)
        for method, (wins, losses) in total.items():
            assert rows.loc["Total", method] == f"{wins}/{losses}"


@pytest.mark.slow
def test_wins_equal_losses_in_every_row(results):
    ranks = study_tables(results)["ranks"]
    sums = ranks.groupby(["metric", "learner"])[["wins", "losses"]].sum()
    assert (sums["wins"] == sums["losses"]).all()
    assert sums["wins"].sum() > 0, "a table without wins would show nothing"


@pytest.mark.slow
def test_scores_are_means_and_deviations_over_folds(results):
    tables = study_tables(results)
    for metric, name in METRICS.items():
        for learner in ("BR", "MLkNN"):
            table = tables[f"scores-{name.lower()}-{learner.lower()}"].set_index("Dataset")
            for dataset in "abcdefgh":
                for method in ("Default", "MLSOL", "EMLSOL"):
                    values = cells_of(results, dataset=dataset, learner=learner, method=method)
                    mean = statistics.fmean(values[metric])
                    sd = statistics.stdev(values[metric])
                    assert table.loc[dataset, method] == f"{mean:.3f} ± {sd:.3f}"


@pytest.mark.slow
def test_cost_is_the_sum_of_cpu_seconds(results):
    tables = study_tables(results)
    for by in ("learner", "dataset"):
        table = tables[f"cost-by-{by}"].set_index(by.capitalize())
        for name in set(results[by]):
            for method in ("Default", "MLSOL", "EMLSOL"):
                seconds = sum(cells_of(results, **{by: name, "method": method})["cpu_seconds"])
                assert float(table.loc[name, method]) == pytest.approx(seconds, abs=0.05)
        assert float(table.loc["Total", "Total"]) == pytest.approx(
            sum(results["cpu_seconds"]), rel=0.005
        )


@pytest.mark.slow
def test_the_order_of_rows_does_not_matter(results):
    one, other = study_tables(results), study_tables(results.sample(frac=1, random_state=1))
    assert one.keys() == other.keys()
    for name in one:
        pd.testing.assert_frame_equal(one[name], other[name])


def ranks_under(tables, learner):
    ranks = tables["ranks"]
    return ranks[ranks["learner"] == learner].reset_index(drop=True)


@pytest.mark.slow
def test_incomplete_datasets_are_not_ranked(results):
    where = {"dataset": "c", "learner": "BR", "method": "MLSOL", "fold": 1}
    short = results.drop(index=cells_of(results, **where).index)
    found, whole = study_tables(short), study_tables(results)
    without_c = study_tables(results[results["dataset"] != "c"])
    assert ranks_under(found, "BR").equals(ranks_under(without_c, "BR"))
    assert ranks_under(found, "MLkNN").equals(ranks_under(whole, "MLkNN"))
    missing = found["incomplete"]
    assert missing.iloc[0].tolist() == ["c", "BR", "MLSOL", "2", "0", "2", ""]
    assert len(missing) == 1


@pytest.mark.slow
def test_failed_cells_are_told_and_not_counted(results):
    first = results.index[(results["dataset"] == "a") & (results["method"] == "EMLSOL")][0]
    results.loc[first, ["status", "error"]] = ["failed", "Traceback\n  line\nValueError: no rows"]
    results.loc[first, list(METRICS)] = np.nan
    missing = study_tables(results)["incomplete"]
    assert missing.iloc[0].tolist()[3:] == ["3", "1", "0", "ValueError: no rows"]


@pytest.mark.slow
def test_folds_undefined_for_all_methods_leave_all_means(results):
    undefined = (results["dataset"] == "b") & (results["repeat"] == 0) & (results["fold"] == 0)
    holes = results.copy()
    holes.loc[undefined, "macro_auc_roc"] = np.nan
    scores = study_tables(holes)["scores"]
    b = scores[(scores["dataset"] == "b") & (scores["metric"] == "AUC-ROC")]
    assert b["folds"].tolist() == b["expected_folds"].tolist() == [3] * 6
    ranks = study_tables(holes)["ranks"]
    assert (ranks["datasets"] == 8).all()


@pytest.mark.slow
def test_a_fold_undefined_for_one_method_leaves_the_dataset_out(results):
    one = (results["dataset"] == "b") & (results["method"] == "MLSOL") & (results["fold"] == 0)
    results.loc[one, "macro_auc_roc"] = np.nan
    ranks = study_tables(results)["ranks"].groupby("metric")["datasets"].first()
    assert ranks.to_dict() == {"F-measure": 8, "AUC-ROC": 7, "AUCPR": 8}


@pytest.mark.slow
def test_a_measure_nobody_has_is_not_shown(results):
    results["macro_auc_pr"] = np.nan
    assert set(study_tables(results)["table2"]["Measure"]) == {"F-measure", "AUC-ROC"}


@pytest.mark.slow
def test_two_configurations_never_meet(results):
    both = pd.concat([results, results.assign(config="ba9876543210")])
    with pytest.raises(InputError, match=r"one configuration only\. 2 of these.*config="):
        study_tables(both)
    chosen = study_tables(both, config="ba98")["table2"]
    pd.testing.assert_frame_equal(chosen, study_tables(results)["table2"])
    with pytest.raises(InputError, match=r"config='fff' must match one.*0 of.*ba9876543210"):
        study_tables(both, config="fff")


def test_results_without_rows_are_told_to_run_the_study(results):
    with pytest.raises(InputError, match=r"None of 0 rows is done.*Run the study first"):
        study_tables(results.iloc[:0])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda results: results.drop(columns="fold"), "Missing: fold"),
        (lambda results: pd.concat([results, results.head(2)]), "2 of 194 rows repeat a cell"),
        (lambda results: results.assign(status="failed"), "None of 192 rows is done"),
        (lambda results: results.to_dict("list"), "Got a dict"),
    ],
)
def test_what_is_no_table_of_cells_is_refused(results, spoil, message):
    with pytest.raises(InputError, match=message):
        study_tables(spoil(results))


@pytest.mark.slow
def test_few_datasets_are_said_to_be_too_few(results_of):
    tests = study_tables(results_of(datasets="abc"))["tests"]
    assert set(tests["A pair can be significant"]) == {"no"}
    assert set(study_tables(results_of(datasets="a"))["table2"]["EMLSOL"]) == {"–"}


def test_one_complete_dataset_is_not_called_incomplete(results_of, tmp_path):
    path = write_report(results_of(datasets="a", learners=["BR"]), tmp_path / "r.md")
    text = path.read_text(encoding="utf-8")
    assert "1 complete dataset with 3 methods: too little to rank" in text
    assert "No dataset is complete" not in text
    assert text.count("it takes two complete datasets and two methods") == 2


@pytest.mark.slow
def test_more_than_ten_methods_are_compared(results_of):
    many = results_of(methods=[f"m{number:02}" for number in range(12)], repeats=1)
    assert len(study_tables(many)["ranks"]) == 12 * 2 * 3


@pytest.mark.slow
def test_other_methods_do_not_move_the_ranks_beside_the_paper(results_of):
    of_paper = ("flags", "scene", "yeast")  # only on its data are ranks shown beside its own
    results = results_of(datasets=of_paper)
    extra = results_of(datasets=of_paper, methods=["mine"]).assign(macro_f1=0.99)
    with_mine = study_tables(pd.concat([results, extra]))
    pd.testing.assert_frame_equal(with_mine["beside-paper"], study_tables(results)["beside-paper"])
    assert "mine" in with_mine["table2"]


@pytest.mark.slow
def test_the_paper_agrees_with_itself():
    """Scores made from the paper's ranks give its own order back, in every row."""
    paper = paper_table2()
    names = {name: column for column, name in METRICS.items()}
    rows = [
        {
            "dataset": dataset,
            "learner": row.learner,
            "method": row.method,
            "repeat": 0,
            "fold": 0,
            names[row.metric]: 1 - row.average_rank / 10,
        }
        for row in paper.itertuples()
        for dataset in ("flags", "scene", "yeast")
    ]
    results = pd.DataFrame(rows).groupby(["dataset", "learner", "method", "repeat", "fold"])
    tables = study_tables(results.first().reset_index())
    assert (tables["agreement"][list(names)].astype(float) >= 0.98).all(axis=None)
    first = tables["first-places"].set_index("Method")
    assert first.loc["EMLSOL"].tolist() == ["17", "17"]
    assert first.loc["EMLSMOTE"].tolist() == ["1", "1"]


def test_the_papers_table_keeps_its_laws():
    paper = paper_table2()
    rows = paper.groupby(["metric", "learner"])
    assert len(paper) == 126
    assert (rows["wins"].sum() == rows["losses"].sum()).all()
    # Seven methods share the ranks 1 to 7; the paper prints two decimals.
    assert rows["average_rank"].sum().to_numpy() == pytest.approx(28, abs=0.04)
    totals = paper.groupby(["metric", "method"])[["wins", "losses"]].sum()
    assert totals.loc[("F-measure", "EMLSOL")].tolist() == [28, 0]
    assert totals.loc[("AUCPR", "RHwRSMT")].tolist() == [0, 25]


@pytest.mark.slow
def test_table1_shows_what_the_caller_knows(results):
    datasets = pd.DataFrame(
        {"dataset": ["flags", "corel5k"], "n": [194, 5000], "MeanImR": [2.7533, 521.96]}
    )
    table = study_tables(results, datasets=datasets)["datasets"]
    assert table.to_numpy().tolist() == [["flags", "194", "2.753"], ["corel5k", "5000", "522"]]


@pytest.mark.slow
def test_other_data_are_not_compared_with_the_paper(results_of):
    tables = study_tables(results_of(datasets=("mine", "flags", "scene")))
    assert "beside-paper" not in tables
    assert "agreement" not in tables
    assert list(tables["first-places"].columns)[:1] == ["Method"]
    assert not any("paper" in column for column in tables["first-places"].columns)


@pytest.mark.slow
def test_methods_and_learners_come_in_the_order_asked_for(results):
    asked = {"methods": ["EMLSOL", "other", "Default"], "learners": ["MLkNN", "BR"]}
    tables = study_tables(results, **asked)
    assert list(tables["table2"].columns[2:]) == ["EMLSOL", "Default", "MLSOL"]
    assert list(tables["table2"]["Learner"][:2]) == ["MLkNN", "BR"]
    assert list(tables["cost-by-learner"]["Learner"])[:2] == ["MLkNN", "BR"]


@pytest.mark.slow
def test_seconds_of_a_table_have_the_same_decimals(results):
    results["cpu_seconds"] = np.geomspace(0.001, 100, len(results))
    table = study_tables(results)["cost-by-dataset"]
    cells = table.drop(columns="Dataset").to_numpy().ravel()
    assert {len(cell.partition(".")[2]) for cell in cells} == {1}
