"""Check X and y once, and clean them: nothing behind this checks again.

Inside the library X is a C-contiguous float32 or float64 array, a sorted CSR array, or a tensor
on a GPU, with category codes 0, 1, … in nominal columns; Y is a CSR array of int8 ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target

from labelance._arrays import (
    Container,
    LabelSets,
    columns_where,
    find_label_sets,
    is_blocks,
    is_dask,
    is_tensor,
    keep_device,
    on_device,
    open_container,
    open_labels,
    open_rows,
    stack_rows,
    take_rows,
)
from labelance._scratch import row_blocks
from labelance._utils import label_dtype, warn_user
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
    LabelFormatError,
    MissingValuesError,
)

MissingPolicy = Literal["error", "refuse", "distance", "keep"]
MissingLabels = Literal["error", "ignore"]


@dataclass(frozen=True, eq=False)
class Features:
    """Clean features, and how to give rows back as they came."""

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
        )

    def take(self, rows: np.ndarray) -> Features:
        """Return some of the rows, their columns coded as they are."""
        container = open_container(take_rows(self.container.native, rows), "X", in_blocks=True)
        return replace(self, X=self.X[rows], container=container)

    def restore(self, rows: np.ndarray | None, new: Any) -> Any:
        """Return ``rows`` of the original X (all if None) and the ``new`` clean rows under them."""
        if new is not None and self.decoders:
            new = decode(new, self.decoders)
        return self.container.rebuild(rows, new)


@dataclass(frozen=True, eq=False)
class Schema:
    """What a learner remembers of X to validate new rows alike; it holds no rows."""

    n_features: int
    categorical: np.ndarray
    names: tuple[Any, ...] | None
    categories: dict[int, tuple[str, ...]]
    decoders: dict[int, np.ndarray]

    def take_columns(self, columns: np.ndarray) -> Schema:
        """Return what is known of some of the columns, by their numbers, in order."""
        return Schema(
            len(columns),
            self.categorical[columns],
            None if self.names is None else tuple(self.names[j] for j in columns),
            {new: self.categories[j] for new, j in enumerate(columns) if j in self.categories},
            {new: self.decoders[j] for new, j in enumerate(columns) if j in self.decoders},
        )

    def mask(self, wanted: CategoricalFeatures) -> np.ndarray:
        """Return the mask of the columns that ``categorical_features`` names."""
        return mask_of_columns(wanted, self.n_features, self.names)

    def find_words(self, container: Container) -> np.ndarray:
        """Return the columns of other rows that had categories, declared or by their words."""
        return np.isin(np.arange(container.shape[1]), list(self.categories))


@dataclass(frozen=True, eq=False)
class Labels:
    """Clean labels, and how to give rows back as they came.

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
        unknown = None if self.unknown is None else self.unknown[rows]
        return replace(self, Y=self.Y[rows], container=container, unknown=unknown)

    @property
    def table(self) -> Any:
        """The labels as a table: as they came, or their indicator where label sets came."""
        if isinstance(self.container, LabelSets):
            return self.Y.astype(label_dtype(self.Y.shape[1]), copy=False)
        return self.container.native

    def restore(self, Y: sp.csr_array, rows: np.ndarray | None, added: int) -> Any:
        """Return clean labels of kept ``rows`` and ``added`` rows in the kind that came in."""
        return self.container.rebuild_labels(Y, rows, added)


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
    def categorical(self) -> np.ndarray:
        return self.features.categorical

    @property
    def n_samples(self) -> int:
        return self.labels.Y.shape[0]

    def take(self, rows: np.ndarray) -> Data:
        """Return some of the rows: what is clean stays clean."""
        return Data(self.features.take(rows), self.labels.take(rows))

    def restore(
        self,
        rows: np.ndarray | None,
        Y_rows: sp.csr_array | None = None,
        X_new: Any = None,
        Y_new: sp.csr_array | None = None,
    ) -> tuple[Any, Any]:
        """Return kept rows, and new ones under them, in the containers that came in.

        Parameters
        ----------
        rows : ndarray of int or None
            The original rows that are kept, in order; None means all.
        Y_rows : csr_array or None
            Their labels, where they were changed.
        X_new, Y_new : array and csr_array, or None
            Clean rows that follow.
        """
        if Y_rows is None:
            Y_rows = self.Y if rows is None else self.Y[rows]
        added = 0 if Y_new is None else Y_new.shape[0]
        Y = Y_rows if Y_new is None else stack_rows(Y_rows, Y_new)
        return self.features.restore(rows, X_new), self.labels.restore(Y, rows, added)


def validate_data(
    X: Any,
    y: Any,
    *,
    who: str,
    categorical_features: CategoricalFeatures = None,
    missing: MissingPolicy = "error",
    only_rows: bool = False,
    in_blocks: bool = False,
    vocabulary: Iterable[Any] = (),
    missing_labels: MissingLabels = "error",
) -> Data:
    """Check and clean X and y together.

    Parameters
    ----------
    X : array, tensor, sparse matrix or data frame of shape (n, d)
        The features.
    y : array, tensor, sparse matrix or data frame of shape (n, q)
        The labels, 0 or 1.
    who : str
        Who asks; begins the error messages.
    categorical_features, missing, only_rows, in_blocks
        As in :func:`validate_features`.
    vocabulary, missing_labels
        As in :func:`validate_labels`.
    """
    refuse_other_places(X, y, "y", who=who)
    features = validate_features(
        X,
        who=who,
        categorical_features=categorical_features,
        missing=missing,
        only_rows=only_rows,
        in_blocks=in_blocks,
    )
    labels = validate_labels(y, who=who, vocabulary=vocabulary, missing_labels=missing_labels)
    n, m = features.X.shape[0], labels.Y.shape[0]
    if n != m:
        raise InputError(
            f"{who} needs one row of labels for every row of X",
            f"X has {n} rows and y has {m} (inconsistent numbers of samples)",
            "Select the same rows in both",
        )
    _warn_of_shuffled_index(X, y)
    return Data(features, labels)


def refuse_other_places(X: Any, other: Any, role: str, *, who: str) -> None:
    """Raise where one of the two is a tensor and the other is none, or is on another device.

    The same for a Dask collection beside rows in memory; labels in memory are welcome beside one.
    """
    if is_dask(other) and not is_dask(X):
        raise ContainerError(
            f"{who} needs X as a Dask collection where {role} is one",
            f"X is {_place(X)} and {role} is {_place(other)}",
            f"Bring {role} to the memory of this process: {role}.compute()",
        )
    if not (is_tensor(X) or is_tensor(other)) or other is None:
        return
    ours, theirs = _place(X), _place(other)
    if ours != theirs:
        raise ContainerError(
            f"{who} needs X and {role} as tensors on the same device, or neither as a tensor",
            f"X is {ours} and {role} is {theirs}",
            f"Bring them together: torch.as_tensor({role}, device=X.device) makes {role} like a "
            "tensor X, and .cpu().numpy() makes an array of a tensor",
        )


def _place(data: Any) -> str:
    if is_tensor(data):
        return f"a tensor on {data.device}"
    return f"a {type(data).__name__}" + (" of Dask" if is_dask(data) else "")


def refuse_device(X: Any, *, who: str) -> None:
    """Raise for rows elsewhere, where ``who`` works in the computer's own memory alone."""
    if is_blocks(X):
        raise ContainerError(
            f"{who} works on rows in the computer's own memory",
            "X is a Dask collection",
            "Bring it there: X.compute()",
        )
    if on_device(X):
        raise ContainerError(
            f"{who} works on rows in the computer's own memory",
            f"X is on {X.device}",
            "Copy it there: X.cpu()",
        )


def _warn_of_shuffled_index(X: Any, y: Any) -> None:
    """Warn where two pandas frames have their rows in different orders: position decides."""
    ours: Any = getattr(X, "index", None)
    theirs: Any = getattr(y, "index", None)
    if hasattr(ours, "equals") and hasattr(theirs, "equals") and not ours.equals(theirs):
        warn_user(
            "X and y have different indices. Rows are paired by their position, not by index; "
            "y.loc[X.index] puts them in the same order.",
            IndexMismatchWarning,
        )


def validate_features(
    X: Any,
    *,
    who: str,
    categorical_features: CategoricalFeatures = None,
    missing: MissingPolicy = "error",
    only_rows: bool = False,
    in_blocks: bool = False,
) -> Features:
    """Check and clean X.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n, d)
        The features.
    who : str
        Who asks; begins the error messages.
    categorical_features : None, "auto", mask, column numbers or names
        Nominal columns. A frame's categorical columns are nominal whatever is said here.
    missing : {"error", "refuse", "distance", "keep"}
        "error" and "refuse" refuse NaN, the latter for those who know no other way; the others let
        it through.
    only_rows : bool
        Whether rows are only copied, so that cells may hold anything: text, dates, objects.
    in_blocks : bool
        Whether ``who`` also works on a Dask collection, block by block; else it is refused.
    """
    nominal = None
    if categorical_features is not None:
        nominal = partial(categorical_mask, categorical_features)
    if only_rows and (in_blocks or not is_dask(X)):
        container = open_rows(X, "X", nominal)
    else:
        container = open_container(X, "X", nominal, in_blocks=in_blocks)
    _refuse_empty(container.shape, who, "X")
    categorical = container.nominal
    if nominal is not None:
        categorical = categorical | nominal(container)
    values = container.values()
    _refuse_infinite(values, container.names, who)
    if on_device(values) and categorical.any():
        raise ContainerError(
            f"{who} takes nominal features (categorical_features) in the computer's own memory",
            f"X is on {values.device}",
            "Copy it there, X.cpu(), or encode the categories as numbers",
        )
    if missing in ("error", "refuse") or (missing == "distance" and on_device(values)):
        _refuse_missing(values, container.names, who, can_measure=missing == "error")
    decoders: dict[int, np.ndarray] = {}
    if categorical_features is not None:  # a frame's own categories are codes already
        values, decoders = encode(values, categorical & ~container.nominal)
    return Features(values, categorical, container.names, container, decoders)


def validate_like(X: Any, schema: Schema, *, who: str) -> Any:
    """Return clean rows of X, coded as the rows that the schema comes from.

    A category that those rows did not have is missing (NaN).
    """
    container = open_container(X, "X", schema.find_words)
    _refuse_empty(container.shape, who, "X")
    if container.shape[1] != schema.n_features:
        raise InputError(
            f"X has {container.shape[1]} features",
            f"{who} is expecting {schema.n_features} features as input",
            "Pass the same columns as in fit",
        )
    values = container.values()
    _refuse_infinite(values, container.names, who)
    here = container.categories()
    _refuse_lost_categories(schema, here, who)
    if schema.categories or schema.decoders:
        values = values.copy()  # it may be the caller's own array
    for j, known in schema.categories.items():
        if here[j] != known:
            values[:, j] = translate(values[:, j], here[j], known)
    if schema.decoders:
        encode_like(values, schema.decoders)
    return values


def _refuse_lost_categories(schema: Schema, here: dict[int, tuple[str, ...]], who: str) -> None:
    lost = [j for j in schema.categories if j not in here]
    if lost:
        raise InputError(
            f"{who} was fitted on a data frame in which columns "
            f"{name_columns(lost, schema.names)} are categorical",
            "X has no categories there",
            "Pass a data frame with the same categorical columns",
        )


def validate_labels(
    y: Any,
    *,
    who: str,
    role: str = "y",
    vocabulary: Iterable[Any] = (),
    missing_labels: MissingLabels = "error",
) -> Labels:
    """Check and clean y: an (n, q) indicator of zeros and ones, or a label set for every row.

    Parameters
    ----------
    y : array, sparse matrix or data frame of shape (n, q), or n label sets
        True/False, 1/0 or two words such as yes/no per row and label; or a list or Series with
        the names of the labels of every row.
    who : str
        Who asks; begins the error messages.
    role : str, default="y"
        What the caller calls these labels.
    vocabulary : iterable, optional
        Labels that label sets may have besides those that they do have.
    missing_labels : {"error", "ignore"}
        Whether a cell may be NaN: unknown. "error" is for those who need all labels of a row.
    """
    if missing_labels not in get_args(MissingLabels):
        raise InputError(
            f'{who} takes missing_labels="error" or "ignore"',
            f"{missing_labels!r} came",
            "Choose one of the two",
        )
    _refuse_flat_labels(y, who)
    try:
        container = open_labels(y, vocabulary)
    except InputError as error:
        raise LabelFormatError(error.asked, error.came, error.fix) from None
    _refuse_empty(container.shape, who, "y")
    cells, unknown = container.cells(), None
    if missing_labels == "ignore":
        cells, unknown = _part_unknown(cells)
    stored = cells.data if sp.issparse(cells) else cells
    if stored.dtype.kind != "b" and not (stored == stored.astype(bool)).all():
        raise LabelFormatError(
            f"{who} needs labels that are 0 or 1 (absent or present)",
            f"{role} also holds {_strange_values(stored)}",
            _label_advice(stored, role),
        )
    return Labels(_ones(cells), container.names, container, unknown)


def _part_unknown(cells: Any) -> tuple[Any, sp.csr_array | None]:
    """Return cells with 0 for NaN, and where NaN was, if anywhere."""
    stored = cells.data if sp.issparse(cells) else cells
    missing = np.isnan(stored) if stored.dtype.kind == "f" else np.zeros(1, dtype=bool)
    if not missing.any():
        return cells, None
    if not sp.issparse(cells):
        return np.where(missing, 0, cells), _ones(missing)
    known, unknown = cells.copy(), cells.copy()
    known.data[missing], unknown.data = 0, missing.astype(np.int8)
    for table in (known, unknown):
        table.eliminate_zeros()
    return known, unknown


def _ones(cells: Any) -> sp.csr_array:
    """Return a CSR array of int8 ones, sorted, without explicit zeros."""
    if sp.issparse(cells):
        return keep_device(cells.astype(np.int8), cells)
    present = cells.astype(bool, copy=False)
    indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    columns = np.nonzero(present)[1].astype(np.int32)
    data = np.ones(len(columns), dtype=np.int8)
    Y = sp.csr_array((data, columns, indptr.astype(np.int32)), shape=cells.shape)
    Y.has_sorted_indices = True
    return Y


def _label_advice(stored: np.ndarray, role: str) -> str:
    """Return what to do about cells that are neither 0 nor 1."""
    if np.isnan(stored.astype(float)).any():
        return (
            "Say what a missing label means: drop these rows, or count it as absent (0); "
            'missing_labels="ignore" leaves it out where labels are looked at one by one: in '
            "BinaryRelevance, and in measures and metrics of single labels"
        )
    if set(np.unique(stored)) <= {-1, 0, 1}:
        return f"Turn -1 into 0: ({role} > 0).astype(int)"
    if ((stored >= 0) & (stored <= 1)).all():
        return (
            f"Make decisions of probabilities, ({role} >= 0.5).astype(int), or pass them as "
            "y_score where scores are asked for"
        )
    swapped = "If these are features, X and y may be swapped; if" if role == "y" else "If"
    return (
        f"{swapped} they are class numbers, make one column per class with "
        "labelance.datasets.MultiClassReduction; if scores, compare with a threshold"
    )


def _strange_values(stored: np.ndarray) -> str:
    odd = np.unique(stored[(stored != 0) & (stored != 1)])
    shown = ", ".join(f"{value:g}" for value in odd[:4])
    return shown + (", …" if len(odd) > 4 else "")


def _refuse_empty(shape: tuple[int, int], who: str, role: str) -> None:
    n, d = shape
    if n == 0 or d == 0:
        thing = "sample(s)" if n == 0 else "feature(s)"
        raise InputError(
            f"{who} needs at least one row and one column in {role}",
            f"found array with 0 {thing} (shape={shape}) while a minimum of 1 is required",
            f"Check how {role} was selected",
        )


def _refuse_flat_labels(Y: Any, who: str) -> None:
    """Raise for a list of words, a one-dimensional y, or no y at all, with the cure."""
    asked = f"{who} needs y as an (n, q) table of zeros and ones, or a list of labels for every row"
    if Y is None:
        raise LabelFormatError(
            f"{who} requires y to be passed", "the target y is None", "Pass the labels as well"
        )
    if find_label_sets(Y) is not None:
        return
    first = next(iter(Y), None) if isinstance(Y, (list, tuple)) else None
    ragged = isinstance(first, (list, tuple)) and len({len(row) for row in Y}) > 1
    if isinstance(first, str) or ragged:
        raise LabelFormatError(
            asked,
            "y is a list of words" if isinstance(first, str) else "y has lists of different length",
            'Split words such as "a,b" into lists of labels; make a table of label numbers with '
            "sklearn.preprocessing.MultiLabelBinarizer().fit_transform(y)",
        )
    if (not sp.issparse(Y) and getattr(Y, "ndim", None) == 1) or _is_flat(Y):
        raise LabelFormatError(
            asked,
            f"y has one dimension{_kind_of(Y)}",
            "Only binary classification is supported, label by label: for a single 0/1 label use "
            "y.reshape(-1, 1), or y.to_frame() for a Series; for classes use "
            "sklearn.preprocessing.LabelBinarizer, or imbalanced-learn's samplers",
        )


def _kind_of(Y: Any) -> str:
    """Return scikit-learn's word for a flat target, where it has one."""
    try:
        return f" and is {type_of_target(Y)}"
    except (TypeError, ValueError):  # missing values, or a tensor on a GPU
        return ""


def _is_flat(Y: Any) -> bool:
    if isinstance(Y, (list, tuple)) and Y:
        return bool(np.isscalar(Y[0]))
    return type(Y).__name__ == "Series"


def _columns_where(values: Any, test: Any) -> np.ndarray:
    """Return the columns with a cell for which ``test`` is true; fast when there is none."""
    if on_device(values):
        return columns_where(values, test.__name__)
    if is_blocks(values):
        return values.columns_where(test.__name__)
    stored = values.data if sp.issparse(values) else values
    with np.errstate(over="ignore", invalid="ignore"):
        sums = (stored[part].sum(dtype=np.float64) for part in row_blocks(stored))
        if all(map(np.isfinite, sums)):
            return np.empty(0, dtype=int)
    if sp.issparse(values):
        return np.unique(values.indices[test(stored)])
    found = np.zeros(values.shape[1], dtype=bool)
    for part in row_blocks(stored):
        found |= test(stored[part]).any(axis=0)
    return np.flatnonzero(found)


def _refuse_infinite(values: Any, names: tuple[Any, ...] | None, who: str) -> None:
    columns = _columns_where(values, np.isinf)
    if len(columns):
        raise InputError(
            f"{who} needs finite numbers in X",
            f"X has infinity (inf) in columns {name_columns(columns, names)}",
            "Replace it by the largest sensible value, or drop these rows",
        )


def _refuse_missing(
    values: Any, names: tuple[Any, ...] | None, who: str, *, can_measure: bool
) -> None:
    """Raise for NaN; name ``missing="distance"`` only where one can have it."""
    other = ', or pass missing="distance"' if can_measure and not on_device(values) else ""
    columns = _columns_where(values, np.isnan)
    if len(columns):
        raise MissingValuesError(
            f"{who} needs known values in X",
            f"X has missing values (NaN) in columns {name_columns(columns, names)}",
            f"Fill them (sklearn.impute.SimpleImputer), drop these rows{other}",
        )


def validate_groups(groups: Any, n: int, *, who: str) -> NDArray[np.int64]:
    """Return the number of every row's group, from 0 without gaps, in sorted order."""
    asked = f"{who} needs the group of every row"
    if groups is None:
        raise InputError(asked, "groups is None", "Pass them: split(X, y, groups)")
    values = np.asarray(groups)
    if values.shape != (n,):
        raise InputError(
            asked, f"groups has shape {values.shape} and y {n} rows", "Pass one group per row"
        )
    missing = values.dtype.kind == "f" and bool(np.isnan(values).any())
    try:
        _, group_of = np.unique(values, return_inverse=True)
    except TypeError:  # None or NaN among words
        missing = True
    if missing:
        raise InputError(
            asked,
            "some groups are missing, or numbers are mixed with words",
            "Give rows without a group one of their own, and all groups the same type",
        )
    return group_of


def validate_weights(
    sample_weight: Any, n: int, *, who: str
) -> tuple[NDArray[np.int64] | None, NDArray[np.float64] | None]:
    """Return the rows with a weight (None: all), and their weights (None: all are 1).

    Rows of weight 0 are as if they were not there, and equal weights of 1 as if they were not
    given: so both hold to the last bit for every learner.
    """
    if sample_weight is None:
        return None, None
    asked = f"{who} needs one weight for every row, 0 or larger"
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n,):
        raise InputError(
            asked, f"sample_weight has shape {weight.shape} and X {n} rows", "Pass one per row"
        )
    if not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise InputError(
            asked, "some are negative, missing or infinite", "Clip them: np.clip(weights, 0, None)"
        )
    rows = np.flatnonzero(weight)
    if len(rows) == 0:
        raise InputError(asked, "all weights are zero", "Give some row a positive weight")
    kept = weight[rows]
    return None if len(rows) == n else rows, None if (kept == 1).all() else kept


def check_label_names(names: Any, n_labels: int, *, who: str) -> tuple[Any, ...]:
    """Return the names if there is one for every label, and no two print alike."""
    names = tuple(names)
    n_different = len(set(map(str, names)))
    if len(names) != n_labels or n_different != n_labels:
        raise InputError(
            f"{who} needs {n_labels} different label names",
            f"{len(names)} came, {n_different} of them different",
            "Pass one name for each column of y, in its order",
        )
    return names


def check_positive(name: str, value: Any, *, who: str) -> int:
    """Return the parameter ``name`` if it is a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InputError(
            f"{who} needs {name} as a whole number of at least 1",
            f"{name} is {value!r}",
            f"Choose for example {name}=5",
        )
    return int(value)
