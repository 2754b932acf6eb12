"""The first question of `advise`: which learner. Parts of `RareLabelClassifier` race on a sample.

What a fit costs is counted from shapes, never measured, so that a seed and a budget give one plan.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, OneHotEncoder, StandardScaler

from labelance._arrays._cells import stored_cells
from labelance._arrays._containers import stored_values
from labelance._progress import loop
from labelance._validation._column_groups import (
    ColumnGroups,
    TextColumn,
    VectorColumn,
    make_vectorizer,
)
from labelance._validation._data import Data
from labelance.ensemble._encoding import Tables, Task, find_learned, make_tasks
from labelance.ensemble._network import plan_rounds
from labelance.ensemble._race import (
    Candidate,
    count_work,
    find_candidates,
    log_loss,
    rare_rows_first,
)
from labelance.exceptions import InputError, LabelanceError
from labelance.learners import BinaryRelevance

TREES = 100
LEARNERS = {
    "linear": "a logistic regression of each label",
    "network": "a network of one hidden layer",
    "random forest": "a random forest",
    "extra trees": "a forest of extra trees",
    "boosting": "histogram boosting of each label",
}
# Seconds of one fit by scikit-learn, next to those counted for a part with its held-out scores.
_TIMES = {"network": 0.5, "random forest": 2.0, "extra trees": 1.5, "boosting": 0.25}
_TIMES_SPARSE = {"random forest": 1.5, "extra trees": 1.5}
_FREE, _LAW = 60.0, 4.0  # what RareLabelClassifier takes at most: seconds, or times its best part
_FORESTS = ("random forest", "extra trees")
C_SPARSE, C_DENSE, _ROUNDS = 3.0, 0.03, 200
_HELD_OUT = 2000  # rows up to which all are judged by models that did not learn from them
_SIZES = (4000, 2000, 1000, 500, 250)


class LearnerTrial(NamedTuple):
    """What the race saw of one learner.

    Attributes
    ----------
    learner : str
        "linear", "network", "random forest", "extra trees" or "boosting".
    n_rows : int
        Rows that it learned from; 0 if it was not tried.
    log_loss : float
        Per positive, the mean over labels, on rows that it did not learn from; NaN if not tried.
    work : float
        Seconds that a fit of scikit-learn to all rows should take, counted from shapes.
    chosen : bool
        Whether the comparison is made with it.
    """

    learner: str
    n_rows: int
    log_loss: float
    work: float
    chosen: bool


@dataclass(frozen=True, eq=False)
class Learner:
    """A learner of the comparison.

    ``make(n)`` returns it unfitted, for n rows, ``seconds(n)`` what a fit to n should take, and
    ``default_seconds(n)`` what RareLabelClassifier should.
    """

    make: Callable[[int], Any]
    seconds: Callable[[int], float]
    default_seconds: Callable[[int], float]
    words: str = "yours"


@dataclass(frozen=True, eq=False)
class LearnerRace:
    """The tables of a sample of the rows, and the parts that could learn from them."""

    data: Data
    groups: ColumnGroups | None  # None: X is a table
    tasks: list[Task]
    parts: list[Candidate]
    n: int  # rows of all data

    @classmethod
    def open(cls, data: Data, groups: ColumnGroups | None, rng: np.random.Generator) -> LearnerRace:
        """Return the race of a sample of the rows."""
        n = data.n_samples
        if n > _HELD_OUT:
            data = data.take(rare_rows_first(data.Y, rng)[: 2 * _SIZES[0]])
        found, tables = Tables.fit(data, data.features.container.native)
        tasks = make_tasks(tables, data, find_learned(data), n_trees=TREES)
        return cls(data, groups, tasks, find_candidates(tasks, found.names), n)

    @cached_property
    def public(self) -> dict[str, Candidate]:
        """The parts that scikit-learn has as classifiers of its own for such rows, by name."""
        if len(self.tasks) > 1:  # tables side by side, which regressions take together
            return {"linear": next(one for one in self.parts if one.part.name == "linear")}
        left_out = {"kernel ridge"}
        if self.data.unknown is not None:  # a network needs to know all cells of y
            left_out.add("network")
        indices = getattr(self.data.features.container.native, "indices", None)
        wide = getattr(indices, "dtype", np.int32) != np.int32
        if wide and stored_cells(self.data.X) is not None:
            left_out.update(_FORESTS)  # scikit-learn's trees take 32-bit indices only
        return {one.name: one for one in self.parts if one.name not in left_out}

    def learners(self, n_jobs: int | None) -> dict[str, Learner]:
        """Return the learners by name."""
        return {
            name: Learner(
                partial(self._make, name, n_jobs),
                partial(self._fit_seconds, name),
                partial(self._default_seconds, name),
                LEARNERS[name],
            )
            for name in self.public
        }

    def run(
        self, names: list[str], budget: float, rng: np.random.Generator
    ) -> tuple[str, tuple[LearnerTrial, ...]]:
        """Return the one of least log loss of some learners, and what was seen of all."""
        if len(self.tasks) > 1:
            return "linear", ()
        n = self.tasks[0].Y.shape[0]
        sizes = [size for size in _SIZES if 2 * size <= n]
        if n <= _HELD_OUT:
            sizes.insert(0, n)
        costs = [{name: self._trial_seconds(name, size) for name in names} for size in sizes]
        affordable = (at for at, cost in enumerate(costs) if sum(cost.values()) <= budget)
        at = next(affordable, len(sizes) - 1)
        tried: list[str] = []
        total = 0.0
        for name in sorted(names, key=costs[at].__getitem__):
            total += costs[at][name]
            if total <= budget or not tried:
                tried.append(name)
        losses = self._judge(tried, sizes[at], rng)
        best = min(losses, key=losses.__getitem__)
        return best, tuple(
            LearnerTrial(
                name,
                sizes[at] if name in losses else 0,
                losses.get(name, np.nan),
                self._fit_seconds(name, self.n),
                name == best,
            )
            for name in self.public
        )

    def _judge(self, names: list[str], size: int, rng: np.random.Generator) -> dict[str, float]:
        """Return log losses on rows that are not learned from."""
        task = self.tasks[0]
        order = rare_rows_first(task.Y, rng)[: 2 * size]
        learned, judged = task.take(order[0::2]), task.take(order[1::2])
        losses = {}
        with loop("Trying", len(names), "learners") as progress:
            for name, stream in zip(names, rng.spawn(len(names))):
                part = self.public[name].part
                if size == task.Y.shape[0]:
                    losses[name] = log_loss(part.fit(task, stream).held_out, task)
                else:
                    losses[name] = log_loss(part.try_on(learned, judged, stream), judged)
                progress.advance()
        return losses

    # --- what fits take ---------------------------------------------------------------------------

    def _fit_seconds(self, name: str, n: int) -> float:
        if name == "linear":
            return sum(_regression_seconds(task, n) for task in self.tasks)
        times = _TIMES if stored_cells(self.tasks[0].table) is None else _TIMES_SPARSE
        seconds = times[name] * count_work(self.public[name], self.tasks, n)
        if name in _FORESTS and self.data.unknown is not None:  # one for each label
            seconds *= max(self.data.Y.shape[1] / 3, 1)
        return seconds

    def _trial_seconds(self, name: str, n: int) -> float:
        one = self.public[name]
        n_fits = one.part.n_fits if n < self.tasks[0].Y.shape[0] else 1
        return count_work(one, self.tasks, n) / n_fits

    def _default_seconds(self, name: str | None, n: int) -> float:
        """Return what RareLabelClassifier should take, whose parts keep a law of cost."""
        works = [count_work(one, self.tasks, n) for one in self.parts]
        best = min(works) if name is None else count_work(self.public[name], self.tasks, n)
        return float(min(sum(works), max(_FREE, _LAW * best)))

    # --- the estimators ---------------------------------------------------------------------------

    def _make(self, name: str, n_jobs: int | None, n: int) -> Any:
        sparse = any(stored_cells(task.table) is not None for task in self.tasks)
        batch, rounds = plan_rounds(n)
        model: Any = {
            "linear": LogisticRegression(C=C_SPARSE if sparse else C_DENSE, max_iter=_ROUNDS),
            "network": MLPClassifier(
                (256,), alpha=1e-3, batch_size=batch, max_iter=rounds, random_state=0
            ),
            "random forest": RandomForestClassifier(TREES, random_state=0),
            "extra trees": ExtraTreesClassifier(TREES, bootstrap=True, random_state=0),
            "boosting": HistGradientBoostingClassifier(random_state=0),
        }[name]
        alone = self.data.Y.shape[1] == 1 or self.data.unknown is not None
        if name in ("linear", "boosting") or alone:
            model = BinaryRelevance(model, n_jobs=n_jobs)
        elif name in _FORESTS:
            model.set_params(n_jobs=n_jobs)
        scaled = name in ("linear", "network")
        steps = self._read_columns(n, scaled=scaled and not sparse)
        if scaled and self.groups is None:
            if has_gaps(self.data):
                steps.append(SimpleImputer(strategy="median", add_indicator=True))
            centered = stored_cells(self.data.X) is None
            steps.append(Normalizer() if sparse else StandardScaler(with_mean=centered))
        return make_pipeline(*steps, model) if steps else model

    def _read_columns(self, n: int, *, scaled: bool) -> list[Any]:
        """Return what makes numbers of categories, texts and vectors, these ``scaled`` or not."""
        if self.groups is None:
            nominal = np.flatnonzero(self.data.categorical).tolist()
            words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
            encode = make_column_transformer((words, nominal), remainder="passthrough")
            return [encode] if nominal else []
        columns = self.groups.columns
        made = {name: _make_reader(one, n, scaled=scaled) for name, one in columns.items()}
        if self.groups.single:
            return next(iter(made.values()))
        names = self.data.features.names or ()

        def key(name: Any) -> Any:  # scikit-learn takes a number for a place
            return name if isinstance(name, str) else names.index(name)

        parts: list[Any] = [
            (steps[0] if len(steps) == 1 else make_pipeline(*steps), key(name))
            for name, steps in made.items()
        ]
        forms = {key(name): form for name, form in self.groups.table.items()}
        numbers = [name for name in forms if forms[name] == "numbers"]
        if numbers:
            parts.append((make_pipeline(SimpleImputer(), StandardScaler()), numbers))
        if len(numbers) < len(forms):
            categories = [name for name in forms if forms[name] != "numbers"]
            parts.append((OneHotEncoder(handle_unknown="ignore"), categories))
        return [make_column_transformer(*parts)]


def _make_reader(column: TextColumn | VectorColumn, n: int, *, scaled: bool) -> list[Any]:
    """Return the steps that make numbers of a column; TF-IDF needs no scale."""
    if isinstance(column, VectorColumn):
        return [FunctionTransformer(np.vstack), *([StandardScaler()] if scaled else [])]
    return [make_vectorizer(column.characters, n, dtype=np.float64)]


def _regression_seconds(task: Task, n: int) -> float:
    """Return what a logistic regression of each label takes, by scikit-learn one after the other.

    The race's own part solves them side by side. Next to measured times on embeddings, images and
    made rows (240 to 16,000), the count is between 0.9 and 2 times as long.
    """
    columns, stored = task.table.shape[1], stored_cells(task.table)
    if stored is None:
        return task.n_labels * (3e-3 + 5e-8 * n * columns)
    stored *= n / task.table.shape[0]
    return task.n_labels * (8e-3 + 8e-7 * columns + 7e-7 * stored)


def has_gaps(data: Data) -> bool:
    """Say whether some cell of X is missing."""
    return bool(np.isnan(stored_values(data.X)).any())


def own_learner(
    estimator: Any, data: Data, groups: ColumnGroups | None, rng: np.random.Generator
) -> tuple[Learner, str]:
    """Return a user's learner; what a fit takes is a guess. Or why only it can read X."""
    q = data.Y.shape[1]
    why_not = ""

    def seconds(n: int) -> float:
        return 1e-3 + q * (5e-4 + 1e-5 * n)

    default: Callable[[int], float] = seconds
    try:
        default = partial(LearnerRace.open(data, groups, rng)._default_seconds, None)
    except LabelanceError as error:
        why_not = str(error)
    return Learner(lambda n: clone(estimator), seconds, default), why_not


def check_for_trees(data: Data) -> None:
    cells = stored_values(data.X)
    largest = max(np.nanmax(cells, initial=0.0), -np.nanmin(cells, initial=0.0))
    if largest > np.finfo(np.float32).max:
        raise InputError("The forests of advise need numbers up to 3.4e38", "X has larger numbers")
