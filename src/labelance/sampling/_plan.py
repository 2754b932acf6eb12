"""A plan, then draws: what does not depend on chance is computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from labelance._utils import RandomStateLike, as_generator
from labelance._validation import Data

if TYPE_CHECKING:
    from labelance.sampling._base import BaseMultiLabelSampler


@dataclass(frozen=True, eq=False)
class Draw:
    """What one draw does, on clean rows.

    Parameters
    ----------
    rows : ndarray of int or None
        Original rows of the result, in order; may repeat a row (clones). None means all.
    Y_rows : csr_array or None
        Labels of those rows where the sampler changed them. None means unchanged.
    X_new, Y_new : array or None
        Synthetic rows that follow.
    provenance : mapping
        Fitted attributes that say where the rows come from.
    """

    rows: np.ndarray | None = None
    Y_rows: sp.csr_array | None = None
    X_new: Any = None
    Y_new: sp.csr_array | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Resampled:
    """The rows after a draw, in the containers that came in, and where they come from."""

    X: Any
    Y: Any
    provenance: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class ResamplingPlan:
    """All that does not depend on chance; draw from it as often as you like.

    An ensemble makes one plan and many draws, so its members share one neighbor search.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import MLSOL
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.random((50, 3)), rng.integers(0, 2, (50, 4))
    >>> plan = MLSOL(sampling_ratio=0.2).plan(X, Y)
    >>> [plan.draw(seed).X.shape for seed in (1, 2)]
    [(60, 3), (60, 3)]
    """

    sampler: BaseMultiLabelSampler
    data: Data
    details: Any

    def draw(self, random_state: RandomStateLike = None) -> Resampled:
        """Return one resampled data set.

        Parameters
        ----------
        random_state : int, RandomState, Generator or None
            Where the random numbers of this draw come from.
        """
        return self.restore(self.sampler._draw(self.data, self.details, as_generator(random_state)))

    def restore(self, draw: Draw) -> Resampled:
        """Put a draw on clean rows into the containers that came in."""
        X, Y = self.data.restore(draw.rows, draw.Y_rows, draw.X_new, draw.Y_new)
        return Resampled(X, Y, draw.provenance)
