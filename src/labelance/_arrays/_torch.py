"""torch tensors, on the CPU and on a GPU; torch is imported where the tensor was made.

A tensor in the computer's own memory is opened as a numpy array that shares its memory where
the dtype allows it. A tensor on a GPU stays there: its clean rows are a float32 or float64
tensor, and the verbs below work on it where it lies.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelance._arrays._containers import (
    DeviceCells,
    Kind,
    PlainContainer,
    advise_shape,
    on_device,
    to_working_floats,
)
from labelance.exceptions import ContainerError, InputError

# Rows are made and added up in blocks of about this many numbers, a few times over in float64.
_NUMBERS_PER_BLOCK = 16_000_000
_CELLS = 1 << 26  # cells of float64 copies held at once


def torch_module() -> Any:
    """Return torch without importing it: there is no tensor before the user imports it."""
    return sys.modules["torch"]


def has_triton(tensor: Any) -> bool:
    """Tell whether a Triton with tensor descriptors (3.4) compiles for a tensor's device.

    That is an NVIDIA GPU of 2020 or later.
    """
    torch = torch_module()
    if not tensor.is_cuda or torch.version.cuda is None or find_spec("triton") is None:
        return False
    if find_spec("triton.tools.tensor_descriptor") is None:
        return False
    return bool(torch.cuda.get_device_capability(tensor.device) >= (8, 0))


def open_tensor(data: Any, role: str) -> TensorContainer:
    """Wrap a tensor, or say why it cannot be a table of numbers."""
    if data.layout is not torch_module().strided:
        raise ContainerError(
            f"{role} must be a dense tensor or a scipy sparse matrix",
            f"{role} is a tensor with layout {data.layout}",
            f"Pass {role}.to_dense(), or build a scipy.sparse.csr_array from its cells",
        )
    if data.device.type not in ("cpu", "cuda"):
        raise ContainerError(
            f"{role} must be a tensor on the CPU or on a CUDA device, where float64 exists",
            f"{role} is on {data.device}",
            f"Move it: {role}.cpu()",
        )
    if data.ndim != 2:
        raise InputError(
            f"{role} must be a table of numbers with two dimensions, rows and columns",
            f"{role} is a Tensor of {data.ndim} dimension(s)",
            advise_shape(data.ndim, role),
        )
    if data.is_complex() or data.is_quantized:
        raise InputError(
            f"{role} must hold real numbers",
            f"{role} is a tensor of {data.dtype}. Complex data not supported",
            f"Convert it, for example {role}.real or {role}.dequantize()",
        )
    return TensorContainer(data.detach())


class TensorContainer(PlainContainer):
    """A dense tensor without its gradient; a tensor of the same dtype and device comes back."""

    def __init__(self, native: Any) -> None:
        super().__init__(native)
        self.kind: Kind = "device" if on_device(native) else "dense"

    def clean(self) -> Any:
        """Return the cells as working floats: an array, or a tensor where the data is."""
        if self.kind == "device":
            return _to_working_tensor(self.native)
        return to_working_floats(to_host(self.native))

    def raw(self) -> Any:
        """Return the cells as given: an array, or from a GPU the non-zero ones as CSR."""
        return _gather_cells(self.native) if self.kind == "device" else to_host(self.native)

    def restore(self, rows: np.ndarray | None, new: Any) -> Any:
        """Return ``rows`` of the original (all if None), then the ``new`` clean rows."""
        torch = torch_module()
        kept = self.native if rows is None else self.native[self._to_here(rows)]
        if new is not None:
            return torch.cat([kept, self._cast(new)])
        return kept.clone() if rows is None else kept

    def _cast(self, new: Any) -> Any:
        torch = torch_module()
        if isinstance(new, np.ndarray):
            new = torch.from_numpy(new)
        whole = not self.native.dtype.is_floating_point
        return (new.round() if whole else new).to(self.native)

    def restore_labels(self, Y: sp.csr_array, rows: np.ndarray | None, added: int) -> Any:
        """Return 0/1 labels in this tensor's dtype, on its device."""
        torch = torch_module()
        out = torch.zeros(Y.shape, dtype=self.native.dtype, device=self.native.device)
        present = torch.repeat_interleave(self._to_here(np.diff(Y.indptr)))
        some_unknown = Y.dtype.kind == "f"
        values = to_device(Y.data, self.native).to(out.dtype) if some_unknown else 1
        out[present, self._to_here(Y.indices)] = values
        return out

    def _to_here(self, numbers: np.ndarray) -> Any:
        return to_device(numbers.astype(np.int64, copy=False), self.native)


def to_device(array: np.ndarray, like: Any) -> Any:
    """Return the array as a tensor on the device of the tensor ``like``."""
    array = np.require(array, requirements=["C", "W"])  # torch does not take what is locked
    return torch_module().as_tensor(array, device=like.device)


def to_device_of(array: np.ndarray, X: Any) -> Any:
    """Return an array as a tensor on the device of X, if X is on one."""
    return to_device(array, X) if on_device(X) else array


def to_host(tensor: Any) -> np.ndarray:
    """Return a tensor as an array, without a copy if it is in the computer's memory already.

    numpy has no bfloat16; float32 holds all of its numbers.
    """
    torch = torch_module()
    tensor = tensor.detach()
    if tensor.dtype is torch.bfloat16:
        tensor = tensor.float()
    if not tensor.is_cuda:
        return tensor.cpu().numpy()
    # Page-locked memory takes a copy at the full speed of the bus.
    return torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True).copy_(tensor).numpy()


def append_tensor(top: Any, bottom: Any) -> Any:
    """Put the rows of one tensor under those of another."""
    return torch_module().cat([top, bottom])


def _to_working_tensor(native: Any) -> Any:
    """Return contiguous float32 (if it was float32 or shorter) or float64 values."""
    torch = torch_module()
    short = native.dtype in (torch.float32, torch.float16, torch.bfloat16)
    return native.to(torch.float32 if short else torch.float64).contiguous()


def _gather_cells(native: Any) -> sp.csr_array:
    """Bring the non-zero cells of a tensor on a GPU to the computer's memory, and only these."""
    torch = torch_module()
    rows, columns = native.nonzero(as_tuple=True)
    values = to_host(native[rows, columns])
    counts = rows.bincount(minlength=native.shape[0])
    indptr = np.concatenate([[0], to_host(counts.cumsum(0))])
    small = np.int32 if max(len(values), *native.shape) < 2**31 else np.int64
    indices = to_host(columns.to(torch.int32 if small is np.int32 else torch.int64))
    cells = DeviceCells((values, indices, indptr.astype(small)), shape=tuple(native.shape))
    cells.has_sorted_indices = True
    cells.source = native.new_empty(0)
    cells.counts = to_host(columns.bincount(minlength=native.shape[1]))
    return cells


def places_in(ends: np.ndarray, numbers: np.ndarray, near: Any) -> np.ndarray:
    """Return the first place of ascending ``ends`` not below each number, found on a device."""
    return to_host(torch_module().searchsorted(to_device(ends, near), to_device(numbers, near)))


def column_sums(X: Any) -> Any:
    """Return the float64 sum of every column; torch alone would make a float64 copy of all rows."""
    torch = torch_module()
    total = torch.zeros(X.shape[1], dtype=torch.float64, device=X.device)
    for part in X.split(max(1, _NUMBERS_PER_BLOCK // max(1, X.shape[1]))):
        total += part.sum(dim=0, dtype=torch.float64)
    return total


def rows_per_block(X: Any) -> int:
    """Return how many rows have float64 copies, or differences, at once."""
    return max(1, _CELLS // max(1, X.shape[1]))


def column_range(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and largest value of every column."""
    low, high = X.aminmax(dim=0)
    return low.double().cpu().numpy(), high.double().cpu().numpy()


def column_std(X: Any) -> np.ndarray:
    """Return the population standard deviation of every column, up to the last digits.

    The order in which a device adds up a column is its own, so this is not bit for bit what an
    array gives.
    """
    mean = column_sums(X) / len(X)
    squares = sum(((block.double() - mean) ** 2).sum(dim=0) for block in X.split(rows_per_block(X)))
    return square_root(squares / len(X)).cpu().numpy()


def largest_in_rows(X: Any, width: np.ndarray) -> np.ndarray:
    """Return the largest absolute value of every row, its features divided by their widths."""
    widths, parts = to_device(width, X), X.split(rows_per_block(X))
    return to_host(torch_module().cat([(part / widths).abs().amax(dim=1) for part in parts]))


def shift_exponents(X: Any, shift: np.ndarray) -> Any:
    """Multiply every row of a float64 tensor by 2 to its ``shift``, exactly."""
    half = shift // 2  # 2.0 to the whole may be too large a number
    for part in (half, shift - half):
        X = X * to_device(np.ldexp(1.0, part)[:, np.newaxis], X)
    return X


def square_root(squares: Any) -> Any:
    """Return square roots, rounded as numpy and compiled code round them.

    Those of torch in the computer's own memory may be off by one in the last place.
    """
    if squares.device.type != "cpu":
        return squares.sqrt()
    return torch_module().from_numpy(np.sqrt(squares.numpy()))


def tensor_columns_where(values: Any, test: str) -> np.ndarray:
    """Return the columns of a tensor with a cell that ``isnan`` or ``isinf``, as ``test`` says."""
    torch = torch_module()
    if torch.isfinite(column_sums(values).sum()):
        return np.empty(0, dtype=int)
    return getattr(torch, test)(values).any(dim=0).nonzero().ravel().cpu().numpy()


def interpolate_tensor(
    X: Any, seeds: np.ndarray, references: np.ndarray, rng: np.random.Generator, *, line: bool
) -> Any:
    """Return one row per pair of rows of a tensor, with the numbers that an array would get.

    They are drawn by numpy and copied over, so that the same seed gives the same rows wherever
    the data lies.
    """
    torch = torch_module()
    out = torch.empty((len(seeds), X.shape[1]), dtype=X.dtype, device=X.device)
    step = max(1, _NUMBERS_PER_BLOCK // max(1, X.shape[1]))
    for start in range(0, len(seeds), step):
        block = slice(start, start + step)
        a, b = X[to_device(seeds[block], X)], X[to_device(references[block], X)]
        u = _positions(a, b, rng, line=line)
        low, high = torch.minimum(a, b).double(), torch.maximum(a, b).double()
        # Rounding may step over an end by the last digit.
        value = a.double() + u * (b.double() - a.double())
        out[block] = torch.minimum(torch.maximum(value, low), high).to(X.dtype)
    return out


def _positions(a: Any, b: Any, rng: np.random.Generator, *, line: bool) -> Any:
    """Draw a number per row, or per feature in which two rows differ, row after row."""
    torch = torch_module()
    if line:
        return to_device(rng.random((len(a), 1)), a)
    differs = a != b
    # Page-locked memory is copied while the next numbers are drawn.
    numbers = torch.empty(int(differs.sum()), dtype=torch.float64, pin_memory=a.is_cuda)
    rng.random(out=numbers.numpy())
    return torch.zeros(a.shape, dtype=torch.float64, device=a.device).masked_scatter_(
        differs, numbers.to(a.device, non_blocking=True)
    )
