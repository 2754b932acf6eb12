from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelance.learners.tree._data import TreeData

Arrays = tuple[NDArray[Any], ...]
Bits = NDArray[np.uint64]
Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]

class RowBlock:
    n_rows: int
    n_features: int
    def __init__(self, X: Floats, two: Bytes, ones: Bits, missing: Bits | None) -> None: ...

def sum_votes(
    rows: RowBlock,
    trees: Arrays,
    winner: Ints,
    per_node: Arrays,
    per_slot: Arrays,
    last_wins: bool,
    out: Floats,
) -> None: ...
def predict_links(
    rows: RowBlock, nodes: Arrays, links: Arrays, decisions: Bits, at: int, votes: bool, out: Floats
) -> None: ...
def stack_rows(
    data: TreeData,
    rows: Ints,
    link_start: Ints,
    base: Ints,
    before: Bits,
    some: Bytes,
    n_labels: int,
) -> tuple[Ints, Ints32, Ints32]: ...
def stack_columns(
    data: TreeData, rows: Ints, row_start: Ints, row_feature: Ints32, column_start: Ints
) -> Bits: ...
