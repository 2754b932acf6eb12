from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.integer[Any]]

def visit_same_class(
    indptr: Integers,
    indices: Integers,
    neighbors: Integers,
    cell_of: NDArray[np.int64],
    place: NDArray[np.int64],
    listed: NDArray[np.int64],
) -> None: ...
