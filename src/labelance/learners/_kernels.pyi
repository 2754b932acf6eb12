import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]
Floats = NDArray[np.float64]

def deal_majority(
    indptr: Ints,
    indices: Ints,
    out_indptr: Ints,
    out_indices: Ints,
    n: int,
    wanted: Ints,
    n_members: int,
    chance: Floats,
) -> tuple[Ints32, NDArray[np.bool_]]: ...
def draw_balanced(
    indptr: Ints,
    indices: Ints,
    hole_indptr: Ints,
    hole_indices: Ints,
    n: int,
    label: Ints,
    other: Ints,
    wanted: Ints,
    chance: Floats,
) -> tuple[Ints32, Ints32]: ...
def project(X: Floats, a: Floats) -> Floats: ...
def gradient_ascent(
    Z: Floats,
    plus: NDArray[np.uint8],
    weight: Floats,
    a: Floats,
    l1: float,
    steepness: float,
    steps: int,
    halvings: int,
    tolerance: float,
) -> float: ...
def soft_hellinger(
    along: Floats, b: float, plus: NDArray[np.uint8], weight: Floats, steepness: float, soft: Floats
) -> tuple[float, float, float]: ...
