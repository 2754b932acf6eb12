"""Small tools for every package: random numbers, kernels, files, memory, messages."""

from labelance._utils._checksums import GrowingFile, hash_file, is_intact, keep_file
from labelance._utils._dtypes import label_dtype
from labelance._utils._files import replace_when_done
from labelance._utils._kernel import (
    ONE,
    ZERO,
    compilation_seconds,
    inlined_kernel,
    inner_kernel,
    kernel,
    kernel_folder,
    read_only,
)
from labelance._utils._memory import (
    available_memory,
    check_fits_memory,
    left_in_control_group,
)
from labelance._utils._messages import did_you_mean, optional_import, show_names, warn_user
from labelance._utils._parameters import ListsParameters
from labelance._utils._random import (
    RandomStateLike,
    as_generator,
    draw_seeds,
    is_repeatable,
    set_random_states,
)

# All of it is for our own packages: none of it is public.
__all__ = [
    "ONE",
    "ZERO",
    "GrowingFile",
    "ListsParameters",
    "RandomStateLike",
    "as_generator",
    "available_memory",
    "compilation_seconds",
    "did_you_mean",
    "draw_seeds",
    "hash_file",
    "inlined_kernel",
    "inner_kernel",
    "is_repeatable",
    "is_intact",
    "keep_file",
    "kernel",
    "kernel_folder",
    "label_dtype",
    "left_in_control_group",
    "optional_import",
    "read_only",
    "check_fits_memory",
    "replace_when_done",
    "set_random_states",
    "show_names",
    "warn_user",
]
