"""Tables of scores, cost, disagreement, and of what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labelance.report._names import plain, slug
from labelance.report._ranking import Block
from labelance.report._results import NAMES, Results
from labelance.report._table import NOTHING, Row, Table, decimals, seconds_text, where_least


def dataset_table(datasets: Any) -> Table:
    """Return the paper's Table 1 from the caller's frame: a column of names, then numbers."""
    frame = datasets.reset_index() if datasets.index.name == "dataset" else datasets
    if "dataset" in frame:
        frame = frame[["dataset", *(column for column in frame if column != "dataset")]]
    name, *columns = frame.columns
    rows = [
        Row((plain(line[0]),), tuple(map(_figure, line[1:])))
        for line in frame[[name, *columns]].itertuples(index=False, name=None)
    ]
    return Table(
        "datasets",
        "Table 1: datasets",
        ("Dataset",),
        tuple(map(plain, columns)),
        rows,
        note="n, d, q: instances, features and labels; LC: label cardinality; MeanImR: mean over "
        "labels of majority divided by minority instances.",
    )


def _figure(value: Any) -> str:
    """Write whole numbers whole and others with four figures, as the paper's Table 1 does."""
    if isinstance(value, str):
        return plain(value)
    if value != value:
        return NOTHING
    return str(int(value)) if value == int(value) else f"{value:.4g}"


def score_table(block: Block, means: Any, methods: Sequence[str]) -> Table:
    """Return mean ± sd over folds, dataset x method, for one measure and learner."""
    here = means[(means["metric"] == block.metric) & (means["learner"] == block.learner)]
    found = {(row.dataset, row.method): row for row in here.itertuples(index=False)}
    rows = []
    for dataset in sorted(set(here["dataset"])):
        line = [found.get((dataset, method)) for method in methods]
        lowest = [-row.mean if row else float("nan") for row in line]
        mark = " *" if dataset in block.left_out else ""
        cells = tuple(map(_mean_sd, line))
        rows.append(Row((dataset + mark,), cells, where_least(lowest, digits=3)))
    if block.comparison is not None:
        ranks = block.comparison.average_ranks
        values = [float(ranks[name]) for name in methods]
        cells = tuple(decimals(rank, 2) for rank in values)
        best = where_least(values, digits=2)
        rows.append(Row(("Average rank",), cells, best, is_total=True))
    return Table(
        f"scores-{slug(block.metric_name)}-{slug(block.learner)}",
        f"{block.metric_name} of {block.learner} on each dataset",
        ("Dataset",),
        tuple(methods),
        rows,
        note="Mean ± standard deviation over folds." + _star(block),
    )


def _mean_sd(row: Any) -> str:
    if row is None:
        return NOTHING
    return f"{row.mean:.3f} ± {row.std:.3f}" if row.count > 1 else f"{row.mean:.3f}"


def _star(block: Block) -> str:
    return " * Not complete, and so not ranked." if block.left_out else ""


def cost_tables(results: Results) -> list[Table]:
    """Return CPU seconds of all finished cells: learner x method and dataset x method."""
    if "cpu_seconds" not in results.done or results.done["cpu_seconds"].isna().all():
        return []
    cells = results.done
    note = f"CPU seconds of {cells['cpu_seconds'].notna().sum():,} finished cells, added up."
    orders = {"learner": results.learners, "dataset": results.datasets}
    return [_cost(cells, by, names, results.methods, note=note) for by, names in orders.items()]


def _cost(cells: Any, by: str, names: Sequence[str], methods: Sequence[str], *, note: str) -> Table:
    sums = cells.pivot_table("cpu_seconds", by, "method", "sum", margins=True, margins_name="\0")
    sums = sums.reindex(index=[*names, "\0"], columns=[*methods, "\0"])
    lines = list(zip([*names, "Total"], sums.to_numpy()))
    return Table(
        f"cost-by-{by}",
        f"Cost by {by} and method",
        (by.capitalize(),),
        (*methods, "Total"),
        [Row((name,), tuple(map(seconds_text, line))) for name, line in lines[:-1]]
        + [Row(("Total",), tuple(map(seconds_text, lines[-1][1])), is_total=True)],
        note=note,
    )


def disagreement_table(results: Results) -> Table | None:
    """Return how much the members of the ensembles disagree; None where nobody measured."""
    if "member_disagreement" not in results.done:
        return None
    cells = results.done[results.done["member_disagreement"].notna()]
    if cells.empty:
        return None
    methods = [method for method in results.methods if method in set(cells["method"])]
    means = cells.pivot_table("member_disagreement", "learner", "method", "mean")
    learners = [name for name in results.learners if name in means.index]
    rows = [
        Row((name,), tuple(decimals(value, 4) for value in means.loc[name].reindex(methods)))
        for name in learners
    ]
    return Table(
        "disagreement",
        "How much the members of an ensemble disagree",
        ("Learner",),
        tuple(methods),
        rows,
        note="Mean over all finished cells. Members that always agree gain nothing from voting.",
    )


def incomplete_table(results: Results) -> Table | None:
    """Return the datasets, learners and methods that lack cells; None where none does."""
    done = results.done.groupby(NAMES).size()
    failed = results.failed.groupby(NAMES).size()
    errors = results.failed.groupby(NAMES)["error"].first()
    rows = []
    methods = {learner: results.methods_of(learner) for learner in results.learners}
    for dataset in results.datasets:
        for key in ((dataset, learner, m) for learner in methods for m in methods[learner]):
            n_done, n_failed = int(done.get(key, 0)), int(failed.get(key, 0))
            if n_done == results.n_folds:
                continue
            missing = results.n_folds - n_done - n_failed
            cells = (str(n_done), str(n_failed), str(missing), _last_line(errors.get(key, "")))
            rows.append(Row(key, cells))
    if not rows:
        return None
    return Table(
        "incomplete",
        "Missing and failed cells",
        ("Dataset", "Learner", "Method"),
        ("Done", "Failed", "Missing", "First error"),
        rows,
        note=f"Complete would be {results.n_folds} each. "
        "A dataset is ranked under a learner only where all methods are complete.",
    )


def _last_line(error: str) -> str:
    """Return what a traceback ends with; the rest is in the store."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return plain(lines[-1])[:200] if lines else ""
