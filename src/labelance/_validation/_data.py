"""Check X, y, or both together, once, and clean them: nothing after this checks again.

Inside the library X is a C-contiguous float32 or float64 array, a sorted CSR array, or a tensor
on a GPU, with category codes 0, 1, … in nominal columns; and Y is a CSR array of int8 ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import type_of_target

from labelance._arrays._cells import label_dtype
from labelance._arrays._containers import (
    Kind,
    check_no_delayed,
    column_counts,
    is_dask,
    stored_values,
)
from labelance._arrays._labels import (
    LabelSets,
    cure_lists,
    find_label_sets,
    find_list_separator,
    mark_unknown,
    open_labels,
    part_unknown,
    to_indicator,
)
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
from labelance._validation._arguments import Weights
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
    LABEL,
    ContainerError,
    IndexMismatchWarning,
    InputError,
    LabelFormatError,
    MissingValuesError,
    UnknownLabelsError,
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
    categorical = container.nominal if nominal is None else container.nominal | nominal(container)
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
    found = [
        f"{name} is a {type(table).__name__}" + (f" on {place}" if place else "")
        for name, table, place in (("X", X, here), (role, other, there))
    ]
    raise ContainerError(problem, " and ".join(found), cure)


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
    if shuffled_only and not shuffled:
        return
    first, second = roles
    cure = f"{second}.loc[{first}.index], or " if shuffled else ""
    warn_user(
        f"{first} and {second} have different indices. Rows are paired by their position, not by "
        f"index. Pass {cure}reset_index(drop=True) of both.",
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


# --- labels ---------------------------------------------------------------------------------------

# Why those who do not say otherwise need to know every cell of y.
NEEDS_LABELSETS = "it looks at all labels of a row together"


@dataclass(frozen=True, eq=False)
class Labels:
    """Clean labels, and how to return rows in their original form.

    ``unknown`` has a one where y does not say whether the row has the label, and Y none; it is
    None where all is known.
    """

    Y: sp.csr_array
    names: tuple[Any, ...] | None
    container: Container
    unknown: sp.csr_array | None = None

    def take(self, rows: np.ndarray) -> Labels:
        """Return some of the rows."""
        container = open_labels(take_rows(self.container.native, rows), self.names or ())
        return replace(
            self, Y=self.Y[rows], container=container, unknown=take_unknown(self.unknown, rows)
        )

    @property
    def n_known(self) -> np.ndarray:
        """The number of rows in which each label is known."""
        return count_known(self.Y, self.unknown)

    @property
    def table(self) -> Any:
        """The labels as a table: as given, or their indicator for label sets."""
        if isinstance(self.container, LabelSets):
            return self.Y.astype(label_dtype(self.Y.shape[1]), copy=False)
        return self.container.native

    def restore(
        self,
        Y: sp.csr_array,
        rows: np.ndarray | None,
        added: int,
        unknown: sp.csr_array | None = None,
    ) -> Any:
        """Return clean labels of kept ``rows`` and ``added`` rows in the kind of the input."""
        return self.container.restore_labels(mark_unknown(Y, unknown), rows, added)


def take_unknown(unknown: sp.csr_array | None, rows: Any) -> sp.csr_array | None:
    """Return the unknown cells of some rows, None where all rows are known."""
    return None if unknown is None else unknown[rows]


def take_labels(Y: sp.csr_array, labels: np.ndarray) -> sp.csr_array:
    """Return some of the labels, or of their unknown cells."""
    return sp.csr_array(Y.tocsc()[:, labels])


def known_cells(unknown: sp.csr_array | None, labels: Any = slice(None)) -> np.ndarray | None:
    """Return a mask of known cells of some labels, None where all cells are known."""
    return None if unknown is None else unknown.toarray()[:, labels] == 0


def cell_weights(weight: Weights, known: np.ndarray | None) -> np.ndarray | None:
    """Return the weights of rows, or of cells (n, q) where unknown ones weigh nothing."""
    if known is None:
        return weight
    return known.astype(float) if weight is None else known * weight[:, None]


def weights_of(counted: np.ndarray, labels: Any) -> np.ndarray:
    """Return weights of rows as they are, and of cells those of some labels."""
    return counted if counted.ndim == 1 else counted[:, labels]


def count_known(Y: sp.csr_array, unknown: sp.csr_array | None) -> np.ndarray:
    """Return the number of rows in which each label is known."""
    n, q = Y.shape
    return np.full(q, n) if unknown is None else n - column_counts(unknown)


def absent_if_never_known(Y: sp.csr_array, unknown: sp.csr_array | None) -> sp.csr_array | None:
    """Return the unknown cells without those of labels of which no row is known.

    So such labels, as a small bag may have them, are absent: Y has no ones there.
    """
    never = count_known(Y, unknown) == 0
    if unknown is None or not never.any():
        return unknown
    kept = unknown.copy()
    kept.data[never[kept.indices]] = 0
    kept.eliminate_zeros()
    return kept


def labels_known_together(known: np.ndarray | None) -> list[tuple[Any, Any]]:
    """Return groups of labels that are known in the same rows: those rows, and the labels.

    Sources that were merged leave few groups; what is fitted to rows is fitted once for a group.
    """
    if known is None:
        return [(slice(None), slice(None))]
    groups: dict[bytes, list[int]] = {}
    for label, rows in enumerate(known.T):
        groups.setdefault(np.packbits(rows).tobytes(), []).append(label)
    return [(np.flatnonzero(known[:, group[0]]), np.array(group)) for group in groups.values()]


def validate_labels(
    y: Any,
    *,
    caller: str,
    role: str = "y",
    vocabulary: Iterable[Any] = (),
    needs_all: str | None = NEEDS_LABELSETS,
) -> Labels:
    """Check and clean y: an (n, q) indicator of zeros and ones, or a label set for every row.

    A cell that is missing (NaN, None, ``pd.NA``, masked) is unknown: neither 0 nor 1.

    Parameters
    ----------
    y : array, sparse matrix or data frame of shape (n, q), or n label sets
        True/False, 1/0 or two words such as yes/no per row and label; or a list or Series with
        the names of the labels of every row.
    caller : str
        Who asks; begins the error messages.
    role : str, default="y"
        What the caller calls these labels.
    vocabulary : iterable, optional
        Labels that label sets may have, in addition to those they do have.
    needs_all : str or None
        Why the caller needs to know every cell, as the end of a sentence; None if it does without.
    """
    check_no_delayed(y, role)
    _check_no_flat_labels(y, caller)
    try:
        container = open_labels(y, vocabulary)
    except InputError as error:
        raise LabelFormatError(*error.parts) from None
    check_not_empty(container.shape, caller, "y")
    cells, unknown = part_unknown(container.raw())
    stored = stored_values(cells)
    if stored.dtype.kind != "b" and not (stored == stored.astype(bool)).all():
        odd = np.unique(stored[(stored != 0) & (stored != 1)])
        raise LabelFormatError(
            f"{caller} needs labels that are 0 (absent) or 1 (present)",
            f"{role} also holds {', '.join(f'{value:g}' for value in odd[:4])}"
            + ", …" * (len(odd) > 4),
            _label_advice(odd, role),
        )
    labels = Labels(to_indicator(cells), container.names, container, unknown)
    if needs_all is not None:
        check_all_known(labels, caller, needs_all, role=role)
    return labels


def check_all_known(labels: Labels, caller: str, reason: str, *, role: str = "y") -> None:
    """Raise where some cell is unknown, with the reason why the caller needs all of them."""
    if labels.unknown is None:
        return
    columns = np.unique(labels.unknown.indices)
    raise UnknownLabelsError(
        f"{caller} needs to know every label of every row, since {reason}",
        f"{role} has {labels.unknown.nnz} unknown cells (nan), in labels "
        f"{name_columns(columns, labels.names, LABEL)}",
        "Decide what a missing label means: drop these rows, or count it as absent (0); the guide "
        "on unknown labels lists the classes and functions that work on known cells only",
    )


def check_some_known(labels: Labels, caller: str) -> None:
    """Raise for labels of which no row is known."""
    if labels.unknown is None:
        return
    nothing = np.flatnonzero(labels.n_known == 0)
    if len(nothing):
        raise LabelFormatError(
            f"{caller} needs known values for every label",
            f"No row of labels {name_columns(nothing, labels.names, LABEL)} is known",
        )


def open_clean_labels(y: Any) -> Labels:
    """Return a table of zeros and ones, made from clean labels, as `validate_labels` returns it.

    It needs no checks.
    """
    container = open_labels(y)
    cells, unknown = part_unknown(container.raw())
    return Labels(to_indicator(cells), container.names, container, unknown)


def _label_advice(odd: np.ndarray, role: str) -> str:
    """Return what to do about values that are neither 0 nor 1."""
    if odd.tolist() == [-1]:
        return (
            f"If -1 means absent, ({role} > 0).astype(int); if it means unknown, "
            f"np.where({role} == -1, np.nan, {role})"
        )
    if ((odd >= 0) & (odd <= 1)).all():
        return (
            f"Turn probabilities into decisions, ({role} >= 0.5).astype(int), or pass them as "
            "y_score to functions that take scores"
        )
    swapped = "If these are features, X and y may be swapped; if" if role == "y" else "If"
    return (
        f"{swapped} they are class numbers, make one column per class with "
        "labelance.datasets.MultiClassReduction; if scores, compare with a threshold"
    )


def _check_no_flat_labels(Y: Any, caller: str) -> None:
    """Raise for a list of words, a one-dimensional y, or no y at all, with the cure."""
    problem = (
        f"y of {caller} must be an (n, q) table of zeros and ones, or one list of labels per row"
    )
    if Y is None:
        raise LabelFormatError(
            f"{caller} requires y to be passed, but the target y is None", "Got y=None"
        )
    if find_label_sets(Y) is not None:
        return
    is_list, is_series = isinstance(Y, (list, tuple)), type(Y).__name__ == "Series"
    if is_list or (isinstance(Y, np.ndarray) and Y.ndim == 1) or (is_series and not is_dask(Y)):
        separator = find_list_separator(Y)
        if separator is not None:
            example = next(text for text in Y if isinstance(text, str) and separator in text)
            found = f"y has several labels per cell, such as {example!r}"
            raise LabelFormatError(problem, found, cure_lists("y", separator))
    first = Y[0] if is_list and len(Y) else None
    ragged = isinstance(first, (list, tuple)) and len({len(row) for row in Y}) > 1
    if isinstance(first, str) or ragged:
        raise LabelFormatError(
            problem,
            "y has lists of different lengths" if ragged else "y is a list of strings",
            'Split strings such as "a,b" into lists of labels; make a table of label numbers with '
            "sklearn.preprocessing.MultiLabelBinarizer().fit_transform(y)",
        )
    is_flat = is_series or np.isscalar(first)
    if is_flat or getattr(Y, "ndim", None) == 1:
        try:
            kind = f" and is {type_of_target(Y)}"  # scikit-learn's word, where it has one
        except (TypeError, ValueError):  # missing values, or a tensor on a GPU
            kind = ""
        raise LabelFormatError(
            problem,
            f"y has one dimension{kind}",
            "Only binary classification is supported, label by label: for a single 0/1 label use "
            "y.reshape(-1, 1), or y.to_frame() for a Series; for classes use "
            "sklearn.preprocessing.LabelBinarizer, or imbalanced-learn's samplers",
        )


# --- both -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Data:
    """Clean features and labels of the same rows."""

    features: Features
    labels: Labels

    @property
    def X(self) -> Any:
        return self.features.X

    @property
    def Y(self) -> sp.csr_array:
        return self.labels.Y

    @property
    def unknown(self) -> sp.csr_array | None:
        """A one where a label is not known, None where all are."""
        return self.labels.unknown

    @property
    def kind(self) -> Kind:
        return self.features.container.kind

    @property
    def categorical(self) -> np.ndarray:
        return self.features.categorical

    @property
    def n_samples(self) -> int:
        return self.labels.Y.shape[0]

    def take(self, rows: np.ndarray) -> Data:
        """Return some of the rows: what is clean stays clean."""
        return Data(self.features.take(rows), self.labels.take(rows))


def open_data(X: Any, y: Any, *, only_rows: bool = False) -> Data:
    """Return rows that were taken or made from clean ones, as `validate_data` returns them.

    They need no checks, but a table of words counts its categories among its own rows.
    """
    return Data(open_features(X, only_rows=only_rows), open_clean_labels(y))


def validate_data(
    X: Any,
    y: Any,
    *,
    caller: str,
    vocabulary: Iterable[Any] = (),
    needs_all: str | None = NEEDS_LABELSETS,
    **options: Any,
) -> Data:
    """Check and clean X and y together.

    Parameters
    ----------
    X : array, tensor, sparse matrix or data frame of shape (n, d)
        The features.
    y : array, tensor, sparse matrix or data frame of shape (n, q)
        The labels, 0 or 1; missing where unknown.
    caller : str
        Who asks; begins the error messages.
    vocabulary, needs_all
        As in :func:`validate_labels`.
    **options
        How X is checked, as in :func:`validate_features`.
    """
    check_no_other_places(X, y, "y", caller=caller)
    features = validate_features(X, caller=caller, **options)
    labels = validate_labels(y, caller=caller, vocabulary=vocabulary, needs_all=needs_all)
    n, m = features.X.shape[0], labels.Y.shape[0]
    if n != m:
        raise InputError(
            f"{caller} needs X and y with the same number of rows",
            f"X has {n} rows and y has {m} (inconsistent numbers of samples)",
        )
    warn_of_other_index(X, y, ("X", "y"))
    return Data(features, labels)
