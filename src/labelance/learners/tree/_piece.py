"""Compiling the pieces of kernels: functions that only compiled code calls."""

from __future__ import annotations

import numpy as np

from labelance._compile import Kernel, kernel

# A function is compiled once more for every constant that it is called with, unless the
# constant has a type.
ZERO, ONE = np.int64(0), np.int64(1)


def piece(function: Kernel) -> Kernel:
    """Compile ``function`` without a way in from Python, which saves a quarter of the time."""
    compiled = kernel(function)
    options = getattr(compiled, "targetoptions", {})  # there are none where numba is disabled
    options.update(no_cpython_wrapper=True, no_cfunc_wrapper=True)
    return compiled
