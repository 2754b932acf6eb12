"""What a worker does: all cells of a fold that are asked for, each finished pair at a time."""

from __future__ import annotations

import traceback
import warnings
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from labelance.exceptions import LabelanceWarning
from labelance.study._cells import Cell, Task
from labelance.study._design import Family
from labelance.study._folds import FoldData, StudyData
from labelance.study._measures import measure
from labelance.study._members import Members, Verdict, judge_alone
from labelance.study._meter import forget_peak, peak_mb
from labelance.study._prepare import build_learner, search_of
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
        fold = FoldData(data, task, study.folds)
        most = _most_neighbors(study, fold)
        for family, cells in _families(study, task).items():
            yield from _do_family(study, task, fold, family, cells, most)


def _do_family(
    study: Study, task: Task, fold: FoldData, family: Family, cells: list[Cell], most: int
) -> Iterator[list[Row]]:
    shared = [cell for cell in cells if study.method(cell.method).shares_members]
    rows: TrainingSets | None = None
    for learner, together in _by_learner(shared).items():
        methods = [study.method(cell.method) for cell in together]
        forget_peak()
        try:
            if rows is None:
                streams = family_stream(study.seed, task, family).spawn(_size(study, shared))
                rows = TrainingSets(family, fold, streams, most)
            members = Members(study.learner(learner), methods, fold, rows, most)
            verdicts = [members.judge(method) for method in methods]
        except Exception:
            yield [failure(study, cell) for cell in together]
            continue
        yield [_success(study, fold, cell, it) for cell, it in zip(together, verdicts)]
    for cell in cells:
        if cell not in shared:
            yield [_do_alone(study, task, fold, cell)]


def _do_alone(study: Study, task: Task, fold: FoldData, cell: Cell) -> Row:
    method = study.method(cell.method)
    stream = family_stream(study.seed, task, method.family)
    forget_peak()
    try:
        verdict = judge_alone(study.learner(cell.learner), method, fold, stream)
    except Exception:
        return failure(study, cell)
    return _success(study, fold, cell, verdict)


def _success(study: Study, fold: FoldData, cell: Cell, verdict: Verdict) -> Row:
    cost = verdict.sampling + verdict.fitting
    return {
        **_about(study, cell),
        **measure(fold.Y_test, verdict.scores, verdict.predicted).row(),
        "status": "done",
        "n_train": fold.Y.shape[0],
        "n_resampled": verdict.n_resampled,
        "sample_seconds": verdict.sampling.seconds,
        "fit_seconds": verdict.fitting.seconds,
        "predict_seconds": verdict.predicting.seconds,
        "cpu_seconds": cost.cpu,
        "peak_mb": peak_mb(),
        "member_disagreement": verdict.disagreement,
    }


def failure(study: Study, cell: Cell) -> Row:
    """Return the row of a cell that could not be computed, with the error being handled."""
    return {**_about(study, cell), "status": "failed", "error": traceback.format_exc()}


def _about(study: Study, cell: Cell) -> Row:
    return {
        **cell._asdict(),
        "config": study.config(cell),
        "seed": study.seed,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _families(study: Study, task: Task) -> dict[Family, list[Cell]]:
    found: dict[Family, list[Cell]] = defaultdict(list)
    for cell in task.cells:
        found[study.method(cell.method).family].append(cell)
    return found


def _by_learner(cells: list[Cell]) -> dict[str, list[Cell]]:
    found: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        found[cell.learner].append(cell)
    return found


def _size(study: Study, cells: list[Cell]) -> int:
    return max(study.method(cell.method).n_estimators for cell in cells)


def _most_neighbors(study: Study, fold: FoldData) -> int:
    """Return the largest number of neighbors that anyone in the study looks for."""
    built = [build_learner(learner, fold.nominal) for learner in study.learners]
    built += [method.sampler.build() for method in study.methods if method.sampler is not None]
    found = [search_of(one) for one in built]
    return max((k for k, _ in filter(None, found)), default=1)
