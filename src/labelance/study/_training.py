"""The training sets that the methods of a family share, whoever learns from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelance.ensemble import Source, TrainingSet, make_source
from labelance.exceptions import NothingToSampleError
from labelance.sampling import BaseMultiLabelSampler
from labelance.study._design import Family
from labelance.study._folds import FoldData
from labelance.study._meter import Cost
from labelance.study._prepare import prepare, search_of


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
    bag = {"bootstrap": family.bootstrap}
    try:
        return make_source(sampler, X, Y, **bag, neighborhood=neighborhood)
    except NothingToSampleError:
        return make_source(None, X, Y, **bag)  # nothing to do about these labels


def _shared_neighborhood(sampler: Any, fold: FoldData, at_least: int) -> Any:
    wanted = search_of(sampler, fold.nominal)
    if sampler is None or wanted is None or not sampler.traits.finds_neighbors:
        return None
    k, space = wanted
    return fold.neighborhood(k, at_least, **space)
