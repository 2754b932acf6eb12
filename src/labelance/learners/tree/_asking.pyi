from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelance.learners.tree._data import TreeData

class RowBlock:
    n_rows: int
    n_features: int
    def __init__(
        self,
        X: NDArray[np.float64],
        two: NDArray[np.uint8],
        ones: NDArray[np.uint64],
        missing: NDArray[np.uint64] | None,
    ) -> None: ...

def sum_votes(
    rows: RowBlock,
    trees: tuple[NDArray[Any], ...],
    winner: NDArray[np.int64],
    per_node: tuple[NDArray[Any], ...],
    per_slot: tuple[NDArray[Any], ...],
    last_wins: bool,
    out: NDArray[np.float64],
) -> None: ...
def predict_links(
    rows: RowBlock,
    nodes: tuple[NDArray[Any], ...],
    links: tuple[NDArray[np.int64], ...],
    decisions: NDArray[np.uint64],
    at: int,
    votes: bool,
    out: NDArray[np.float64],
) -> None: ...
def stack_rows(
    data: TreeData,
    rows: NDArray[np.int64],
    link_start: NDArray[np.int64],
    base: NDArray[np.int64],
    before: NDArray[np.uint64],
    some: NDArray[np.uint8],
    n_labels: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]: ...
def stack_columns(
    data: TreeData,
    rows: NDArray[np.int64],
    row_start: NDArray[np.int64],
    row_feature: NDArray[np.int32],
    column_start: NDArray[np.int64],
) -> NDArray[np.uint64]: ...
