"""Check where tables are, and that there is something in them."""

from __future__ import annotations

from typing import Any

from labelance._arrays._containers import on_device
from labelance._arrays._dask import is_blocks
from labelance._arrays._open import place_of
from labelance.exceptions import ContainerError, InputError


def check_not_empty(shape: tuple[int, int], caller: str, role: str) -> None:
    n, d = shape
    if n == 0 or d == 0:
        thing = "sample(s)" if n == 0 else "feature(s)"
        raise InputError(
            f"{caller} needs at least one row and one column in {role}",
            f"found array with 0 {thing} (shape={shape}) while a minimum of 1 is required",
            f"Check how {role} was selected",
        )


def check_no_other_places(X: Any, other: Any, role: str, *, caller: str) -> None:
    """Raise where one of the two is a tensor and the other is none, or is on another device.

    The same for a Dask collection beside rows in memory; labels in memory are welcome beside one.
    """
    here, there = place_of(X), place_of(other)
    if other is None or here == there or (here == "Dask" and there is None):
        return
    if there == "Dask":
        raise ContainerError(
            f"{caller} needs X as a Dask collection where {role} is one",
            f"X is {_describe(X, here)} and {role} is {_describe(other, there)}",
            f"Bring {role} to the memory of this process: {role}.compute()",
        )
    raise ContainerError(
        f"{caller} needs X and {role} as tensors on the same device, or neither as a tensor",
        f"X is {_describe(X, here)} and {role} is {_describe(other, there)}",
        f"Bring them together: torch.as_tensor({role}, device=X.device) makes {role} like a "
        "tensor X, and .cpu().numpy() makes an array of a tensor",
    )


def _describe(data: Any, place: str | None) -> str:
    if place is None:
        return f"a {type(data).__name__}"
    return f"a {type(data).__name__} of Dask" if place == "Dask" else f"a tensor on {place}"


def check_no_device(X: Any, *, caller: str) -> None:
    """Raise for rows elsewhere, where ``caller`` works in the computer's own memory alone."""
    if is_blocks(X):
        came, fix = "X is a Dask collection", "Bring it there: X.compute()"
    elif on_device(X):
        came, fix = f"X is on {X.device}", "Copy it there: X.cpu()"
    else:
        return
    raise ContainerError(f"{caller} works on rows in the computer's own memory", came, fix)
