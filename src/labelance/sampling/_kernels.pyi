from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]

# The bags are the fields of MLROSPlan and of MajorityBags.
def clone_in_turns(
    indptr: Integers, indices: Integers, *bags: Any, static_max: bool, numbers: Floats
) -> NDArray[np.int64]: ...
def delete_in_turns(
    indptr: Integers, indices: Integers, *bags: Any, static_max: bool, numbers: Floats
) -> NDArray[np.int64]: ...
