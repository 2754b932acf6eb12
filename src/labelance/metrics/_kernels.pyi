from typing import Any

import numpy as np
from numpy.typing import NDArray

def count_around(
    ordered: NDArray[np.floating[Any]],
    values: NDArray[np.floating[Any]],
    order: NDArray[np.intp],
    indptr: NDArray[np.int64],
) -> NDArray[np.int32]: ...
