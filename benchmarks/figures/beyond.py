"""Is stacked bagging better than the paper's seven methods, and than bagging? Study beyond.

The comparisons were fixed before the results: MLSOLBagging against EMLSOL and against Bagging, for
every learner and measure, by exact Wilcoxon tests with Holm's correction over all 36; and all nine
methods in one table with that of Bergmann and Hommel. A dataset counts under a learner when all
folds of all nine methods are done there.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from figures.tables import (
    LEARNERS,
    MEASURES,
    disagreement,
    gap,
    header,
    holm,
    markdown,
    means,
    plain,
    read_cells,
    wilcoxon,
)
from labelance.report import study_tables

OURS, RIVALS = "MLSOLBagging", ("EMLSOL", "Bagging")
METHODS = (
    "Default",
    "MLSMOTE",
    "RHwRSMT",
    "MLSOL",
    "EMLSMOTE",
    "ERHwRSMT",
    "EMLSOL",
    "Bagging",
    OURS,
)
# Not looked at before the method was chosen.
UNSEEN = ("bibtex", "corel5k", "rcv1subset1", "rcv1subset2", "yahoo-Arts1", "yahoo-Business1")
LEVEL = 0.05


def beyond_figures(paper_folder: Path, folder: Path) -> dict[str, str]:
    """Return the figures of both studies side by side."""
    beyond = read_cells(folder)
    cells = side_by_side(read_cells(paper_folder), beyond)
    n_done = len(beyond[beyond["status"] == "done"])
    whole = cells[["learner", "dataset"]].drop_duplicates()
    counts = whole.groupby("learner").size().reindex(LEARNERS).fillna(0).astype(int)
    found = {
        "share": f"{n_done:,} of 1,560 cells ({n_done / 1560:.0%}); datasets complete: "
        + ", ".join(f"{learner} {count}" for learner, count in counts.items())
    }
    if not len(cells):
        return found
    scores = means(cells)
    tables = study_tables(cells, methods=METHODS)
    compared = tests(scores)
    for rival in RIVALS:
        found[f"planned-{rival}"] = planned(compared, rival)
        found[f"verdict-{rival}"] = verdict(compared[compared["rival"] == rival])
        unseen = scores[scores.index.get_level_values("dataset").isin(UNSEEN)]
        found["unseen"] = "None of them is complete yet."
        if len(unseen):
            found["unseen"] = "Complete: " + ", ".join(unseen.index.unique("dataset")) + "."
            found[f"unseen-{rival}"] = planned(tests(unseen), rival)
    return found | {
        "first": first_places(tables["table2"]),
        "n-first": str(tables["first-places"].set_index("Method").iloc[:, 0][OURS]),
        "n-ahead": str(((compared["holm"] < LEVEL) & (compared["gap"] > 0)).sum()),
        "ranks": plain(tables["table2"].reset_index(drop=True)),
        "first-places": plain(tables["first-places"].iloc[:, :2].reset_index(drop=True)),
        "by-dataset": by_dataset(scores),
        "costs": costs(cells),
        "disagreement": disagreement(cells, [*RIVALS, OURS]),
    }


def side_by_side(paper: pd.DataFrame, beyond: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of both studies as those of one, where folds of all methods are done."""
    cells = pd.concat([paper, beyond], ignore_index=True).assign(config="nine methods")
    cells = cells[(cells["status"] == "done") & cells["method"].isin(METHODS)]
    folds = len(cells[["repeat", "fold"]].drop_duplicates())
    sizes = cells.groupby(["learner", "dataset"])["method"].transform("size")
    return cells[sizes == folds * len(METHODS)]


def tests(scores: pd.DataFrame) -> pd.DataFrame:
    """Return every planned comparison: gap, datasets won, p and p by Holm."""
    lines = []
    for rival in RIVALS:
        for learner in LEARNERS:
            if learner not in scores.index.get_level_values("learner"):
                continue
            table = scores.loc[learner].unstack("method")
            for measure in MEASURES:
                pair = table[measure][[OURS, rival]]
                gaps = pair[OURS] - pair[rival]
                p = wilcoxon(pair, OURS, rival)
                lines.append((rival, learner, measure, gaps.mean(), (gaps > 0).sum(), len(gaps), p))
    names = ["rival", "learner", "measure", "gap", "won", "n", "p"]
    found = pd.DataFrame(lines, columns=names)
    return found.assign(holm=holm(found["p"].to_numpy()))


def planned(found: pd.DataFrame, rival: str) -> str:
    lines = header(f"{OURS} minus {rival}")
    of = found[found["rival"] == rival]
    for learner in of["learner"].unique():
        cells = [_cell(of[(of["learner"] == learner) & (of["measure"] == m)]) for m in MEASURES]
        lines.append(f"| {learner} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(line: pd.DataFrame) -> str:
    row = line.iloc[0]
    star = "*" if row["holm"] < LEVEL else ""
    return f"{row['gap']:+.4f} ({row['won']} of {row['n']}){star}"


def first_places(table2: pd.DataFrame) -> str:
    """Return in how many rows of the table our method has the best average rank."""
    ranked = table2[table2["Learner"].isin(LEARNERS)]
    ranks = ranked[list(METHODS)].map(lambda cell: float(cell.split()[0]))
    first = ranks[OURS] == ranks.min(axis=1)
    shared = first & (ranks.eq(ranks.min(axis=1), axis=0).sum(axis=1) > 1)
    of = ", ".join(
        f"{count} of {size} in {measure}"
        for measure, count, size in first.groupby(ranked["Measure"], sort=False)
        .agg(["sum", "size"])
        .itertuples()
    )
    return (
        f"The best average rank of nine in {first.sum()} of {len(first)} rows, {shared.sum()} of "
        f"them shared ({of})."
    )


def verdict(found: pd.DataFrame) -> str:
    """Return how many of the planned comparisons are won and lost, and which are lost."""
    sure = found["holm"] < LEVEL
    won, lost = found["gap"] > 0, found["gap"] < 0
    words = (
        f"better in {won.sum()} of {len(found)} rows, significantly (Holm, 5%) in "
        f"{(won & sure).sum()}; worse in {lost.sum()}, significantly in {(lost & sure).sum()}"
    )
    names = found[lost].groupby("measure", sort=False)["learner"].agg(", ".join)
    behind = "; ".join(
        f"{MEASURES[measure]} under {names[measure]}" for measure in MEASURES if measure in names
    )
    return words + (f" ({behind})" if behind else "")


def by_dataset(scores: pd.DataFrame) -> str:
    """Return gaps to both rivals, the mean over learners, for every dataset."""
    parts = {
        f"{name}, − {rival}": gap(scores, OURS, rival)[measure].groupby("dataset").mean()
        for rival in RIVALS
        for measure, name in MEASURES.items()
    }
    return markdown(pd.DataFrame(parts), "dataset", "{:+.4f}")


def costs(cells: pd.DataFrame) -> str:
    """Return CPU seconds of a fold, sampling included, summed over datasets.

    Of the folds of a dataset the median counts: the first may have compiled something.
    """
    of = cells[cells["method"].isin([OURS, *RIVALS])]
    folds = of.groupby(["learner", "method", "dataset"])["cpu_seconds"].median()
    table = folds.groupby(["learner", "method"]).sum().unstack("method")
    table = table.reindex([one for one in LEARNERS if one in table.index])[[*RIVALS, OURS]]
    table[f"{OURS} / EMLSOL"] = table[OURS] / table["EMLSOL"]
    return markdown(table, "learner", "{:.1f}")
