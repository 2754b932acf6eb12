from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.integer[Any]]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

def clone_in_turns(
    indptr: Integers,
    indices: Integers,
    labels: Ints,
    starts: Ints,
    rows: Ints,
    counts: Ints,
    at_mean: Ints,
    targets: Floats,
    static_max: bool,
    numbers: Floats,
) -> Ints: ...
def delete_in_turns(
    indptr: Integers,
    indices: Integers,
    labels: Ints,
    starts: Ints,
    cells: Ints,
    row_of: Ints,
    place_of: Ints,
    counts: Ints,
    at_mean: Ints,
    static_max: bool,
    numbers: Floats,
) -> Ints: ...
