"""Samplers that delete rows whose labels do not fit their neighbors'; nothing is random."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from labelance._validation import Data
from labelance.exceptions import InputError
from labelance.neighbors import Neighborhood
from labelance.sampling._neighbors import NeighborSampler
from labelance.sampling._plan import Draw
from labelance.sampling._traits import SamplerTraits


@dataclass(frozen=True, eq=False)
class Misfits:
    """The rows to delete, as a mask, and what a fitted sampler says about how they were found."""

    rows: np.ndarray
    threshold: float
    candidates: int
    fitted: Mapping[str, Any] = field(default_factory=dict)


class NeighborCleaner(NeighborSampler, metaclass=ABCMeta):
    """Base of samplers that find the misfits; all of them are deleted, in no order."""

    verbose: int

    traits: ClassVar[SamplerTraits] = SamplerTraits(
        deletes=True, random=False, finds_neighbors=True
    )

    @abstractmethod
    def _misfits(self, data: Data, around: Neighborhood) -> Misfits:
        """Return the rows to delete."""

    def _plan(self, data: Data, neighborhood: Neighborhood | None) -> Misfits:
        metric = self._feature_metric(data.X, data.categorical)
        around = self._neighborhood(data, metric, neighborhood)
        misfits = self._misfits(data, around)
        if misfits.rows.all():
            raise InputError(
                f"{type(self).__name__} leaves at least one row",
                f"the labels of all {data.n_samples} rows differ from their neighbors' by more "
                f"than the threshold of {misfits.threshold:g}",
                "Raise the threshold, or part frequent from rare labels with REMEDIAL first",
            )
        return misfits

    def _draw(self, data: Data, plan: Misfits, rng: np.random.Generator) -> Draw:
        kept = np.flatnonzero(~plan.rows)
        if self.verbose:
            print(
                f"[{type(self).__name__}] deletes {data.n_samples - len(kept)} of "
                f"{plan.candidates} candidates, labels farther than {plan.threshold:g}"
            )
        return Draw(rows=kept, provenance={"sample_indices_": kept, **plan.fitted})


def rows_with(Y: sp.csr_array, labels: np.ndarray) -> np.ndarray:
    """Return the mask of the rows that have any of the labels of a mask.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from labelance.sampling._cleaner import rows_with
    >>> rows_with(sp.csr_array([[1, 0], [1, 1], [0, 0]]), np.array([False, True]))
    array([False,  True, False])
    """
    cells = np.concatenate(([0], np.cumsum(labels[Y.indices])))
    return np.diff(cells[Y.indptr]) > 0
