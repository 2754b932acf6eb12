import numpy as np
from numpy.typing import NDArray

from labelance.model_selection._stratify import (
    Integers,
    LabelIncidence,
    Objective,
    RarityHeap,
    Wants,
)

def write_pairs(*lists: Integers) -> tuple[Integers, int]: ...
def assign_phase(
    incidence: LabelIncidence,
    scale: int,
    want: Wants,
    heap: RarityHeap,
    fold: Integers,
    draws: NDArray[np.float64],
    ties: int,
) -> int: ...
def local_search(
    incidence: LabelIncidence, fold: Integers, n_folds: int, objective: Objective, budget: int
) -> tuple[Integers, float, int]: ...
