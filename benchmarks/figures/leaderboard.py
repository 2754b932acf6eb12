"""State of the art: study leaderboard next to published figures of 28 methods.

They were tuned for Hamming loss, and cut by one threshold for all labels.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from figures.tables import header, holm, markdown, read_cells, table_of, wilcoxon
from labelance.study.statistics import average_ranks

OURS = "RareLabelClassifier"
DATASETS = (
    "flags", "emotions", "birds", "genbase", "cal500", "medical", "enron", "scene", "yeast",
    "corel5k", "bibtex", "delicious",
)  # fmt: skip
MEASURES = {"macro_f1": "macro F", "micro_f1": "micro F", "lrap": "LRAP"}
PUBLISHED = {
    "macro_f1": "MACRO_F1",
    "micro_f1": "MICRO_F1",
    "lrap": "LABEL_RANKING_AVERAGE_PRECISION",
}
BANDS = {"fewer than 10 rows": (1, 10), "10 to 99": (10, 100), "100 and more": (100, np.inf)}
KEYS = ["dataset", "learner", "method"]
# A learner on fewer datasets is left out of ranks and bands: these need datasets that all learners
# have, and learners that reject sparse features would halve them.
SELDOM = 8
LEVEL = 0.05
# Learners of the board that the published study tuned too: MLkNN, RFDTBR and BR.
SEARCHED = ("MLkNN", "RandomForest", "LinearSVM")
N_SETTINGS = 3  # of each, in the sentence on what a search costs


def fold_measures(labels: pd.DataFrame) -> pd.DataFrame:
    """Return figures of folds that ``results.csv`` has not, from those of labels.

    A label that no test row has counts 0 in ``macro_f1`` (published figures fit that), and 1 in
    ``macro_f1_one`` unless it is predicted; ``macro_f1_out`` leaves it out.
    """
    there, both = labels["n_positive"] > 0, labels["n_positive"] + labels["n_predicted"]
    known = labels.assign(
        zero=labels["f1"].where(both > 0, 0.0),
        out=labels["f1"].where(there),
        hits=labels["f1"].where(there, 0.0) * both / 2,
        both=both,
        no_rows=~there,
    )
    groups = known.groupby([*KEYS, "fold"], sort=False)
    return pd.DataFrame(
        {
            "macro_f1": groups["zero"].mean(),
            "macro_f1_one": groups["f1"].mean(),
            "macro_f1_out": groups["out"].mean(),
            "micro_f1": 2 * groups["hits"].sum() / groups["both"].sum(),
            "lrap": groups["lrap"].mean(),
            "brier": groups["brier"].mean(),
            "empty_labels": groups["no_rows"].sum(),
        }
    ).reset_index()


def label_table(labels: pd.DataFrame) -> pd.DataFrame:
    """Return F and AUCPR of every label, means over the folds whose test rows have it.

    A row is a label and a measure, a column a learner and method: keys are not repeated.
    """
    pieces = labels["n_positive"].groupby([labels[key] for key in [*KEYS, "label"]]).sum()
    rows = pieces.groupby(["dataset", "label"]).max().rename("n_positive")
    there = labels[labels["n_positive"] > 0]
    parts = []
    for measure in ("f1", "auc_pr"):
        wide = there.pivot_table(
            index=["dataset", "label"], columns=["learner", "method"], values=measure
        )
        wide.columns = [f"{learner}/{method}" for learner, method in wide.columns]
        parts.append(wide.join(rows).assign(measure=measure))
    found = pd.concat(parts).reset_index()
    first = ["dataset", "label", "measure", "n_positive"]
    return found[[*first, *(name for name in found if name not in first)]].astype(
        {"n_positive": int}
    )


def leaderboard_figures(folder: Path) -> dict[str, str]:
    """Return the tables and sentences of the page."""
    cells, folds = read_cells(folder), pd.read_csv(folder / "measures.csv")
    published = pd.read_csv(folder / "published.csv").set_index(["dataset", "metric"])
    means = whole_means(folds.merge(cells[[*KEYS, "fold", "macro_auc_pr", "macro_auc_roc"]]))
    entries = best_form(means)
    board = entries.unstack("learner")
    labels = pd.read_csv(folder / "labels.csv")
    comparable = alike(folds, labels)
    ours = means["macro_f1"].xs((OURS, "Default"), level=("learner", "method"))
    best = published.xs(PUBLISHED["macro_f1"], level="metric").max(axis=1)
    won = ours >= best[ours.index]
    return {
        "n-ours": f"{won.reindex(comparable).sum()} of {len(comparable)}",
        "n-ours-all": f"{won.sum()} of {len(DATASETS)}",
        **ranking(means, published),
        "comparable": f"{len(comparable)} datasets ({', '.join(comparable)})",
        "answer": answer(means, published, comparable),
        "answer-all": answer(means, published, list(DATASETS)),
        "ceiling": ceiling(published),
        "n-LinearSVM": str(entries.index.get_level_values("learner").tolist().count("LinearSVM")),
        "share": share(cells),
        "missing": missing(means),
        "convention": convention(folds, published),
        **{f"table-{name}": against_published(means, published, name) for name in MEASURES},
        "ranks": ranks(board),
        "tests": tests(board),
        "bands": bands(labels),
        "costs": costs(cells),
        **searches(cells),
        "lost": lost(means, published),
    }


def whole_means(folds: pd.DataFrame) -> pd.DataFrame:
    """Return means over the folds of a dataset, where all three are done."""
    groups = folds.groupby(KEYS)
    found = groups.mean(numeric_only=True).drop(columns="fold")
    return found[groups.size() == folds["fold"].nunique()]


def best_form(means: pd.DataFrame) -> pd.DataFrame:
    """Return learners with thresholds, or as they are where they decide themselves."""
    with_them = means.xs("Thresholds", level="method")
    moved = with_them.index.unique("learner")
    alone = means.xs("Default", level="method")
    alone = alone[~alone.index.get_level_values("learner").isin(moved)]
    return pd.concat([with_them, alone])


def answer(means: pd.DataFrame, published: pd.DataFrame, datasets: list[str]) -> str:
    """Return how often macro F of learners is at or above the best of 28 on some datasets."""
    best = published.xs(PUBLISHED["macro_f1"], level="metric").max(axis=1)
    rows = []
    for (learner, method), of in means["macro_f1"].groupby(["learner", "method"]):
        of = of.droplevel(["learner", "method"])
        of = of[of.index.isin(datasets)]
        rows.append((learner, method, (of >= best[of.index]).sum(), len(of)))
    found = pd.DataFrame(rows, columns=["learner", "method", "above", "of"])
    ours = found[found["learner"] == OURS]
    others = found[found["learner"] != OURS].sort_values(["above", "of"], ascending=[False, True])
    words = [f"{form_of(one)} {one.above} of {one.of}" for one in others.head(4).itertuples()]
    mine = [f"`{OURS}` {one.above} of {one.of}" for one in ours.itertuples()]
    return "; ".join([*(mine or [f"`{OURS}` has not been run"]), *words]) + "."


def ranking(means: pd.DataFrame, published: pd.DataFrame) -> dict[str, str]:
    """Return how often the default's LRAP is above the best of 28, as the table shows both."""
    best = 100 * published.xs(PUBLISHED["lrap"], level="metric").max(axis=1)
    ours = 100 * means["lrap"].xs((OURS, "Default"), level=("learner", "method"))
    gap = (ours.round(1) - best[ours.index].round(1)).round(1)
    level, below = (gap == 0).sum(), (gap < 0).sum()
    return {
        "lrap-won": f"{(gap > 0).sum()} of {len(gap)}",
        "lrap-rest": f"{level} tied, {below} below",
    }


def alike(folds: pd.DataFrame, labels: pd.DataFrame) -> list[str]:
    """Return the datasets where hardly a label is without test rows, whatever the split."""
    sizes = labels[["dataset", "label"]].drop_duplicates().groupby("dataset").size()
    parts = folds.groupby("dataset")["empty_labels"].mean() / sizes
    return [name for name in DATASETS if parts.get(name, 1) < 0.05]


def ceiling(published: pd.DataFrame) -> str:
    """Return how many published figures of genbase crowd below 20 of its 27 labels."""
    found = published.loc[("genbase", PUBLISHED["macro_f1"])]
    near = found[(found > 0.73) & (found <= 20 / 27)]
    return (
        f"{len(near)} of the 28 have a macro F of {100 * near.min():.1f} to "
        f"{100 * near.max():.1f}, and none has more; 20 of 27 is {2000 / 27:.1f}."
    )


def form_of(line) -> str:
    return line.learner + (" with thresholds" if line.method == "Thresholds" else " as it is")


def share(cells: pd.DataFrame) -> str:
    """Return how many cells are there."""
    n_done = (cells["status"] == "done").sum()
    hours = cells["cpu_seconds"].sum() / 3600
    return (
        f"{n_done} test folds of {cells['learner'].nunique()} learners on "
        f"{cells['dataset'].nunique()} datasets, {hours:.1f} CPU hours"
    )


def missing(means: pd.DataFrame) -> str:
    """Return which datasets a learner lacks."""
    lines = []
    for (learner, method), of in means["lrap"].groupby(["learner", "method"], sort=True):
        there = of.index.get_level_values("dataset")
        if lacks := [name for name in DATASETS if name not in there]:
            form = "with thresholds" if method == "Thresholds" else "as it is"
            lines.append((learner, form, str(len(there)), ", ".join(lacks)))
    return table_of(("learner", "form", "datasets done", "not done"), lines)


def convention(folds: pd.DataFrame, published: pd.DataFrame) -> str:
    """Return macro F by what a label without test rows counts, next to published figures."""
    pairs = {"MLkNN": "MLkNN", "RandomForest": "RFDTBR"}
    lines = []
    for dataset in ("genbase", "medical", "enron", "corel5k"):
        for learner, theirs in pairs.items():
            of = folds[folds[KEYS].eq([dataset, learner, "Default"]).all(axis=1)]
            if of.empty:
                continue
            names = ["empty_labels", "macro_f1", "macro_f1_out", "macro_f1_one"]
            empty, *found = of[names].mean()
            reached = published.loc[(dataset, PUBLISHED["macro_f1"])]
            told = [*found, reached[theirs], reached.max()]
            words = [f"{100 * value:.1f}" for value in told]
            lines.append((dataset, f"{learner} ({theirs})", f"{empty:.0f}", *words))
    head = ("dataset", "learner (published as)", "empty labels", "as 0", "left out", "as 1")
    return table_of((*head, "published", "best of 28"), lines)


def against_published(means: pd.DataFrame, published: pd.DataFrame, measure: str) -> str:
    """Return for every dataset the best of 28, ours, and the best learner in both forms."""
    theirs = published.xs(PUBLISHED[measure], level="metric")
    forms = {"Default": "best as it is", "Thresholds": "best with thresholds"}
    if measure == "lrap":
        del forms["Thresholds"]  # they do not change scores
    lines = []
    for dataset in [name for name in DATASETS if name in means.index.unique("dataset")]:
        of = 100 * means.loc[dataset, measure].drop(OURS, level="learner", errors="ignore")
        row = 100 * theirs.loc[dataset]
        cells = [f"{row.max():.1f} ({row.idxmax()})"]
        mine = means[measure].get((dataset, OURS, "Default"))
        cells.append("" if mine is None else f"{100 * mine:.1f}")
        for method in forms:
            form = of[of.index.get_level_values("method") == method].droplevel("method")
            cells.append("" if form.empty else f"{form.max():.1f} ({form.idxmax()})")
        lines.append(f"| {dataset} | " + " | ".join(cells) + " |")
    names = ["best of 28", OURS, *forms.values()]
    return "\n".join([*header("dataset", names), *lines])


def shared(table: pd.DataFrame) -> pd.DataFrame:
    """Return the datasets that all learners with enough datasets finished."""
    return table.loc[:, table.notna().sum() >= SELDOM].dropna()


def ranks(board: pd.DataFrame) -> str:
    """Return mean ranks, the best first, over datasets that all these learners finished."""
    names = {**MEASURES, "macro_auc_pr": "AUCPR", "macro_auc_roc": "AUC-ROC", "brier": "Brier loss"}
    parts = {}
    for measure, name in names.items():
        table = shared(-board[measure] if measure == "brier" else board[measure])
        parts[name] = pd.Series(np.asarray(average_ranks(table)), table.columns)
    n = len(shared(board["macro_f1"]))
    found = pd.DataFrame(parts).sort_values("macro F")
    return markdown(found, f"mean rank on {n} datasets", "{:.1f}")


def tests(board: pd.DataFrame) -> str:
    """Return which learners the reference beats, by exact Wilcoxon tests with Holm's rule.

    A test takes all datasets that both learners finished.
    """
    table = board["macro_f1"]
    rivals = [name for name in table if name != OURS]
    p = holm(np.array([wilcoxon(table[[OURS, one]].dropna(), OURS, one) for one in rivals]))
    lines = []
    for rival, one in sorted(zip(rivals, p), key=lambda pair: pair[1]):
        gaps = 100 * (table[OURS] - table[rival]).dropna()
        sure = "yes" if one < LEVEL else "no"
        won = f"{(gaps > 0).sum()} of {len(gaps)}"
        lines.append((rival, f"{gaps.mean():+.1f}", won, f"{one:.3f}", sure))
    return table_of((f"{OURS} against", "points of F", "won", "p (Holm)", "significant"), lines)


def bands(labels: pd.DataFrame) -> str:
    """Return F and AUCPR by rarity, over the labels of the datasets that all finished."""
    columns = [name for name in labels if "/" in name]
    moved = {name.partition("/")[0] for name in columns if name.endswith("/Thresholds")}
    forms = {
        name.partition("/")[0]: name
        for name in columns
        if name.endswith("/Thresholds") or name.partition("/")[0] not in moved
    }
    there = labels.groupby("dataset")[list(forms.values())].count() > 0
    forms = {learner: name for learner, name in forms.items() if there[name].sum() >= SELDOM}
    whole = there.index[there[list(forms.values())].all(axis=1)]
    of = labels[labels["dataset"].isin(whole)]
    parts = {}
    for measure, name in (("f1", "F"), ("auc_pr", "AUCPR")):
        for words, (low, high) in BANDS.items():
            band = of[(of["measure"] == measure) & of["n_positive"].between(low, high - 0.5)]
            found = 100 * band[list(forms.values())].mean()
            parts[f"{name}, {words}"] = found.set_axis(list(forms))
    return markdown(pd.DataFrame(parts).sort_values("F, fewer than 10 rows", ascending=False),
                    f"labels of {len(whole)} datasets", "{:.1f}")  # fmt: skip


def costs(cells: pd.DataFrame) -> str:
    """Return CPU seconds of a fold by dataset: the median, as the first may have compiled."""
    done = cells[cells["status"] == "done"]
    moved = done[done["method"] == "Thresholds"]["learner"].unique()
    best = done[(done["method"] == "Thresholds") | ~done["learner"].isin(moved)]
    table = best.groupby(["learner", "dataset"])["cpu_seconds"].median().unstack("dataset")
    here = [name for name in DATASETS if name in table]
    table = table[here].sort_values("yeast")
    return markdown(table, "CPU seconds of a fold", "{:.1f}")


def searches(cells: pd.DataFrame) -> dict[str, str]:
    """Return the CPU seconds of the default next to those of a search over three learners.

    The learners are those of the table that were published as well. A search fits every setting in
    three folds, as the published one did; its last fit and its thresholds are left out.
    """
    plain = cells[(cells["status"] == "done") & (cells["method"] == "Default")]
    table = plain.groupby(["dataset", "learner"])["cpu_seconds"].median().unstack("learner")
    ours, setting = table[OURS], 3 * table[list(SEARCHED)].sum(axis=1)
    most = np.maximum(np.ceil(ours / setting), 1).astype(int)
    rows = {OURS: ours, "three learners, one setting each": setting}
    found = pd.DataFrame(rows).T[list(DATASETS)]
    counts = markdown(found, "CPU seconds", "{:.1f}")
    words = ["settings from which the search costs more", *(str(most[name]) for name in DATASETS)]
    return {
        "searches": f"{counts}\n| {' | '.join(words)} |",
        "n-searches": f"{(most <= N_SETTINGS).sum()} of {len(most)}",
        "most-settings": str(most.max()),
    }


def lost(means: pd.DataFrame, published: pd.DataFrame) -> str:
    """Return where the default is below the best of 28, or below a learner of the table."""
    best = 100 * published.xs(PUBLISHED["macro_f1"], level="metric").max(axis=1)
    score = 100 * means["macro_f1"].unstack(["learner", "method"])
    if (OURS, "Default") not in score:
        return f"`{OURS}` has not been run."
    ours = score[OURS, "Default"].dropna()
    rivals = score.drop(columns=OURS, level="learner")
    lines = []
    for dataset, mine in ours.items():
        first = rivals.loc[dataset].max()
        if mine >= best[dataset] and mine >= first:
            continue
        learner, method = rivals.loc[dataset].idxmax()
        form = "with thresholds" if method == "Thresholds" else "as it is"
        cells = (f"{mine - best[dataset]:+.1f}", f"{mine - first:+.1f} ({learner} {form})")
        lines.append((str(dataset), f"{mine:.1f}", *cells))
    return table_of(("dataset", OURS, "against the best of 28", "against the best learner"), lines)
