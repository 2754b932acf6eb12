"""Check X once, and clean it.

Inside the library X is a C-contiguous float32 or float64 array, a sorted CSR array, or a tensor
on a GPU, with category codes 0, 1, … in nominal columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from labelance._arrays._open import (
    Container,
    RowsContainer,
    columns_where,
    kind_of,
    open_container,
    open_rows,
    place_of,
    take_rows,
)
from labelance._utils._messages import warn_user
from labelance._validation._categorical import (
    CategoricalFeatures,
    categorical_mask,
    decode,
    encode,
    encode_like,
    mask_of_columns,
    name_columns,
    translate,
)
from labelance.exceptions import (
    ContainerError,
    IndexMismatchWarning,
    InputError,
    MissingValuesError,
    arg,
)

MissingPolicy = Literal["error", "refuse", "distance", "keep"]


@dataclass(frozen=True, eq=False)
class Features:
    """Clean features, and how to return rows in their original form."""

    X: Any
    categorical: np.ndarray
    names: tuple[Any, ...] | None
    container: Container
    decoders: dict[int, np.ndarray]

    def schema(self) -> Schema:
        """Return what is needed to validate other rows alike."""
        return Schema(
            self.X.shape[1],
            self.categorical,
            self.names,
            self.container.categories(),
            self.decoders,
            self.only_rows,
        )

    @property
    def only_rows(self) -> bool:
        """Say whether they are no table of numbers, such as texts: there is nothing to compute."""
        return isinstance(self.container, RowsContainer)

    def take(self, rows: np.ndarray) -> Features:
        """Return some of the rows, their columns coded as they are."""
        native = take_rows(self.container.native, rows)
        container: Container = (
            RowsContainer(native) if self.only_rows else open_container(native, "X", in_blocks=True)
        )
        return replace(self, X=self.X[rows], container=container)

    def restore(self, rows: np.ndarray | None, new: Any) -> Any:
        """Return ``rows`` of the original X (all if None) and the ``new`` clean rows under them."""
        if new is not None and new.shape[0] == 0:
            new = None  # so that a frame keeps its index, as the labels keep theirs
        if new is not None and self.decoders:
            new = decode(new, self.decoders)
        return self.container.restore(rows, new)


@dataclass(frozen=True, eq=False)
class Schema:
    """What a learner remembers of X to validate new rows alike; it holds no rows."""

    n_features: int
    categorical: np.ndarray
    names: tuple[Any, ...] | None
    categories: dict[int, tuple[str, ...]]
    decoders: dict[int, np.ndarray]
    only_rows: bool = False  # no table of numbers: other rows are not read either

    def take_columns(self, columns: np.ndarray) -> Schema:
        """Return what is known of some of the columns, by their numbers, in order."""
        return Schema(
            len(columns),
            self.categorical[columns],
            None if self.names is None else tuple(self.names[j] for j in columns),
            {new: self.categories[j] for new, j in enumerate(columns) if j in self.categories},
            {new: self.decoders[j] for new, j in enumerate(columns) if j in self.decoders},
            self.only_rows,
        )

    def mask(self, wanted: CategoricalFeatures) -> np.ndarray:
        """Return the mask of the columns that ``categorical_features`` names."""
        return mask_of_columns(wanted, self.n_features, self.names)

    def find_words(self, container: Container) -> np.ndarray:
        """Return the columns of other rows that had categories, declared or by their words."""
        return np.isin(np.arange(container.shape[1]), list(self.categories))


def validate_features(
    X: Any,
    *,
    caller: str,
    categorical_features: CategoricalFeatures = None,
    missing: MissingPolicy = "error",
    only_rows: bool = False,
    hands_on: bool = False,
    in_blocks: bool = False,
) -> Features:
    """Check and clean X.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n, d)
        The features.
    caller : str
        Who asks; begins the error messages.
    categorical_features : None, "auto", mask, column numbers or names
        Nominal columns. A frame's categorical columns are nominal whatever is said here.
    missing : {"error", "refuse", "distance", "keep"}
        "error" and "refuse" refuse NaN, the latter for those who know no other way; the others let
        it through.
    only_rows : bool
        Whether rows are only copied, so that cells may hold anything: text, dates, objects.
    hands_on : bool
        Whether an estimator inside ``caller`` reads X, which may then be texts or other rows.
    in_blocks : bool
        Whether ``caller`` also works on a Dask collection, block by block; else it is refused.
    """
    nominal = None
    if categorical_features is not None:
        nominal = partial(categorical_mask, categorical_features)
    if only_rows or hands_on:
        container = open_rows(X, nominal, in_blocks=in_blocks, any_rows=hands_on)
    else:
        container = open_container(X, "X", nominal, in_blocks=in_blocks)
    check_not_empty(container.shape, caller, "X")
    categorical = container.nominal
    if nominal is not None:
        categorical = categorical | nominal(container)
    values = container.clean()
    _check_finite(values, container.names, caller)
    if container.kind == "device" and categorical.any():
        raise ContainerError(
            f"{caller} needs X in main memory if it has categorical features",
            f"X is on {values.device}",
            "Copy it: X.cpu(), or encode the categories as numbers",
        )
    check_no_missing(values, container, caller, missing)
    decoders: dict[int, np.ndarray] = {}
    if categorical_features is not None:  # a frame's own categories are codes already
        values, decoders = encode(values, categorical & ~container.nominal)
    return Features(values, categorical, container.names, container, decoders)


def open_features(X: Any, *, only_rows: bool = False) -> Features:
    """Return rows that were taken or made from clean ones, as `validate_features` returns them.

    They need no checks.
    """
    container: Container = RowsContainer(X) if only_rows else open_container(X, "X")
    return Features(container.clean(), container.nominal, container.names, container, {})


def validate_like(X: Any, schema: Schema, *, caller: str) -> Any:
    """Return clean rows of X, coded as the rows that the schema comes from.

    A category that those rows did not have is missing (NaN).
    """
    if schema.only_rows:
        container = open_rows(X, schema.find_words, any_rows=True)
        check_not_empty(container.shape, caller, "X")
        return RowsContainer(X).clean()
    container = open_container(X, "X", schema.find_words)
    check_not_empty(container.shape, caller, "X")
    if container.shape[1] != schema.n_features:
        raise InputError(
            f"X has {container.shape[1]} features, but {caller} is expecting "
            f"{schema.n_features} features as input",
            f"Got X of shape {tuple(container.shape)}",
        )
    values = container.clean()
    _check_finite(values, container.names, caller)
    here = container.categories()
    _check_same_categories(schema, container, caller)
    if schema.categories:
        values = values.copy()  # it may be the caller's own array
    for j, known in schema.categories.items():
        if here[j] != known:
            values[:, j] = translate(values[:, j], here[j], known)
    return encode_like(values, schema.decoders) if schema.decoders else values


def _check_same_categories(schema: Schema, container: Container, caller: str) -> None:
    """Raise where X has no categories any more, or has some: codes would be taken for numbers."""
    known, here = set(schema.categories), set(np.flatnonzero(container.nominal).tolist())
    lost, new = sorted(known - here), sorted(here - known)
    if lost:
        old, names = schema.names or (), container.names or ()
        shuffled = old != names and set(old) == set(names)
        raise InputError(
            f"{caller} was fitted with categorical columns {name_columns(lost, schema.names)}",
            "X has its columns in another order" if shuffled else "X has no categories there",
            "Pass X[model.feature_names_in_]" if shuffled else "",
        )
    if new:
        raise InputError(
            f"{caller} was fitted with numbers in columns {name_columns(new, schema.names)}",
            "X has strings or categories there",
        )


def _check_finite(values: Any, names: tuple[Any, ...] | None, caller: str) -> None:
    columns = columns_where(values, "isinf")
    if len(columns):
        raise InputError(
            f"{caller} needs finite numbers in X",
            f"X has infinity (inf) in columns {name_columns(columns, names)}",
        )


def check_no_missing(
    values: Any, container: Container, caller: str, missing: MissingPolicy
) -> None:
    """Raise for NaN that is not let through; name ``missing="distance"`` where one can have it."""
    there = container.kind == "device"
    if missing == "keep" or (missing == "distance" and not there):
        return
    columns = columns_where(values, "isnan")
    if len(columns):
        ways = " or drop these rows"
        if missing == "error" and not there:
            ways = f", drop these rows, or pass {arg('missing', 'distance')}"
        raise MissingValuesError(
            f"{caller} does not accept missing values in X",
            f"X has NaN in columns {name_columns(columns, container.names)}",
            f"Fill them (sklearn.impute.SimpleImputer){ways}",
        )


# --- where tables are, and that there is something in them ----------------------------------------


def check_not_empty(shape: tuple[int, int], caller: str, role: str) -> None:
    n, d = shape
    if n == 0 or d == 0:
        thing = "sample(s)" if n == 0 else "feature(s)"
        raise InputError(
            f"{caller} needs at least one row and one column in {role}",
            f"Found array with 0 {thing} (shape={shape}) while a minimum of 1 is required",
        )


def check_no_other_places(X: Any, other: Any, role: str, *, caller: str) -> None:
    """Raise where one of the two is a tensor and the other is none, or is on another device.

    The same for a Dask collection next to rows in memory; labels in memory are welcome next to one.
    """
    here, there = (None, None) if other is None else (place_of(X), place_of(other))
    if here == there or (here == "Dask" and there is None):
        return
    problem = f"{caller} needs X and {role} as tensors on the same device, or neither as a tensor"
    cure = f"Convert one of them, for example torch.as_tensor({role}, device=X.device)"
    if there == "Dask":
        problem = f"{caller} needs X as a Dask collection if {role} is one"
        cure = f"Bring {role} into the memory of this process: {role}.compute()"
    found = f"X is {_describe(X, here)} and {role} is {_describe(other, there)}"
    raise ContainerError(problem, found, cure)


def _describe(data: Any, place: str | None) -> str:
    if place is None:
        return f"a {type(data).__name__}"
    return f"a {type(data).__name__} of Dask" if place == "Dask" else f"a tensor on {place}"


def warn_of_other_index(
    one: Any, two: Any, roles: tuple[str, str], *, shuffled_only: bool = False
) -> None:
    """Warn where the rows of two pandas frames have other names: position decides.

    With ``shuffled_only``, where the names are the same in another order: predictions often have
    an index of their own.
    """
    ours: Any = getattr(one, "index", None)
    theirs: Any = getattr(two, "index", None)
    if not (hasattr(ours, "equals") and hasattr(theirs, "equals")) or ours.equals(theirs):
        return
    shuffled = ours.is_unique and theirs.is_unique and ours.isin(theirs).all()
    if not shuffled and shuffled_only:
        return
    first, second = roles
    cure = (
        f"{second}.loc[{first}.index] puts them in the same order"
        if shuffled
        else "If that is meant, reset_index(drop=True) on both says so"
    )
    warn_user(
        f"{first} and {second} have different indices. Rows are paired by their position, not by "
        f"index. {cure}.",
        IndexMismatchWarning,
    )


def check_no_device(X: Any, *, caller: str) -> None:
    """Raise for rows elsewhere, where ``caller`` works in the computer's own memory alone."""
    kind = kind_of(X)
    if kind == "blocks":
        found, cure = "X is a Dask collection", "Bring it into memory: X.compute()"
    elif kind == "device":
        found, cure = f"X is on {X.device}", "Copy it: X.cpu()"
    else:
        return
    raise ContainerError(f"{caller} needs rows in main memory", found, cure)
