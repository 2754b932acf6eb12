"""Which columns of X are categorical, and their values as codes 0, 1, … and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from labelance._arrays._columns import cells_by_column, columns_beyond_binary, each_block, map_rows
from labelance._arrays._containers import stored_values
from labelance._arrays._open import Container, has_sparse_rows
from labelance._utils._messages import unknown_name
from labelance._validation._arguments import is_integer
from labelance.exceptions import COLUMN, InputError, arg

CategoricalFeatures = Any  # None, "auto", a boolean mask, column numbers or column names


def categorical_mask(wanted: CategoricalFeatures, container: Container) -> np.ndarray:
    """Return the boolean mask of the columns that ``categorical_features`` names, not None."""
    return mask_of_columns(wanted, container.shape[1], container.names)


def mask_of_columns(
    wanted: CategoricalFeatures, d: int, names: tuple[Any, ...] | None
) -> np.ndarray:
    """Return the boolean mask of columns that are listed by a mask, by numbers or by names."""
    mask, given = np.zeros(d, dtype=bool), arg("categorical_features")
    listed = np.atleast_1d(np.asarray(wanted))
    if listed.size == 0 or (isinstance(wanted, str) and wanted == "auto"):
        return mask
    numbers = listed.ravel().tolist()
    whole = all(is_integer(v) or (isinstance(v, float) and v.is_integer()) for v in numbers)
    if listed.dtype.kind in ("f", "O") and whole and not set(numbers) <= set(names or ()):
        listed = listed.astype(np.int64)
    if listed.dtype.kind == "b":
        if listed.shape != (d,):
            raise InputError(
                f"{given} as a mask must have one entry per column of X",
                f"The mask has shape {listed.shape}, and X has {d} columns",
            )
        return listed
    if listed.dtype.kind in "iu":
        outside = listed[(listed < -d) | (listed >= d)]
        if len(outside):
            raise InputError(
                f"{given} must hold column numbers from 0 to {d - 1}",
                f"Got {', '.join(map(str, outside[:5]))}",
            )
        mask[listed] = True
        return mask
    if names is None:
        raise InputError(
            f"{given} can hold column names only if X is a data frame", "X has no column names"
        )
    unknown = [name for name in listed if name not in names]
    if unknown:
        raise unknown_name("column", unknown[0], names, given)
    return np.isin(np.asarray(names, dtype=object), listed)


def encode(values: Any, nominal: np.ndarray) -> tuple[Any, dict[int, np.ndarray]]:
    """Replace the numbers in nominal columns by codes 0, 1, …; most are 0/1 already."""
    if not nominal.any():
        return values, {}
    listed = np.unique(np.concatenate(each_block(columns_beyond_binary, values, nominal)))
    if len(listed) == 0:
        return values, {}
    found = each_block(_find_values, values, listed)
    decoders = {}
    for place, j in enumerate(listed.tolist()):
        distinct = _distinct(np.concatenate([part[place] for part in found]))
        if has_sparse_rows(values):  # what is not stored is 0 and has code 0
            distinct = np.append(0.0, distinct[distinct != 0]).astype(values.dtype)
        decoders[j] = distinct
    return map_rows(partial(encode_like, decoders=decoders), values), decoders


def _find_values(values: Any, columns: np.ndarray) -> list[np.ndarray]:
    """Return the distinct known values of every column listed."""
    stored = stored_values(values)
    return [_distinct(stored[where]) for _, where in cells_by_column(values, columns)]


def _distinct(values: np.ndarray) -> np.ndarray:
    """Return the known values in rising order, and 0 without a sign, whichever is first."""
    return np.unique(values[~np.isnan(values)]) + 0  # -0.0 + 0 is 0.0


def encode_like(values: Any, decoders: dict[int, np.ndarray]) -> Any:
    """Replace numbers by the codes that they had before; NaN for numbers that are new."""
    return _replace(values, decoders, _codes_in)


def decode(new: Any, decoders: dict[int, np.ndarray]) -> Any:
    """Replace codes in new clean rows by the values they stand for."""
    return map_rows(partial(_replace, decoders=decoders, by=_take_coded), new)


def _replace(values: Any, decoders: dict[int, np.ndarray], by: Callable[..., np.ndarray]) -> Any:
    """Return a copy with what ``by`` makes of the decoder and the cells of each coded column."""
    values = values.copy()
    stored = stored_values(values)
    for j, cells in cells_by_column(values, np.array(sorted(decoders), dtype=int)):
        stored[cells] = by(decoders[j], stored[cells])
    return values


def translate(codes: np.ndarray, here: tuple[str, ...], known: tuple[str, ...]) -> np.ndarray:
    """Return codes of one list of categories as codes of another; NaN where it lacks the word."""
    place = {word: code for code, word in enumerate(known)}
    return _take_coded(np.array([place.get(word, np.nan) for word in here]), codes)


def _codes_in(distinct: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return the places of numbers in ``distinct``; NaN for those it lacks."""
    if not len(distinct):
        return np.full(len(numbers), np.nan)
    order = np.argsort(distinct)
    places = np.searchsorted(distinct, numbers, sorter=order).clip(max=len(distinct) - 1)
    codes = order[places]
    return np.where(distinct[codes] == numbers, codes, np.nan)


def _take_coded(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the value of every code; NaN for NaN."""
    table = np.append(values, np.nan)
    return table[np.where(np.isnan(codes), len(values), codes).astype(int)]


def name_columns(columns: Iterable[int], names: Sequence[Any] | None, kind: str = COLUMN) -> str:
    """Return the names, or numbers, of up to five columns or labels for a message."""
    columns = list(columns)
    shown = [repr(names[j]) if names else arg(kind, int(j)) for j in columns[:5]]
    return ", ".join(shown) + (f" and {len(columns) - 5} more" if len(columns) > 5 else "")
