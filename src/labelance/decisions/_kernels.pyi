import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

def take_top(gains: Floats, starts: Ints, k: int, exactly: bool) -> NDArray[np.bool_]: ...
def improve_rows(
    p: Floats,
    labels: Ints,
    starts: Ints,
    order: Ints,
    chosen: NDArray[np.uint8],
    tp: Floats,
    pred: Floats,
    expected: Floats,
    logs: Floats,
    sure: Ints,
    utility: int,
    k: int,
    exactly: bool,
    weight: float,
    weight_hit: float,
) -> None: ...
def count_best(p: Floats, starts: Ints, beta2: float) -> Ints: ...
