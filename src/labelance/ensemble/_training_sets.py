"""Where the members of an ensemble get their training rows from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from sklearn.base import clone

from labelance._arrays import take_rows
from labelance._utils import set_random_states
from labelance.sampling import BaseMultiLabelSampler

BootstrapKind = Literal[False, True, "beside"]


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """What one member learns from, and which original rows it does not see."""

    X: Any
    Y: Any
    left_out: np.ndarray


class Source(Protocol):
    """Gives a training set for a stream of random numbers."""

    def draw(self, rng: np.random.Generator) -> TrainingSet: ...


class EveryRow:
    """No sampling: the rows as they are."""

    def __init__(self, X: Any, Y: Any) -> None:
        self.X, self.Y = X, Y

    def draw(self, rng: np.random.Generator) -> TrainingSet:
        return TrainingSet(self.X, self.Y, np.empty(0, dtype=np.int64))


class OnePlan:
    """A sampler of ours: one plan, which holds all that is not chance, and a draw a member."""

    def __init__(
        self, sampler: BaseMultiLabelSampler, X: Any, Y: Any, neighborhood: Any = None
    ) -> None:
        self.plan = sampler.plan(X, Y, neighborhood=neighborhood)

    def draw(self, rng: np.random.Generator) -> TrainingSet:
        drawn, n = self.plan.draw(rng), self.plan.n_samples
        kept = drawn.provenance.get("sample_indices_", np.arange(n))
        return TrainingSet(drawn.X, drawn.y, np.setdiff1d(np.arange(n), kept))


class ForeignSampler:
    """Any other object with ``fit_resample``: called anew for every member."""

    def __init__(self, sampler: Any, X: Any, Y: Any) -> None:
        self.sampler, self.X, self.Y = sampler, X, Y

    def draw(self, rng: np.random.Generator) -> TrainingSet:
        sampler = set_random_states(clone(self.sampler), rng)
        X, Y = sampler.fit_resample(self.X, self.Y)
        kept = getattr(sampler, "sample_indices_", None)
        n = self.Y.shape[0]
        left_out = np.empty(0, dtype=np.int64) if kept is None else np.setdiff1d(range(n), kept)
        return TrainingSet(X, Y, left_out)


class Bootstrap:
    """Rows drawn with replacement first; then the sampler, planned on each bag of rows."""

    def __init__(self, sampler: Any, X: Any, Y: Any) -> None:
        self.sampler, self.X, self.Y = sampler, X, Y

    def draw(self, rng: np.random.Generator) -> TrainingSet:
        n = self.Y.shape[0]
        rows = np.sort(rng.integers(n, size=n))
        bag = make_source(self.sampler, take_rows(self.X, rows), take_rows(self.Y, rows))
        drawn = bag.draw(rng)
        return TrainingSet(drawn.X, drawn.Y, np.setdiff1d(np.arange(n), rows))


class Beside:
    """A bag of the original rows, beside the rows that a sampler adds to all of them."""

    def __init__(self, source: Source, n: int) -> None:
        self.source, self.n = source, n

    def draw(self, rng: np.random.Generator) -> TrainingSet:
        drawn, n = self.source.draw(rng), self.n
        bag = np.sort(rng.integers(n, size=n))
        rows = np.concatenate([bag, np.arange(n, drawn.Y.shape[0])])
        return TrainingSet(
            take_rows(drawn.X, rows), take_rows(drawn.Y, rows), np.setdiff1d(np.arange(n), bag)
        )


def make_source(
    sampler: Any,
    X: Any,
    Y: Any,
    *,
    bootstrap: BootstrapKind = False,
    neighborhood: Any = None,
) -> Source:
    """Choose the source for a sampler: ours, somebody's, or none.

    Neighbors of the rows of X found before serve one plan on these rows, and nothing else.
    """
    if bootstrap == "beside" and sampler is not None:
        return Beside(make_source(sampler, X, Y, neighborhood=neighborhood), Y.shape[0])
    if bootstrap:
        return Bootstrap(sampler, X, Y)
    if sampler is None:
        return EveryRow(X, Y)
    if isinstance(sampler, BaseMultiLabelSampler):
        return OnePlan(sampler, X, Y, neighborhood)
    return ForeignSampler(sampler, X, Y)
