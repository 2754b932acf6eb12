from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelance.learners.tree._classes import C45Options
from labelance.learners.tree._data import CellIndex, Problems, TreeData

def grow_and_prune(
    data: TreeData,
    problems: Problems,
    index: CellIndex,
    weight: NDArray[np.float64] | None,
    options: C45Options,
    log_table: NDArray[np.float64],
    price: NDArray[np.float64],
    complete: bool,
    in_bits: bool,
) -> tuple[NDArray[Any], ...]: ...
