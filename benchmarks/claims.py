"""Does the paper reproduce? Which sampler? The figures of these pages, from committed results.

    python benchmarks/claims.py results/paper results/fair            # print
    python benchmarks/claims.py results/paper results/fair --write docs/user_guide/reproduction.md
    python benchmarks/claims.py results/rivals --rivals --write docs/user_guide/methods.md

The page has places ``<!-- begin: NAME -->`` … ``<!-- end: NAME -->`` that are filled.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pandas as pd

from labelance.report import study_tables
from labelance.study import import_results
from labelance.study.statistics import compare, wilcoxon_matrix

MEASURES = {"macro_f1": "F", "macro_auc_roc": "AUC-ROC", "macro_auc_pr": "AUCPR"}
ENSEMBLES = {"MLSMOTE": "EMLSMOTE", "RHwRSMT": "ERHwRSMT", "MLSOL": "EMLSOL"}
LEARNERS = ["BR", "MLkNN", "CLR", "RAkEL", "COCOA", "ECCRU3"]


def means(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over folds: rows (learner, dataset, method), a column for each measure.

    A dataset counts under a learner when all folds of all methods are done.
    """
    done = frame[frame["status"] == "done"]
    groups = done.groupby(["learner", "dataset", "method"])
    folds = len(frame[["repeat", "fold"]].drop_duplicates())
    methods = done.groupby("learner")["method"].nunique()
    whole = (groups.size() == folds).groupby(["learner", "dataset"]).sum()
    whole = whole[whole == methods.reindex(whole.index.get_level_values("learner")).to_numpy()]
    found = groups[list(MEASURES)].mean()
    return found[found.index.droplevel("method").isin(whole.index)]


def gap(scores: pd.DataFrame, better: str, worse: str) -> pd.DataFrame:
    """Return how much better one method is, where both are there: rows (learner, dataset)."""
    both = scores.unstack("method")
    if not {better, worse} <= set(both.columns.get_level_values("method")):
        return pd.DataFrame(columns=list(MEASURES))
    return pd.DataFrame({m: both[m, better] - both[m, worse] for m in MEASURES}).dropna()


def summary(gaps: pd.DataFrame) -> str:
    """Return mean gap and how often it is above zero, for each measure."""
    return " | ".join(
        f"{gaps[m].mean():+.4f} ({(gaps[m] > 0).sum()} of {len(gaps)})" for m in MEASURES
    )


def header(first: str) -> list[str]:
    names = " | ".join(MEASURES.values())
    return [f"| {first} | {names} |", "|---|" + "---:|" * len(MEASURES)]


def ensembles_beat_singles(scores: pd.DataFrame) -> str:
    lines = header("ensemble minus single, all learners and datasets")
    for single, ensemble in ENSEMBLES.items():
        lines.append(f"| {ensemble} − {single} | {summary(gap(scores, ensemble, single))} |")
    return "\n".join(lines)


def by_learner(scores: pd.DataFrame, better: str, worse: str) -> str:
    lines = header(f"{better} minus {worse}")
    gaps = gap(scores, better, worse)
    for learner in LEARNERS:
        if learner in gaps.index.get_level_values("learner"):
            lines.append(f"| {learner} | {summary(gaps.loc[learner])} |")
    return "\n".join([*lines, f"| all | {summary(gaps)} |"])


def disagreement(frame: pd.DataFrame, methods: list[str]) -> str:
    found = frame[frame["method"].isin(methods)]
    table = found.groupby(["learner", "method"])["member_disagreement"].mean().unstack()
    table = table.reindex(index=[one for one in LEARNERS if one in table.index])
    return markdown(table[methods], "learner", "{:.3f}")


def fair(scores: pd.DataFrame) -> str:
    """Return what each rival is worth against EMLSOL and against doing nothing."""
    rivals = ["Tuned", "TunedCV", "Weights", "MLSOL", "Bagging", "BaggingMLSOL", "EMLSOL"]
    rivals.append("EMLSOL-CV")
    parts = []
    known = scores.index.get_level_values("method").unique()
    for learner in [one for one in LEARNERS if one in scores.index.get_level_values("learner")]:
        lines = header(f"{learner}: method minus Default")
        for rival in (one for one in rivals if one in known):
            gaps = gap(scores.loc[[learner]], rival, "Default")
            if len(gaps):
                lines.append(f"| {rival} | {summary(gaps)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def parts_of_the_gain(scores: pd.DataFrame) -> str:
    """Split EMLSOL's gain over Default into that of a bagged ensemble, and the rest."""
    lines = header("step, mean over datasets")
    steps = [("Bagging", "Default"), ("EMLSOL", "Bagging"), ("BaggingMLSOL", "Bagging")]
    for learner in [one for one in LEARNERS if one in scores.index.get_level_values("learner")]:
        for better, worse in steps:
            gaps = gap(scores.loc[[learner]], better, worse)
            if len(gaps):
                lines.append(f"| {learner}: {better} − {worse} | {summary(gaps)} |")
    return "\n".join(lines)


def per_dataset(scores: pd.DataFrame, learner: str, measure: str, methods: list[str]) -> str:
    table = scores.loc[learner][measure].unstack()
    return markdown(table[[m for m in methods if m in table]], "dataset", "{:.3f}")


def where_time_goes(frame: pd.DataFrame) -> str:
    """Return CPU seconds by dataset and learner, of work done once: Default and the ensembles."""
    done = frame[frame["method"].isin(["Default", *ENSEMBLES.values()])]
    table = done.pivot_table(
        index="dataset", columns="learner", values="cpu_seconds", aggfunc="sum"
    )
    table = table[[one for one in LEARNERS if one in table]]
    table["all"] = table.sum(axis=1)
    table.loc["all"] = table.sum()
    return markdown(table, "dataset", "{:.0f}")


def markdown(table: pd.DataFrame, first: str, form: str) -> str:
    lines = [f"| {first} | " + " | ".join(map(str, table.columns)) + " |"]
    lines.append("|---|" + "---:|" * len(table.columns))
    for name, row in table.iterrows():
        cells = ["" if pd.isna(value) else form.format(value) for value in row]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def plain(table: pd.DataFrame) -> str:
    """Return a table of words as Markdown."""
    head = "| " + " | ".join(map(str, table.columns)) + " |"
    rule = "|" + "---|" * len(table.columns)
    body = ["| " + " | ".join(map(str, row)) + " |" for row in table.to_numpy()]
    return "\n".join([head, rule, *body])


def figures(paper: pd.DataFrame, rivals: pd.DataFrame | None) -> dict[str, str]:
    """Return all parts of the page by name."""
    scores = means(paper)
    tables = study_tables(paper)
    counts = paper.groupby("dataset").size()
    found = {
        "share": f"{len(paper)} of 5,460 cells ({len(paper) / 5460:.1%}); "
        f"{(counts == 420).sum()} of 13 datasets complete",
        "table2": plain(tables["table2"].reset_index(drop=True)),
        "beside-paper": plain(tables["beside-paper"].reset_index(drop=True)),
        "agreement": plain(tables["agreement"].reset_index(drop=True)),
        "first-places": plain(tables["first-places"].reset_index(drop=True)),
        "ensembles": ensembles_beat_singles(scores),
        "remedial": by_learner(scores, "RHwRSMT", "Default"),
        "gain": by_learner(scores, "EMLSOL", "Default"),
        "ensembling-mlsol": by_learner(scores, "EMLSOL", "MLSOL"),
        "ensembling-mlsmote": by_learner(scores, "EMLSMOTE", "MLSMOTE"),
        "disagreement": disagreement(paper, list(ENSEMBLES.values())),
        "time": where_time_goes(paper),
    }
    if rivals is not None:
        others = means(rivals)
        found["fair"] = fair(others)
        found["parts"] = parts_of_the_gain(others)
        found["bags"] = disagreement(rivals, ["EMLSOL", "Bagging", "BaggingMLSOL"])
    return found


# Like with like: one model each, or five with tuned thresholds; and learners that are many models.
SINGLES = ["Default", "MLSMOTE", "RHwRSMT", "MLSOL", "MLBOTE", "LSDMLO"]
FIVES = ["EMLSMOTE", "ERHwRSMT", "EMLSOL", "EMLBOTE", "ELSDMLO"]
MODELS = ["Default", "EMLSOL", "PerLabel", "UCLSO", "IRUS", "MCE"]


def complete(frame: pd.DataFrame, learner: str, methods: list[str]) -> pd.DataFrame:
    """Return means over folds, rows (dataset, method), of datasets where all of that is done."""
    done = frame[
        (frame["status"] == "done") & (frame["learner"] == learner) & frame["method"].isin(methods)
    ]
    folds = len(frame[["repeat", "fold"]].drop_duplicates())
    whole = done.groupby("dataset").size() == folds * len(methods)
    done = done[done["dataset"].isin(whole.index[whole])]
    return done.groupby(["dataset", "method"])[list(MEASURES)].mean()


def ranks(frame: pd.DataFrame, methods: list[str]) -> str:
    """Return average ranks, wins and losses by Bergmann-Hommel, and Friedman's test."""
    head = ["Measure", "Learner", "datasets", *methods, "Iman-Davenport p"]
    lines = ["| " + " | ".join(head) + " |", "|---|---|---:|" + "---|" * (len(methods) + 1)]
    for measure, word in MEASURES.items():
        for learner in ("BR", "MLkNN"):
            table = complete(frame, learner, methods)[measure].unstack()[methods]
            found = compare(table)
            cells = [
                f"{found.average_ranks[m]:.2f} ({found.wins[m]}/{found.losses[m]})" for m in methods
            ]
            p = f"{found.friedman.F_p:.1e}"
            lines.append("| " + " | ".join([word, learner, str(len(table)), *cells, p]) + " |")
    return "\n".join(lines)


def against(frame: pd.DataFrame, methods: list[str], control: str) -> str:
    """Return what methods gain over one that is named beforehand, Wilcoxon p corrected by Holm."""
    parts = []
    for learner in ("BR", "MLkNN"):
        scores = complete(frame, learner, [control, *methods])
        if not len(scores):
            continue
        n = scores.index.get_level_values("dataset").nunique()
        lines = header(f"{learner}: method minus {control}, {n} datasets")
        adjusted = {m: _holm(scores[m].unstack(), methods, control) for m in MEASURES}
        for method in methods:
            both = scores.unstack("method")
            cells = [
                _gain((both[m, method] - both[m, control]), adjusted[m][method]) for m in MEASURES
            ]
            lines.append(f"| {method} | " + " | ".join(cells) + " |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def models(frame: pd.DataFrame) -> str:
    """Return what learners of many models gain, each on the datasets that it was run on."""
    head = header("BR: method minus Default")
    lines = [
        head[0].replace(" | F |", " | datasets | F |"),
        head[1].replace("|---:|", "|---:|---:|", 1),
    ]
    common = complete(frame, "BR", MODELS[:-1]).index.unique("dataset")  # MCE is the slowest
    for method in MODELS[1:]:
        both = complete(frame, "BR", ["Default", method]).unstack("method")
        both = both[both.index.isin(common)]
        gaps = pd.DataFrame({m: both[m, method] - both[m, "Default"] for m in MEASURES})
        lines.append(f"| {method} | {len(gaps)} | {summary(gaps)} |")
    return "\n".join(lines)


def _holm(table: pd.DataFrame, methods: list[str], control: str) -> dict[str, float]:
    """Return Holm's adjusted p of every method against a control."""
    p = {m: float(wilcoxon_matrix(table[[m, control]]).iloc[0, 1]) for m in methods}
    found, least = {}, 0.0
    for place, method in enumerate(sorted(p, key=p.__getitem__)):
        least = max(least, min(1.0, p[method] * (len(p) - place)))
        found[method] = least
    return found


def _gain(gaps: pd.Series, p: float) -> str:
    words = f"{gaps.mean():+.4f} ({(gaps > 0).sum()} of {len(gaps)}), p {p:.3f}"
    return f"**{words}**" if p <= 0.05 else words


def rivals_of_the_paper(frame: pd.DataFrame) -> dict[str, str]:
    """Return the parts of the page on samplers."""
    n = complete(frame, "BR", [*SINGLES, *FIVES]).index.unique("dataset").size
    folds = frame.groupby(["repeat", "fold"]).ngroups
    return {
        "rivals-share": f"Done so far: {folds} test folds on each of {n} datasets, for samplers.",
        "rivals-singles": ranks(frame, SINGLES),
        "rivals-fives": ranks(frame, FIVES),
        "rivals-default": against(frame, SINGLES[1:], "Default"),
        "rivals-emlsol": against(frame, [m for m in FIVES if m != "EMLSOL"], "EMLSOL"),
        "rivals-learners": models(frame),
    }


def fill(page: str, parts: dict[str, str]) -> str:
    """Put the parts in their places."""
    for name, text in parts.items():
        place = re.compile(rf"(<!-- begin: {name} -->\n).*?(<!-- end: {name} -->)", re.DOTALL)
        page = place.sub(lambda found, text=text: f"{found[1]}{text}\n{found[2]}", page)
    return page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paper", type=Path)
    parser.add_argument("fair", type=Path, nargs="?")
    parser.add_argument("--rivals", action="store_true", help="the first folder is of rivals")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    first = import_results(options.paper).frame()
    rivals = import_results(options.fair).frame() if options.fair else None
    parts = rivals_of_the_paper(first) if options.rivals else figures(first, rivals)
    if options.write:
        options.write.write_text(fill(options.write.read_text(), parts))
        return
    for name, text in parts.items():
        print(f"== {name}\n\n{text}\n")


if __name__ == "__main__":
    main()
