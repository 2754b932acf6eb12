"""What a worker does: all cells of a fold that are asked for, each finished pair at a time."""

from __future__ import annotations

import sys
import traceback
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

from labelance.exceptions import LabelanceWarning
from labelance.study._cells import Cell, Task
from labelance.study._design import Family
from labelance.study._folds import FoldData, StudyData
from labelance.study._measures import measure
from labelance.study._members import Members, Verdict, judge_alone
from labelance.study._meter import forget_peak, peak_mb
from labelance.study._prepare import build_learner, prepare, search_of
from labelance.study._seeds import family_stream
from labelance.study._study import Study
from labelance.study._training import TrainingSets

Row = dict[str, Any]


def do_task(study: Study, task: Task, data: StudyData) -> Iterator[list[Row]]:
    """Yield finished rows: those that come together, since they share their models.

    A failure becomes a row with its traceback, and the other cells go on.
    """
    with warnings.catch_warnings():
        # Constant labels and the like are counted in the rows; thousands of lines help nobody.
        warnings.simplefilter("ignore", LabelanceWarning)
        warnings.simplefilter("ignore", UserWarning)
        try:
            fold = FoldData(data, task, study.folds)
            most = _most_neighbors(study, fold)
        except BaseException:
            yield [failure(study, cell) for cell in task.cells]
            return
        rows: dict[Family, TrainingSets] = {}
        for group in groups_of(study, task):
            forget_peak()
            if study.method(group[0].method).shares_members:
                yield _do_together(study, task, fold, group, rows, most)
            else:
                yield [_do_alone(study, task, fold, group[0])]


def groups_of(study: Study, task: Task) -> list[list[Cell]]:
    """Return the cells of a task in the order of work; those of a group share their models."""
    found: dict[Any, list[Cell]] = defaultdict(list)
    families = list(dict.fromkeys(study.method(cell.method).family for cell in task.cells))
    for family in families:
        for cell in task.cells:
            method = study.method(cell.method)
            if method.family == family:
                alone = None if method.shares_members else cell
                found[family, alone is not None, cell.learner, alone].append(cell)
    return list(found.values())


def _do_together(
    study: Study,
    task: Task,
    fold: FoldData,
    cells: list[Cell],
    rows: dict[Family, TrainingSets],
    most: int,
) -> list[Row]:
    """Fit the members of a learner once, and judge each method by them."""
    methods = [study.method(cell.method) for cell in cells]
    family = methods[0].family
    try:
        if family not in rows:
            rows.clear()  # one family's training sets at a time are enough in memory
            streams = family_stream(study.seed, task, family).spawn(_size(study, task, family))
            rows[family] = TrainingSets(family, fold, streams, most)
        learner = study.learner(cells[0].learner)
        members = Members(learner, methods, fold, rows[family], most, study.seed)
    except BaseException:
        return [failure(study, cell) for cell in cells]
    return [
        _judged(study, fold, cell, partial(members.judge, study.method(cell.method)))
        for cell in cells
    ]


def _do_alone(study: Study, task: Task, fold: FoldData, cell: Cell) -> Row:
    method, learner = study.method(cell.method), study.learner(cell.learner)
    stream = family_stream(study.seed, task, method.family)
    return _judged(
        study, fold, cell, partial(judge_alone, learner, method, fold, stream, study.seed)
    )


def _judged(study: Study, fold: FoldData, cell: Cell, judge: Callable[[], Verdict]) -> Row:
    try:
        return _success(study, fold, cell, judge())
    except BaseException:
        return failure(study, cell)


def _success(study: Study, fold: FoldData, cell: Cell, verdict: Verdict) -> Row:
    cost = verdict.fitting if verdict.sampling is None else verdict.sampling + verdict.fitting
    return {
        **_about(study, cell),
        **measure(fold.Y_test, verdict.scores, verdict.predicted).row(),
        "status": "done",
        "n_train": fold.Y.shape[0],
        "n_resampled": verdict.n_resampled,
        "sample_seconds": None if verdict.sampling is None else verdict.sampling.seconds,
        "fit_seconds": verdict.fitting.seconds,
        "predict_seconds": verdict.predicting.seconds,
        "cpu_seconds": cost.cpu,
        "peak_mb": peak_mb(),
        "member_disagreement": verdict.disagreement,
    }


def failure(study: Study, cell: Cell, error: str | None = None) -> Row:
    """Return the row of a cell that could not be computed, with the error being handled.

    Learners may raise anything, also SystemExit; only Ctrl-C is not theirs, and goes on.
    """
    if isinstance(sys.exception(), KeyboardInterrupt):
        raise
    text = traceback.format_exc() if error is None else error
    return {**_about(study, cell), "status": "failed", "error": text}


def _about(study: Study, cell: Cell) -> Row:
    return {
        **cell._asdict(),
        "config": study.config(cell),
        "seed": study.seed,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _size(study: Study, task: Task, family: Family) -> int:
    """Return the members of the largest ensemble of a family that is asked for."""
    methods = [study.method(cell.method) for cell in task.cells]
    return max(m.n_estimators for m in methods if m.family == family and m.shares_members)


def _most_neighbors(study: Study, fold: FoldData) -> int:
    """Return the largest number of neighbors that anyone in the study looks for."""
    built = [build_learner(learner, fold.nominal) for learner in study.learners]
    samplers = [method.sampler for method in study.methods if method.sampler is not None]
    built += [prepare(sampler.build(), fold.nominal) for sampler in samplers]
    found = [search_of(one, fold.nominal) for one in built]
    return max((k for k, _ in filter(None, found)), default=1)
