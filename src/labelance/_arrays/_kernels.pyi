from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

def count_sparse(
    data: NDArray[np.floating[Any]],
    indices: NDArray[np.integer[Any]],
    indptr: Ints,
    seeds: Ints,
    references: Ints,
    categorical: NDArray[np.uint8],
    line: bool,
) -> tuple[Ints, int]: ...
def fill_sparse(
    data: NDArray[np.floating[Any]],
    indices: NDArray[np.integer[Any]],
    indptr: Ints,
    seeds: Ints,
    references: Ints,
    categorical: NDArray[np.uint8],
    line: bool,
    numbers: NDArray[np.float64],
    start: int,
    stop: int,
    new_data: NDArray[np.floating[Any]],
    new_indices: NDArray[np.integer[Any]],
    new_indptr: Ints,
) -> None: ...
