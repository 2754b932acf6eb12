"""Evaluate cells: fit the models of a fold once, and test every method that can use them."""

from __future__ import annotations

import inspect
import sys
import traceback
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelance.ensemble import EMLS, LabelThresholds, Source, TrainingSet, make_source
from labelance.exceptions import LabelanceWarning, NothingToSampleError
from labelance.learners import BaseMultiLabelClassifier, best_thresholds, relevance
from labelance.sampling import BaseMultiLabelSampler
from labelance.study._component import build_learner, prepare, search_of
from labelance.study._data import FoldData, StudyData
from labelance.study._design import Cell, Cells, Family, Fold, Learner, Method, stable_hash
from labelance.study._measures import Cost, disagreement, forget_peak, measure, peak_mb, total
from labelance.study._study import Study


def family_stream(seed: int, fold: Fold, family: Family) -> np.random.Generator:
    """Return the generator of a family on a fold; ``spawn`` gives one to each member.

    It depends on the study's seed, the dataset's name, the fold and the sampler, and not on the
    learner: all learners see the same rows, and a small ensemble is the beginning of a large one.
    """
    key = (stable_hash(fold.dataset), fold.repeat, fold.fold, family.seed_key)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


class TrainingSets:
    """One plan and as many draws as the largest ensemble of the family has members."""

    def __init__(
        self, family: Family, fold: FoldData, streams: list[np.random.Generator], at_least: int
    ) -> None:
        self.planning, self.drawing = Cost(), []
        with self.planning.spent():
            source = _source(family, fold, at_least)
            idle = make_source(None, fold.X, fold.Y, bootstrap=family.bootstrap)
        self.sets: list[TrainingSet] = []
        for stream in streams:
            cost = Cost()
            with cost.spent():
                try:
                    self.sets.append(source.draw(stream))
                except NothingToSampleError:  # a bag without anything to do about
                    self.sets.append(idle.draw(stream))
            self.drawing.append(cost)

    def cost(self, n_members: int) -> Cost:
        """Return what the plan and the first draws cost."""
        return sum(self.drawing[:n_members], self.planning)


def _source(family: Family, fold: FoldData, at_least: int) -> Source:
    sampler = None if family.sampler is None else prepare(family.sampler.build(), fold.nominal)
    ours = sampler is None or isinstance(sampler, BaseMultiLabelSampler)
    X, Y = fold.X, fold.Y if ours else fold.Y.toarray()  # few others take sparse labels
    neighborhood = None
    if ours and family.bootstrap is not True:
        neighborhood = _shared_neighborhood(sampler, fold, at_least)
    bags = family.bootstrap
    try:
        return make_source(sampler, X, Y, bootstrap=bags, neighborhood=neighborhood)
    except NothingToSampleError:
        return make_source(None, X, Y, bootstrap=bags)  # nothing to do about these labels


def _shared_neighborhood(sampler: Any, fold: FoldData, at_least: int) -> Any:
    wanted = search_of(sampler, fold.nominal)
    if sampler is None or wanted is None or not sampler.traits.finds_neighbors:
        return None
    k, space = wanted
    return fold.neighborhood(k, at_least, **space)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a method says about the test rows, and what that cost."""

    scores: np.ndarray
    predicted: Any
    sampling: Cost | None
    fitting: Cost
    predicting: Cost
    n_resampled: int | None
    disagreement: float


class Members:
    """A learner fitted on each training set of a family, for some methods of the family."""

    def __init__(
        self,
        learner: Learner,
        methods: Sequence[Method],
        fold: FoldData,
        rows: TrainingSets,
        most: int,
        seed: int = 0,
    ) -> None:
        self.rows, self.fold, self.most = rows, fold, most
        self.tuned = any(method.threshold is not None for method in methods)
        self.fitting: list[Cost] = []
        self.tuning: list[Cost] = []
        self.predicting: list[Cost] = []
        self.scores: list[np.ndarray] = []
        self.train_scores: list[np.ndarray] = []
        self.first: Any = None
        for drawn in rows.sets[: max(method.n_estimators for method in methods)]:
            member = build_learner(
                learner.component, fold.nominal, balanced=methods[0].balanced, seed=seed
            )
            self._add(member, drawn)

    def _add(self, member: Any, drawn: TrainingSet) -> None:
        """Fit one more member, and ask it all that the methods need."""
        fitting, tuning, predicting = Cost(), Cost(), Cost()
        with fitting.spent():
            _fit(member, drawn.X, drawn.Y, self.fold, self.most)
        with predicting.spent():
            self.scores.append(relevance(member, self.fold.X_test))
        if self.tuned:
            with tuning.spent():
                self.train_scores.append(relevance(member, self.fold.X))
        self.first = member if self.first is None else self.first
        self.fitting.append(fitting)
        self.tuning.append(tuning)
        self.predicting.append(predicting)

    def evaluate(self, method: Method) -> Evaluation:
        """Return what the first members say together, by the rule of a method."""
        m, finding = method.n_estimators, Cost()
        scores = _mean(self.scores[:m])
        if method.threshold is not None:
            with finding.spent():
                thresholds = best_thresholds(
                    self.fold.Y,
                    _mean(self.train_scores[:m]),
                    objective=method.threshold,
                    **_threshold_rule(method),
                )
            predicted = (scores >= thresholds).astype(np.int8)
            finding += total(self.tuning[:m])
        elif m == 1:
            predicted = self.first.predict(self.fold.X_test)  # by its own rule
        else:
            predicted = (scores >= 0.5).astype(np.int8)
        return Evaluation(
            scores,
            predicted,
            self.rows.cost(m),
            total(self.fitting[:m]) + finding,
            total(self.predicting[:m]),
            self.rows.sets[0].Y.shape[0],
            disagreement(self.scores[:m]),
        )


def evaluate_alone(
    learner: Learner, method: Method, fold: FoldData, stream: np.random.Generator, seed: int = 0
) -> Evaluation:
    """Fit a method whose thresholds need models of their own, through the public ensemble."""
    built = build_learner(learner.component, fold.nominal, balanced=method.balanced, seed=seed)
    rule = _threshold_rule(method)
    options: dict[str, Any] = {
        "objective": method.threshold,
        "threshold_search": rule["search"],
        "variant": rule["variant"],
        "threshold_data": method.threshold_data,
        "random_state": stream,
    }
    if method.sampler is None and method.n_estimators == 1 and not method.bootstrap:
        model: Any = LabelThresholds(built, **options)
    else:
        sampler = None if method.sampler is None else prepare(method.sampler.build(), fold.nominal)
        model = EMLS(
            built,
            sampler,
            n_estimators=method.n_estimators,
            bootstrap=method.bootstrap,
            **options,
        )
    fitting, predicting = Cost(), Cost()
    Y = labels_for(built, fold.Y)
    with fitting.spent():
        try:
            model.fit(fold.X, Y)
        except NothingToSampleError:  # then the sampler does nothing, as where members are shared
            model.set_params(sampler=None).fit(fold.X, Y)
    with predicting.spent():
        scores = model.predict_proba(fold.X_test)
    predicted = (scores >= model.thresholds_).astype(np.int8)
    return Evaluation(scores, predicted, None, fitting, predicting, None, float("nan"))


def _threshold_rule(method: Method) -> dict[str, Any]:
    """Return how a method looks for thresholds, in the words of learners."""
    search, _, program = method.threshold_search.partition("_")
    return {"search": search, "variant": program or "paper"}


def _fit(member: Any, X: Any, Y: Any, fold: FoldData, most: int) -> Any:
    """Fit a member, with the fold's neighbors where it looks at the rows of the fold itself."""
    if X is fold.X and "neighborhood" in inspect.signature(member.fit).parameters:
        wanted = search_of(member, fold.nominal)
        if wanted is not None:
            k, space = wanted
            return member.fit(X, Y, neighborhood=fold.neighborhood(k, most, **space))
    return fit_member(member, X, Y)


def fit_member(member: Any, X: Any, Y: Any) -> Any:
    """Fit any classifier, ours or not."""
    return member.fit(X, labels_for(member, Y))


def labels_for(member: Any, Y: Any) -> Any:
    """Return labels as a classifier takes them: most of scikit-learn's want them dense."""
    ours = isinstance(member, BaseMultiLabelClassifier)
    return Y.toarray() if sp.issparse(Y) and not ours else Y


def _mean(scores: list[np.ndarray]) -> np.ndarray:
    return scores[0] if len(scores) == 1 else sum(scores[1:], scores[0]) / len(scores)


Row = dict[str, Any]


def evaluate_cells(study: Study, cells: Cells, data: StudyData) -> Iterator[list[Row]]:
    """Yield finished rows: those that come together, since they share their models.

    A failure becomes a row with its traceback, and the other cells go on.
    """
    with warnings.catch_warnings():
        # Constant labels and the like are counted in the rows; thousands of lines help nobody.
        warnings.simplefilter("ignore", LabelanceWarning)
        warnings.simplefilter("ignore", UserWarning)
        try:
            fold = FoldData(data, cells[0].place, study.folds)
            most = _most_neighbors(study, fold)
        except BaseException:
            yield [failure(study, cell) for cell in cells]
            return
        rows: dict[Family, TrainingSets] = {}
        for group in groups_of(study, cells):
            forget_peak()
            if study.method(group[0].method).shares_members:
                yield _evaluate_together(study, cells, fold, group, rows, most)
            else:
                yield [_evaluate_alone(study, fold, group[0])]


def groups_of(study: Study, cells: Cells) -> list[list[Cell]]:
    """Return the cells of a fold in the order of work; those of a group share their models."""
    found: dict[Any, list[Cell]] = defaultdict(list)
    families = list(dict.fromkeys(study.method(cell.method).family for cell in cells))
    for family in families:
        for cell in cells:
            method = study.method(cell.method)
            if method.family == family:
                alone = None if method.shares_members else cell
                found[family, alone is not None, cell.learner, alone].append(cell)
    return list(found.values())


def _evaluate_together(
    study: Study,
    cells: Cells,
    fold: FoldData,
    group: list[Cell],
    rows: dict[Family, TrainingSets],
    most: int,
) -> list[Row]:
    """Fit the members of a learner once, and judge each method by them."""
    methods = [study.method(cell.method) for cell in group]
    family = methods[0].family
    try:
        if family not in rows:
            rows.clear()  # one family's training sets at a time are enough in memory
            streams = family_stream(study.seed, cells[0].place, family).spawn(
                _size(study, cells, family)
            )
            rows[family] = TrainingSets(family, fold, streams, most)
        learner = study.learner(group[0].learner)
        members = Members(learner, methods, fold, rows[family], most, study.seed)
    except BaseException:
        return [failure(study, cell) for cell in group]
    return [
        _row(study, fold, cell, partial(members.evaluate, study.method(cell.method)))
        for cell in group
    ]


def _evaluate_alone(study: Study, fold: FoldData, cell: Cell) -> Row:
    method, learner = study.method(cell.method), study.learner(cell.learner)
    stream = family_stream(study.seed, cell.place, method.family)
    return _row(
        study, fold, cell, partial(evaluate_alone, learner, method, fold, stream, study.seed)
    )


def _row(study: Study, fold: FoldData, cell: Cell, evaluate: Callable[[], Evaluation]) -> Row:
    try:
        return _success(study, fold, cell, evaluate())
    except BaseException:
        return failure(study, cell)


def _success(study: Study, fold: FoldData, cell: Cell, evaluation: Evaluation) -> Row:
    cost = (
        evaluation.fitting
        if evaluation.sampling is None
        else evaluation.sampling + evaluation.fitting
    )
    return {
        **_about(study, cell),
        **measure(fold.Y_test, evaluation.scores, evaluation.predicted).row(),
        "status": "done",
        "n_train": fold.Y.shape[0],
        "n_resampled": evaluation.n_resampled,
        "sample_seconds": None if evaluation.sampling is None else evaluation.sampling.seconds,
        "fit_seconds": evaluation.fitting.seconds,
        "predict_seconds": evaluation.predicting.seconds,
        "cpu_seconds": cost.cpu,
        "peak_mb": peak_mb(),
        "member_disagreement": evaluation.disagreement,
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


def _size(study: Study, cells: Cells, family: Family) -> int:
    """Return the members of the largest ensemble of a family that is asked for."""
    methods = [study.method(cell.method) for cell in cells]
    return max(m.n_estimators for m in methods if m.family == family and m.shares_members)


def _most_neighbors(study: Study, fold: FoldData) -> int:
    """Return the largest number of neighbors that anyone in the study looks for."""
    built = [build_learner(learner.component, fold.nominal) for learner in study.learners]
    samplers = [method.sampler for method in study.methods if method.sampler is not None]
    built += [prepare(sampler.build(), fold.nominal) for sampler in samplers]
    found = [search_of(one, fold.nominal) for one in built]
    return max((k for k, _ in filter(None, found)), default=1)
