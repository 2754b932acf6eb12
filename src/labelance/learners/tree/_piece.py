"""Compile the inner functions of the tree kernels."""

from labelance._utils import ONE as ONE
from labelance._utils import ZERO as ZERO
from labelance._utils import inner_kernel as piece

__all__ = ["ONE", "ZERO", "piece"]
