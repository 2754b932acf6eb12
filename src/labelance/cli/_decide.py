"""``labelance decide``: from scores of any model to decisions."""

from __future__ import annotations

import json as json_text
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer
from numpy.typing import NDArray

import labelance
from labelance._utils._files import replace_when_done
from labelance.cli._console import flags, plain, print_json, print_table, report_kept_files, say
from labelance.cli._data import (
    ForceOption,
    JsonOption,
    argument,
    check_free,
    option,
    output_option,
    takes_options,
)
from labelance.cli._scores import (
    LabelColumns,
    check_suffix,
    find_labels,
    read_other_scores,
    read_scores,
    read_truth,
    write_decisions,
)
from labelance.exceptions import InputError

_CALLED = (
    "find_thresholds", "guarantee_recall", "guarantee_precision", "decide_within_budget",
    "find_budget_rule",
)  # fmt: skip
_BUDGETS = ("per_row", "per_label", "total")
_REFUSED = 3  # an exit code of its own: decisions of the other labels are written
_MOST_LINES = 100  # of a table for people; --json has them all
_RULES = {np.inf: "never", -np.inf: "always"}

Objective = Literal["f1", "gmean", "balanced_accuracy", "micromacro"]


@dataclass(frozen=True)
class _Request:
    """What to look for, and in which files, as the flags say it."""

    scores: Annotated[
        Path,
        argument("SCORES", "Scores of rows x labels by any model: CSV, TSV, Parquet, NPZ or NPY."),
    ]
    truth: Annotated[
        Path | None,
        option("The labels of these rows, 0 or 1, with the same columns; budgets go without."),
    ] = None
    labels: Annotated[
        str | None, option("The labels to decide: names separated by commas, or 'tag_*'; or all.")
    ] = None
    objective: Annotated[Objective | None, option("What the decisions maximize; f1.")] = None
    recall: Annotated[float | None, option("Guarantee this recall of each label.")] = None
    precision: Annotated[float | None, option("Guarantee this precision of each label.")] = None
    confidence: Annotated[
        float | None,
        option("How probable the guarantee is: 0.9 for --precision; in expectation for --recall."),
    ] = None
    too_few: Annotated[
        Literal["refuse", "always", "never", "pool"] | None,
        option("What to do with labels without a guarantee: leave them out with exit code 3 "
               "(refuse, the default), predict them always or never, or pool them."),
    ] = None  # fmt: skip
    per_row: Annotated[int | None, option("The most labels of a row.", metavar="K")] = None
    exactly: Annotated[bool, option("Exactly K labels for every row.", "--exactly")] = False
    per_label: Annotated[int | None, option("The most rows of a label.", metavar="M")] = None
    total: Annotated[int | None, option("The most decisions in total.", metavar="B")] = None
    calibrate: Annotated[
        bool,
        option("Make scores probabilities by --truth, before a budget is kept.", "--calibrate"),
    ] = False
    apply: Annotated[Path | None, option("Decide the rows of this file of scores.")] = None
    id: Annotated[
        str | None,
        option("The column that names the rows; by default a column of words, or one called id."),
    ] = None
    by_position: Annotated[
        bool, option("Match rows of SCORES and --truth by place, not by id.", "--by-position")
    ] = False
    missing_labels: Annotated[
        Literal["error", "ignore"],
        typer.Option(help="What to do with missing cells of --truth: leave them out (ignore)."),
    ] = "error"
    encoding: Annotated[str, typer.Option(help="The encoding of text files.")] = "UTF-8"
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random numbers.")] = 0
    output: Annotated[
        Path | None, output_option("Where to write decisions: CSV, TSV, Parquet or NPZ.")
    ] = None
    thresholds: Annotated[
        Path | None,
        option("Where to write what --json prints, with all thresholds.", metavar="JSON"),
    ] = None

    def given(self, *names: str) -> list[str]:
        """Return the flags among these that were typed."""
        return [f"--{name.replace('_', '-')}" for name in names if getattr(self, name) is not None]


@dataclass(frozen=True)
class _Found:
    """What was found: columns of a table with a line for each label, and how to decide rows."""

    title: str
    columns: dict[str, Any]
    decide: Callable[[Any], Any]
    refused: NDArray[np.bool_]
    tested_on: str = ""  # where positives were counted, if not among all rows


@takes_options
def decide(request: _Request, force: ForceOption = False, json: JsonOption = False) -> None:
    """Decide which labels rows have, from scores of any model.

    Finds a threshold for each label on rows whose labels are known, and that the model did not
    learn from; --apply decides other rows by them. With --recall or --precision, thresholds have a
    guarantee, and labels with too few positives are refused: they are listed, left out of the
    decisions, and the exit code is 3. Budgets take scores for probabilities: add --calibrate after
    class weights or resampling.
    """
    flags.update(dict.fromkeys(_CALLED, "labelance decide"))
    _check_request(request)
    written = [path for path in (request.output, request.thresholds) if path is not None]
    for path in written:
        check_free(path, force)
    with report_kept_files(*written):
        table, rows, y = _read(request)
        if request.calibrate:
            table, rows, y = _calibrate(request, table, rows, y)
        found = _find(request, table.cells, y)
        kept = np.flatnonzero(~found.refused)
        summary = _summarize(found, table.header, request.scores)
        if request.output is not None and len(kept):
            decided = found.decide(rows.cells)[:, kept]
            write_decisions(request.output, decided, rows, [table.header[j] for j in kept])
        if request.thresholds is not None:
            with replace_when_done(request.thresholds) as temporary:
                temporary.write_text(json_text.dumps(plain(summary), indent=2) + "\n")
    if json:
        print_json(summary)
    else:
        _print(found, table.header)
        if request.output is not None:
            amount = f"{rows.cells.shape[0]} rows, {len(kept)} labels"
            say(f"{request.output}: {amount if len(kept) else 'not written, as no label is left'}")
    if found.refused.any():
        raise typer.Exit(_REFUSED)


def _check_request(request: _Request) -> None:
    """Raise for flags that do not go together, before a file is read."""
    truth, output, thresholds = request.truth, request.output, request.thresholds
    budgets = request.given(*_BUDGETS)
    guarantees = request.given("recall", "precision")
    goals = [*guarantees, *budgets[:1], *(request.given("objective") if guarantees else ())]
    lonely = "" if guarantees else next(iter(request.given("confidence", "too_few")), "")
    unsafe = request.precision is not None and request.too_few in ("always", "pool")
    one_file = output and thresholds and output.resolve() == thresholds.resolve()
    rules: list[tuple[Any, str, str, str]] = [
        (len(goals) > 1, "--recall, --precision, a budget and --objective exclude each other",
         f"Got {' and '.join(goals)}", ""),
        (truth is None and not budgets, "Thresholds need rows with known labels",
         "--truth is missing",
         "Add --truth with the labels of these rows, or a budget such as --per-row 5"),
        (lonely, f"{lonely} needs --recall or --precision", "Neither is given", ""),
        (request.exactly and request.per_row is None, "--exactly needs --per-row",
         "--per-row is missing", ""),
        (unsafe, "With --precision, --too-few must be refuse or never",
         f"Got --too-few {request.too_few}", ""),
        (request.apply and truth is None, "--apply needs rows with known labels",
         "--truth is missing", "Add --truth, or pass the file as SCORES"),
        (request.apply and output is None, "--apply writes decisions", "-o is missing",
         "Add -o decisions.csv"),
        (request.calibrate and truth is None, "--calibrate needs rows with known labels",
         "--truth is missing", "Add --truth with the labels of SCORES"),
        (request.calibrate and not budgets, "--calibrate is for budgets", "A budget is missing",
         "Remove it: thresholds need no probabilities"),
        (one_file, "Decisions and thresholds need a file each",
         f"Got -o {output} and --thresholds {thresholds}", ""),
    ]  # fmt: skip
    _check_rules(rules)
    if budgets:
        _check_budgets(request)
    if output is not None:
        check_suffix(output)


def _check_budgets(request: _Request) -> None:
    objective = request.objective or "f1"
    batch = next(iter(request.given("per_label", "total")), "")
    both = batch and request.per_row is not None
    _check_rules([
        (objective in ("gmean", "micromacro"),
         "With a budget, --objective must be f1 or balanced_accuracy", f"Got {objective}", ""),
        (batch and request.truth is not None and not request.calibrate,
         f"{batch} decides all rows of a file at once, from probabilities alone",
         "Got --truth, too", "Remove --truth, or add --calibrate"),
        (both and objective != "balanced_accuracy",
         f"--per-row together with {batch} needs --objective balanced_accuracy",
         f"Got {objective}", ""),
        (request.thresholds, "--thresholds does not work with a budget",
         "A budget has no thresholds", "--json has counts"),
    ])  # fmt: skip


def _check_rules(rules: list[tuple[Any, str, str, str]]) -> None:
    """Raise the error of the first rule whose condition holds."""
    for is_broken, *parts in rules:
        if is_broken:
            raise InputError(*parts)


def _read(request: _Request) -> tuple[LabelColumns, LabelColumns, Any]:
    """Return scores with known labels, those to decide, and the truth, of the wanted labels."""
    table, y = read_scores(request.scores, request.id, request.encoding), None
    rows = table if request.apply is None else read_other_scores(request.apply, table, request.id)
    if request.truth is not None:
        y = read_truth(request.truth, table, request.missing_labels, request.by_position).cells
    if request.labels is None:
        return table, rows, y
    places = find_labels(table, request.labels)
    return table.take(places), rows.take(places), None if y is None else y[:, places]


def _calibrate(
    request: _Request, table: LabelColumns, rows: LabelColumns, truth: Any
) -> tuple[LabelColumns, LabelColumns, Any]:
    """Return both tables as probabilities; a batch is the rows to decide, without labels."""
    maps = labelance.decisions.find_calibration(truth, table.cells)
    rows = replace(rows, cells=maps.predict_proba(rows.cells))
    if request.given("per_label", "total"):
        return rows, rows, None
    return replace(table, cells=maps.predict_proba(table.cells)), rows, truth


def _find(request: _Request, scores: Any, truth: Any) -> _Found:
    if request.recall is not None or request.precision is not None:
        return _find_guarantees(request, scores, truth)
    if not request.given(*_BUDGETS):
        return _find_thresholds(request, scores, truth)
    return _decide_batch(request, scores) if truth is None else _find_rule(request, scores, truth)


def _find_thresholds(request: _Request, scores: Any, truth: Any) -> _Found:
    objective = request.objective or "f1"
    found = labelance.decisions.find_thresholds(truth, scores, objective=objective)
    low, high = found.interval().T
    columns = _threshold_columns(found, scores, low, high, _count_known(truth))
    name = objective.replace("micromacro", "f1")
    title = f"Thresholds for the largest {objective}; value: {name} on these rows"
    return _Found(title, columns, found.predict, np.zeros(len(low), dtype=bool))


def _find_guarantees(request: _Request, scores: Any, truth: Any) -> _Found:
    """Find thresholds with a guarantee; labels that are refused have none."""
    how = request.too_few or "refuse"
    decisions = labelance.decisions
    if request.recall is not None:
        # One refused label is no reason to decide nothing for the others.
        found = decisions.guarantee_recall(
            truth,
            scores,
            recall=request.recall,
            confidence=request.confidence,
            too_few="never" if how == "refuse" else how,
        )
        where = ""
    else:
        assert request.precision is not None
        found = decisions.guarantee_precision(
            truth,
            scores,
            precision=request.precision,
            confidence=0.9 if request.confidence is None else request.confidence,
            missing_labels=request.missing_labels,
            random_state=request.seed,
        )
        where = " in the half of the rows that tests thresholds"
    refused = ~found.guaranteed & (how == "refuse")
    # A guarantee of precision is tested in half of the rows.
    counts = {} if where else _count_known(truth)
    columns = _threshold_columns(found, scores, found.low, found.high, counts)
    columns["needed"] = found.n_needed
    sure = f" with confidence {found.confidence:g}" if found.confidence else ""
    title = f"Thresholds that keep a {found.measure} of {found.target:g}{sure}"
    return _Found(title, columns, found.predict, refused, where)


def _count_known(truth: Any) -> dict[str, Any]:
    """Return the positives of each label and, if labels are missing, its known cells."""
    from labelance._arrays._labels import part_unknown  # imports too much for `labelance --help`

    labels, unknown = part_unknown(truth)
    known = {} if unknown is None else {"known": truth.shape[0] - unknown.sum(axis=0)}
    return {"positives": labels.sum(axis=0), **known}


def _threshold_columns(
    found: Any, scores: Any, low: Any, high: Any, counts: dict[str, Any]
) -> dict[str, Any]:
    predicted = np.asarray(found.predict(scores).sum(axis=0)).ravel()
    return {
        "threshold": found.thresholds,
        **counts,
        "positives": found.n_positive,
        "predicted": found.n_predicted,
        "share": predicted / scores.shape[0],
        "value": found.value,
        "low": low,
        "high": high,
        "reason": found.reasons,
    }


def _find_rule(request: _Request, scores: Any, truth: Any) -> _Found:
    """Find a rule for the labels of one row at a time."""
    utility = _utility(request)
    rule = labelance.decisions.find_budget_rule(
        truth, scores, per_row=request.per_row, exactly=request.exactly, utility=utility
    )

    def apply(rows: Any) -> Any:
        return rule.predict(rows, only_best=True)

    y = apply(scores)
    columns = {
        **_count_known(truth),
        "predicted": y.sum(axis=0),
        "value": labelance.metrics.macro_f1(truth, y, average=None),
    }
    title = f"A rule of {request.per_row} labels a row for the largest {utility}; value: f1"
    return _Found(title, columns, apply, np.zeros(y.shape[1], dtype=bool))


def _decide_batch(request: _Request, scores: Any) -> _Found:
    utility = _utility(request)
    found = labelance.decisions.decide_within_budget(
        scores,
        per_row=request.per_row,
        exactly=request.exactly,
        per_label=request.per_label,
        total=request.total,
        utility=utility,
        random_state=request.seed,
    )
    columns = {
        "expected": found.n_expected,
        "predicted": found.n_predicted,
        "value": found.of_labels,
    }
    title = f"{found.y.nnz} decisions; value: expected {utility}, {found.value:.4g} over all"
    return _Found(title, columns, lambda _: found.y, np.zeros(len(found.n_predicted), dtype=bool))


def _utility(request: _Request) -> Literal["macro_f1", "balanced_accuracy"]:
    return "balanced_accuracy" if request.objective == "balanced_accuracy" else "macro_f1"


def _summarize(found: _Found, names: tuple[str, ...], scores: Path) -> dict[str, Any]:
    """Return one object for programs; infinite thresholds have no number, but a rule."""
    lines = []
    for j, name in enumerate(names):
        line = {"label": name} | {key: values[j] for key, values in found.columns.items()}
        if "threshold" in line:
            line["rule"] = _RULES.get(line["threshold"], "at least")
        if found.refused[j]:
            line |= {"threshold": None, "rule": "refused", "reason": _why_refused(found, j)}
        lines.append(line)
    refused = [name for name, is_refused in zip(names, found.refused) if is_refused]
    return {"scores": str(scores), "title": found.title, "labels": lines, "refused": refused}


def _print(found: _Found, names: tuple[str, ...]) -> None:
    """Print a line for each label, and then the refused ones in words."""
    heads = [head for head in found.columns if head not in ("low", "high", "needed", "reason")]
    columns = [[_text(value, head) for value in found.columns[head]] for head in heads]
    if "low" in found.columns:
        heads = [*heads, "interval"]
        ends = zip(found.columns["low"], found.columns["high"])
        columns.append(["" if np.isnan(low) else f"{low:.3f} to {high:.3f}" for low, high in ends])
    if "reason" in found.columns:
        heads, columns = [*heads, "reason"], [*columns, list(found.columns["reason"])]
    kept, refused = np.flatnonzero(~found.refused), np.flatnonzero(found.refused)
    lines = [(names[j], *(column[j] for column in columns)) for j in kept[:_MOST_LINES]]
    print_table(found.title, ("label", *heads), lines)
    _say_rest(kept)
    if not len(refused):
        return
    say(f"Refused, and left out of the decisions: {len(refused)} of {len(names)} labels")
    for j in map(int, refused[:_MOST_LINES]):
        say(f"  {names[j]}: {_why_refused(found, j)}")
    _say_rest(refused)
    say("Score more rows, ask for less, or decide without a guarantee: --too-few never, always")


def _say_rest(labels: NDArray[np.intp]) -> None:
    if len(labels) > _MOST_LINES:
        say(f"  … and {len(labels) - _MOST_LINES} more labels, which --json prints")


def _why_refused(found: _Found, label: int) -> str:
    positives, needed = (found.columns[head][label] for head in ("positives", "needed"))
    counted = f"{positives} positive{'' if positives == 1 else 's'}{found.tested_on}"
    if positives < needed:
        return f"{counted}, and at least {needed} are needed"
    return f"{counted}, but no threshold passed the test"


def _text(value: Any, head: str) -> str:
    if head == "share":
        return f"{value:.1%}"
    if np.isinf(value):
        return _RULES[value]
    return "" if np.isnan(value) else f"{value:.6g}"
