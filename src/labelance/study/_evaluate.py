"""Evaluate cells: fit the models of a fold once, test every method that can use them, measure.

Peak memory is asked of Linux itself: psutil knows no peak there, and ``resource`` only that of the
whole life of a process, which evaluates many cells.
"""

from __future__ import annotations

import io
import sys
import time
import traceback
import warnings
import zlib
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from labelance._arrays._containers import to_dense
from labelance._arrays._labels import part_unknown
from labelance._classifier import relevance
from labelance._utils._random import set_random_states
from labelance._validation._data import Data, known_cells, open_clean_labels, validate_data
from labelance.decisions import LabelThresholds
from labelance.decisions._search import ScoredRows, search_thresholds
from labelance.ensemble import EMLS, StackedBagging, TrainingSet
from labelance.ensemble._members import score_members, staged_scores
from labelance.ensemble._training_sets import Drawing, plan_draws, why_sampler_needs_all
from labelance.exceptions import LabelanceWarning, NothingToSampleError
from labelance.imbalance import label_counts
from labelance.learners import BaseMultiLabelClassifier
from labelance.metrics import (
    label_areas,
    label_ranking_average_precision,
    macro_brier_loss,
    macro_calibration_error,
    macro_f1,
)
from labelance.sampling import BaseMultiLabelSampler
from labelance.study._data import FoldData, StudyData
from labelance.study._design import (
    Family,
    Method,
    build_learner,
    prepare,
    search_of,
    stable_hash,
)
from labelance.study._study import Cell, CellGroup, Fold, Study

Row = dict[str, Any]


def family_stream(seed: int, fold: Fold, family: Family) -> np.random.Generator:
    """Return the generator of a family on a fold; ``spawn`` gives one to each member.

    It depends on the study's seed, the dataset's name, the fold and the sampler, and not on the
    learner: all learners see the same rows, and a small ensemble is the beginning of a large one.
    """
    key = (stable_hash(fold.dataset), fold.repeat, fold.fold, family.seed_key)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


class TrainingSets:
    """One plan and as many draws as the largest ensemble of the family has members."""

    def __init__(self, family: Family, fold: FoldData, streams: list[np.random.Generator]) -> None:
        self.planning, self.drawing = Cost(), []
        with self.planning.spent():
            draw = _plan(family, fold)
            idle = plan_draws(None, _validate(fold, None), bootstrap=bool(family.bootstrap))
        self.sets: list[TrainingSet] = []
        for stream in streams:
            cost = Cost()
            with cost.spent():
                try:
                    self.sets.append(draw(stream))
                except NothingToSampleError:  # a bag without anything to do about
                    self.sets.append(idle(stream))
            self.drawing.append(cost)

    def cost(self, n_members: int) -> Cost:
        """Return what the plan and the first draws cost."""
        return sum(self.drawing[:n_members], self.planning)


def _plan(family: Family, fold: FoldData) -> Drawing:
    sampler = None if family.sampler is None else prepare(family.sampler.build(), fold.nominal)
    data, bags = _validate(fold, sampler), family.bootstrap
    found = None if bags is True else _shared_neighborhood(sampler, fold)
    try:
        return plan_draws(sampler, data, bootstrap=bags, neighborhood=found)
    except NothingToSampleError:
        return plan_draws(None, data, bootstrap=bool(bags))  # nothing to do about these labels


def _validate(fold: FoldData, sampler: Any) -> Data:
    Y, reason = labels_for(sampler, fold.Y), why_sampler_needs_all(sampler)
    return validate_data(fold.X, Y, caller="A study", missing="keep", needs_all=reason)


def _shared_neighborhood(user: Any, fold: FoldData) -> Any:
    """Return the fold's neighbors for a sampler or learner that takes them, or None."""
    if isinstance(user, BaseMultiLabelSampler):
        takes = user.traits.finds_neighbors
    else:
        takes = hasattr(user, "fit") and has_fit_parameter(user, "neighborhood")
    wanted = search_of(user, fold.nominal) if takes else None
    if wanted is None:
        return None
    k, space = wanted
    return fold.neighborhood(k, **space)


def labels_for(user: Any, Y: Any) -> Any:
    """Return labels as a sampler or classifier takes them: few of others take sparse ones."""
    ours = user is None or isinstance(user, (BaseMultiLabelClassifier, BaseMultiLabelSampler))
    return Y if ours else to_dense(Y)


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


class SharedEnsemble:
    """The ensemble of a learner on the training sets of a family, which all its methods share.

    A method reads as many members as it has, the first ones; so a single model is the first
    member of its ensemble, and nothing is fitted or scored twice.
    """

    def __init__(
        self, learner: Any, methods: Sequence[Method], fold: FoldData, training: TrainingSets
    ) -> None:
        self.fold, self.training = fold, training
        self.model = EMLS(learner, objective=None, warm_start=True)
        self.fitting = self._fit({method.n_estimators for method in methods})
        self.test = _read_stages(self.model, fold.X_test)
        tuned = any(method.objective is not None for method in methods)
        self.train = _read_stages(self.model, fold.X) if tuned else []

    def _fit(self, sizes: Iterable[int]) -> dict[int, Cost]:
        """Fit one size after the other, each with the members before; return their costs."""
        X, Y = self.fold.X, labels_for(self.model.estimator, self.fold.Y)
        cost, costs = Cost(), {}
        for size in sorted(sizes):
            with cost.spent():
                sets = [self._prepare(drawn) for drawn in self.training.sets[:size]]
                self.model.set_params(n_estimators=size).fit(X, Y, training_sets=sets)
            costs[size] = replace(cost)
        return costs

    def _prepare(self, drawn: TrainingSet) -> TrainingSet:
        """Return a training set with the neighbors of its rows, where these are known."""
        learner = self.model.estimator
        # The fold's neighbors serve a learner that looks at the rows of the fold itself.
        found = _shared_neighborhood(learner, self.fold) if drawn.X is self.fold.X else None
        return drawn if found is None else replace(drawn, neighborhood=found)

    def evaluate(self, method: Method) -> Evaluation:
        """Return what the members of a method say together, by its rule."""
        size, finding = method.n_estimators, Cost()
        stage = self.test[size - 1]
        if method.objective is not None:
            with finding.spent():
                labels = open_clean_labels(self.fold.Y)
                rows = ScoredRows.of(labels.Y, self.train[size - 1].mean, labels.unknown)
                rule: Any = {"search": method.threshold_search, "variant": method.variant}
                thresholds = search_thresholds(rows, objective=method.objective, **rule).own
            predicted = (stage.mean >= thresholds).astype(np.int8)
            finding += self.train[size - 1].cost
        elif size == 1:
            predicted = self.model.estimators_[0].predict(self.fold.X_test)  # by its own rule
        else:
            predicted = (stage.mean >= 0.5).astype(np.int8)
        return Evaluation(
            stage.mean,
            predicted,
            self.training.cost(size),
            self.fitting[size] + finding,
            stage.cost,
            self.training.sets[0].y.shape[0],
            disagreement([earlier.scores for earlier in self.test[:size]]),
        )


class ScoredStage(NamedTuple):
    """The scores of a member, the mean of all up to it, and what these cost together."""

    scores: np.ndarray
    mean: np.ndarray
    cost: Cost


def _read_stages(model: EMLS, X: Any) -> list[ScoredStage]:
    cost, stages, found = Cost(), staged_scores(model, X), []
    for _ in model.estimators_:
        with cost.spent():
            scores, mean = next(stages)
        found.append(ScoredStage(scores, mean, replace(cost)))
    return found


def _fit_and_evaluate(
    learner: Any, method: Method, fold: FoldData, stream: np.random.Generator
) -> Evaluation:
    """Fit a method that needs models of its own."""
    model = _build_alone(learner, method, fold, stream)
    fitting, predicting = Cost(), Cost()
    Y = labels_for(learner, fold.Y)
    with fitting.spent():
        try:
            model.fit(fold.X, Y)
        except NothingToSampleError:  # then the sampler does nothing, as where members are shared
            model.set_params(sampler=None).fit(fold.X, Y)
    with predicting.spent():
        if isinstance(model, (EMLS, StackedBagging)):
            members, scores = score_members(model, fold.X_test)
        else:
            members, scores = [], relevance(model, fold.X_test)
    if hasattr(model, "thresholds_"):
        predicted = (scores >= model.thresholds_).astype(np.int8)
    else:
        predicted = model.predict(fold.X_test)  # by its own rule
    return Evaluation(scores, predicted, None, fitting, predicting, None, disagreement(members))


def _build_alone(learner: Any, method: Method, fold: FoldData, stream: np.random.Generator) -> Any:
    """Return the unfitted model of a method around a learner."""
    if method.ensemble is not None:
        built = prepare(method.ensemble.build(estimator=learner), fold.nominal)
        if isinstance(built, (EMLS, StackedBagging)):  # draws what a method with this stream draws
            return built.set_params(random_state=stream)
        return set_random_states(built, stream, only_unset=True)
    names = ["objective", "threshold_search", "variant", "tune_on"]
    alone = method.sampler is None and method.n_estimators == 1 and not method.bootstrap
    names += [] if alone else ["n_estimators", "bootstrap"]
    options = {name: getattr(method, name) for name in names} | {"random_state": stream}
    if alone:
        return LabelThresholds(learner, shrinkage=0, **options)
    sampler = None if method.sampler is None else prepare(method.sampler.build(), fold.nominal)
    return EMLS(learner, sampler, **options)


def evaluate_cells(
    study: Study, cells: CellGroup, data: StudyData, groups: list[list[Cell]] | None = None
) -> Iterator[list[Row]]:
    """Yield finished rows of one group of cells after the other; a group shares its models.

    A failure becomes a row with its traceback, and the other cells go on.
    """
    groups = groups_of(study, cells) if groups is None else groups
    with warnings.catch_warnings():
        # Constant labels and the like are counted in the rows; thousands of lines are no help.
        warnings.simplefilter("ignore", LabelanceWarning)
        warnings.simplefilter("ignore", UserWarning)
        try:
            evaluator = _Evaluator(study, cells, data)
        except BaseException:
            yield from ([failure(study, cell) for cell in group] for group in groups)
            return
        for group in groups:
            forget_peak()
            if study.method(group[0].method).shares_members:
                yield evaluator.evaluate_together(group)
            else:
                yield [evaluator.evaluate_alone(group[0])]


def groups_of(study: Study, cells: CellGroup) -> list[list[Cell]]:
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


class _Evaluator:
    """Evaluates cells of a fold; its rows and neighbors are found once."""

    def __init__(self, study: Study, cells: CellGroup, data: StudyData) -> None:
        self.study, self.cells = study, cells
        most = _most_neighbors(study, data.nominal)
        self.fold = FoldData(data, cells[0].place, study.folds, most_neighbors=most)
        self._family: Family | None = None
        self._training: TrainingSets

    def evaluate_together(self, group: list[Cell]) -> list[Row]:
        """Fit the members of a learner once, and evaluate each method by them."""
        methods = [self.study.method(cell.method) for cell in group]
        try:
            training = self._training_sets(methods[0].family)
            built = self._build(group[0].learner, methods[0])
            ensemble = SharedEnsemble(built, methods, self.fold, training)
        except BaseException:
            return [failure(self.study, cell) for cell in group]
        return [
            self._row(cell, partial(ensemble.evaluate, method))
            for cell, method in zip(group, methods)
        ]

    def evaluate_alone(self, cell: Cell) -> Row:
        """Evaluate a method that shares no member with others."""
        method = self.study.method(cell.method)
        stream = family_stream(self.study.seed, cell.place, method.family)

        def evaluate() -> Evaluation:
            return _fit_and_evaluate(self._build(cell.learner, method), method, self.fold, stream)

        return self._row(cell, evaluate)

    def _build(self, learner: str, method: Method) -> Any:
        component = self.study.component(self.study.learner(learner), method)
        return build_learner(
            component, self.fold.nominal, balanced=method.balanced, seed=self.study.seed
        )

    def _training_sets(self, family: Family) -> TrainingSets:
        """Return what members of a family learn from; one family's at a time is in memory."""
        if family != self._family:
            self._family, methods = None, [self.study.method(cell.method) for cell in self.cells]
            # A single model is the first of its ensemble.
            size = max(m.n_estimators for m in methods if m.family == family and m.shares_members)
            stream = family_stream(self.study.seed, self.cells[0].place, family)
            self._training = TrainingSets(family, self.fold, stream.spawn(size))
            self._family = family
        return self._training

    def _row(self, cell: Cell, evaluate: Callable[[], Evaluation]) -> Row:
        try:
            found = evaluate()
            figures = measure(self.fold.Y_test, found.scores, found.predicted).row()
        except BaseException:
            return failure(self.study, cell)
        cost = found.fitting if found.sampling is None else found.sampling + found.fitting
        return {
            **_about(self.study, cell),
            **figures,
            "status": "done",
            "n_train": self.fold.Y.shape[0],
            "n_resampled": found.n_resampled,
            "sample_seconds": None if found.sampling is None else found.sampling.seconds,
            "fit_seconds": found.fitting.seconds,
            "predict_seconds": found.predicting.seconds,
            "cpu_seconds": cost.cpu,
            "peak_mb": peak_mb(),
            "member_disagreement": found.disagreement,
        }


def failure(study: Study, cell: Cell, error: str | None = None) -> Row:
    """Return the row of a cell that could not be computed, with the error being handled.

    Learners may raise anything, also SystemExit; only Ctrl-C is not theirs, and propagates.
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


def _most_neighbors(study: Study, nominal: np.ndarray) -> int:
    """Return the largest number of neighbors that anyone in the study looks for."""
    parts: list[Any] = [learner.component for learner in study.learners]
    for method in study.methods:
        parts += [method.learner, method.sampler]
    built = (prepare(part.build(), nominal) for part in parts if part is not None)
    found = (search_of(one, nominal) for one in built)
    return max((k for k, _ in filter(None, found)), default=1)


class Measures(NamedTuple):
    """Figures of every label; :meth:`row` has their means as the paper takes them.

    F is 1 for a label that is neither there nor predicted; a label without an area is left
    out of the mean AUC-ROC and counts 0 in AUCPR, as in the authors' program. ``n_positive`` is
    the number of test rows that have the label, ``n_predicted`` of those that are predicted to.
    ``lrap``, label ranking average precision, is one figure of the fold, repeated for each label.
    Only known cells count: a label without any has no figures and is left out of all means (which
    are None without any label), and a fold with unknown cells has no ``lrap``.
    """

    f1: np.ndarray
    auc_roc: np.ndarray
    auc_pr: np.ndarray
    brier: np.ndarray
    calibration_error: np.ndarray
    n_positive: np.ndarray
    n_predicted: np.ndarray
    lrap: np.ndarray

    def row(self) -> dict[str, Any]:
        """Return the columns of a result."""
        defined, known = ~np.isnan(self.auc_roc), ~np.isnan(self.f1)
        areas = np.nan_to_num(self.auc_pr[known])
        return {
            "macro_f1": float(self.f1[known].mean()) if known.any() else None,
            "macro_auc_roc": float(self.auc_roc[defined].mean()) if defined.any() else None,
            "macro_auc_pr": float(areas.mean()) if known.any() else None,
            "n_undefined": int((~defined).sum()),
            "labels": pack(np.stack(self)),
        }


def measure(Y: Any, scores: np.ndarray, predicted: Any) -> Measures:
    """Measure scores and predictions of the rows of a test fold."""
    areas = label_areas(Y, scores)
    known = known_cells(part_unknown(Y)[1])
    lrap = label_ranking_average_precision(Y, scores) if known is None else np.nan
    seen = predicted if known is None else known * to_dense(predicted)
    chances = np.clip(scores, 0, 1)  # a user's learner may give a little more
    return Measures(
        macro_f1(Y, predicted, average=None, zero_division=1),
        areas.auc_roc,
        areas.auc_pr,
        macro_brier_loss(Y, chances, average=None),
        macro_calibration_error(Y, chances, average=None),
        label_counts(Y),
        np.asarray(seen.sum(axis=0)).ravel(),
        np.full(Y.shape[1], lrap),
    )


def disagreement(scores: list[np.ndarray]) -> float:
    """Return one minus the mean correlation of two members' scores, over labels and pairs.

    0 means that members rank the rows alike, 1 that they know nothing of each other. Labels
    for which some member gives all rows the same score have no correlation and are left out.
    """
    if len(scores) < 2:
        return float("nan")
    centred = [member - member.mean(axis=0) for member in scores]
    lengths = [np.sqrt((member**2).sum(axis=0)) for member in centred]
    varied = np.all([length > 1e-12 for length in lengths], axis=0)
    if not varied.any():
        return float("nan")
    units = [
        member[:, varied] / length[varied] for member, length in zip(centred, lengths, strict=True)
    ]
    pairs = [(a * b).sum(axis=0).mean() for a, b in combinations(units, 2)]
    return float(1 - np.mean(pairs))


def pack(table: np.ndarray) -> str:
    """Return an array as compressed bytes, written as text."""
    buffer = io.BytesIO()
    np.save(buffer, table, allow_pickle=False)
    return b64encode(zlib.compress(buffer.getvalue())).decode()


def unpack(text: str) -> np.ndarray:
    """Return what :func:`pack` packed."""
    return np.load(io.BytesIO(zlib.decompress(b64decode(text))), allow_pickle=False)


@dataclass
class Cost:
    """Seconds of the clock and of the processor."""

    seconds: float = 0.0
    cpu: float = 0.0

    @contextmanager
    def spent(self) -> Iterator[None]:
        """Add what the block takes."""
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - wall
            self.cpu += time.process_time() - cpu

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.seconds + other.seconds, self.cpu + other.cpu)


def forget_peak() -> None:
    """Begin to measure the peak again, where the system can (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return  # then the peak is that of the whole process so far


def peak_mb() -> float:
    """Return the most memory that this process has had since then."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        pass
    try:
        import resource
    except ImportError:  # Windows
        return float("nan")
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
