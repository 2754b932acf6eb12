"""A report, recomputed by hand to the last figure."""

from collections import defaultdict
from functools import cache
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from labelance.report import write_report
from labelance.study import load_study, run_study

METHODS = ["Default", "MLSMOTE", "RHwRSMT", "MLSOL", "EMLSMOTE", "ERHwRSMT", "EMLSOL"]
MEASURES = {"F-measure": "macro_f1", "AUC-ROC": "macro_auc_roc", "AUCPR": "macro_auc_pr"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "cells"),
    [
        ({"methods": ["Default"], "learners": ["MLkNN"]}, 10 * 2),
        ({"datasets": ["small"]}, 7 * 2 * 2),
    ],
    ids=["every dataset", "every method and learner"],
)
def test_the_quick_study_runs(part, cells, tmp_path):
    study = load_study("quick").only(**part, repeats=1)
    outcome = run_study(study, tmp_path / "quick.store", executor="serial")
    assert (outcome.done, outcome.failed) == (cells, 0)


@pytest.fixture(scope="module")
def frame(results_of):
    """Results as the quick study has them, with ties: scores have two digits."""
    made = results_of(datasets="abcdefghij", methods=METHODS, repeats=1)
    return made.round(dict.fromkeys(MEASURES.values(), 2))


@pytest.fixture(scope="module")
def tables(frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report") / "tables"
    write_report(frame, folder)
    return {path.stem: pd.read_csv(path, dtype=str) for path in folder.glob("*.csv")}


def scores_of_folds(frame, measure):
    """Return lists of scores, by dataset, learner and method."""
    found = defaultdict(list)
    for row in frame.sort_values("fold").to_dict("records"):
        found[row["dataset"], row["learner"], row["method"]].append(row[measure])
    return found


def rank(values):
    """Rank 1 is the largest; equals share the mean of their places."""
    return [
        1 + sum(other > value for other in values) + (values.count(value) - 1) / 2
        for value in values
    ]


@cache
def sign_patterns(n):
    return np.array(list(product((0, 1), repeat=n)))


def signed_rank_p(gaps):
    """Return p of all sign patterns, and the two rank sums; zeros are ranked and split."""
    gaps = [round(gap, 12) for gap in gaps]
    ranks = [len(gaps) + 1 - r for r in rank([abs(gap) for gap in gaps])]
    half = sum(r for r, gap in zip(ranks, gaps) if gap == 0) / 2
    moving = [r for r, gap in zip(ranks, gaps) if gap != 0]
    plus = half + sum(r for r, gap in zip(ranks, gaps) if gap > 0)
    minus = half + sum(r for r, gap in zip(ranks, gaps) if gap < 0)
    if not moving:
        return 1.0, plus, minus
    sums = half + sign_patterns(len(moving)) @ moving
    lower = np.mean(sums <= min(plus, minus) + 1e-9)
    upper = np.mean(sums >= max(plus, minus) - 1e-9)
    return min(1.0, lower + upper), plus, minus


def partitions(items):
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for smaller in partitions(rest):
        for place, block in enumerate(smaller):
            yield [*smaller[:place], [first, *block], *smaller[place + 1 :]]
        yield [[first], *smaller]


@cache
def exhaustive_sets():
    """Return the sets of pairs that can be equal together: those inside blocks of methods."""
    found = (
        [pair for block in blocks for pair in combinations(sorted(block), 2)]
        for blocks in partitions(list(range(len(METHODS))))
    )
    return [pairs for pairs in found if pairs]


def bergmann_hommel(p):
    adjusted = dict.fromkeys(p, 0.0)
    for pairs in exhaustive_sets():
        value = len(pairs) * min(p[pair] for pair in pairs)
        for pair in pairs:
            adjusted[pair] = max(adjusted[pair], value)
    return {pair: min(1.0, value) for pair, value in adjusted.items()}


def table2_row(frame, learner, measure):
    """Return the cells of a row of Table 2, from the folds, by loops."""
    folds, scores = scores_of_folds(frame, measure), []
    for dataset in frame["dataset"].unique():
        cells = [folds[dataset, learner, method] for method in METHODS]
        assert all(len(pair) == 2 for pair in cells)
        scores.append([sum(pair) / 2 for pair in cells])
    ranks = np.mean([rank([round(value, 12) for value in row]) for row in scores], axis=0)
    p, sums = {}, {}
    for a, b in combinations(range(7), 2):
        p[a, b], *sums[a, b] = signed_rank_p([row[a] - row[b] for row in scores])
    wins, losses = [0] * 7, [0] * 7
    for (a, b), value in bergmann_hommel(p).items():
        if value <= 0.05:
            plus, minus = sums[a, b]
            winner, loser = (a, b) if plus > minus else (b, a)
            wins[winner] += 1
            losses[loser] += 1
    return [f"{r:.2f} ({won}/{lost})" for r, won, lost in zip(ranks, wins, losses)]


@pytest.mark.slow
def test_table2_by_hand(frame, tables):
    table, significant = tables["table2"], 0
    for name, measure in MEASURES.items():
        for learner in ("BR", "MLkNN"):
            shown = table[(table["Measure"] == name) & (table["Learner"] == learner)]
            wanted = table2_row(frame, learner, measure)
            assert shown[METHODS].iloc[0].tolist() == wanted, (name, learner)
            significant += sum(cell.endswith("/0)") and "(0/" not in cell for cell in wanted)
    assert significant > 0  # ten datasets are enough for some pair


def test_scores_by_hand(frame, tables):
    for name, measure in MEASURES.items():
        folds = scores_of_folds(frame, measure)
        table = tables[f"scores-{name.lower()}-br"].set_index("Dataset")
        for dataset in frame["dataset"].unique():
            for method in METHODS:
                cells = folds[dataset, "BR", method]
                mean = sum(cells) / len(cells)
                sd = (sum((x - mean) ** 2 for x in cells) / (len(cells) - 1)) ** 0.5
                assert table.loc[dataset, method] == f"{mean:.3f} ± {sd:.3f}"
