"""The multi-label dataset that every reader and the catalogue return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from operator import is_not
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from labelance._arrays._cells import have_same_bits, label_dtype
from labelance._arrays._containers import to_dense
from labelance._arrays._sparse import check_structure, narrow_indices
from labelance._arrays._words import Words, find_kind, is_free_text
from labelance._utils._messages import shorten
from labelance._utils._notebook import draw_result
from labelance.exceptions import InputError, LabelFormatError

if TYPE_CHECKING:
    import pandas as pd

Categories = tuple[tuple[str, ...] | None, ...]
"""For each feature the declared values of a categorical one, or None for a number."""

BETWEEN = "="  # stands between a target and one of its classes, in the name of a label


@dataclass(frozen=True, eq=False, repr=False)
class MultiLabelDataset:
    """A multi-label dataset: features, labels, their names, and words about where it is from.

    Parameters
    ----------
    values : ndarray or csr_array of shape (n_samples, n_features)
        Features in double precision. A categorical feature holds the position of its value in
        ``categories``; NaN is a missing value. Sparse values store no zeros. A learner takes
        `X`, in which such a code cannot be taken for a number.
    Y : csr_array of shape (n_samples, n_labels)
        The labels, as int8 ones (int16 ones of more than 128 labels, whose numbers scikit-learn
        casts to this type); what is not stored is zero. Anything that has zeros and ones is taken
        and brought to this form.
    feature_names, label_names : sequence of str, optional
        Names of the columns of values and Y; ``x0, x1, …`` and ``y0, y1, …`` unless given.
    categorical_features : ndarray of bool of shape (n_features,), optional
        Which features are nominal; those with ``categories`` unless given.
    categories : tuple, optional
        For each feature the tuple of values that its codes stand for, or None for a number.
    name, description, citation : str, optional
        Words about the dataset.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.datasets import MultiLabelDataset
    >>> data = MultiLabelDataset(np.eye(3), [[1, 0], [0, 1], [1, 1]], name="tiny")
    >>> data
    MultiLabelDataset('tiny', 3 samples, 3 features, 2 labels)
    >>> data.take([0, 2]).Y.toarray()
    array([[1, 0],
           [1, 1]], dtype=int8)
    """

    values: NDArray[np.float64] | csr_array
    Y: csr_array
    feature_names: tuple[str, ...] = None  # type: ignore[assignment]
    label_names: tuple[str, ...] = None  # type: ignore[assignment]
    categorical_features: NDArray[np.bool_] = None  # type: ignore[assignment]
    categories: Categories = None  # type: ignore[assignment]
    name: str = ""
    description: str = ""
    citation: str = ""

    def __post_init__(self) -> None:
        values, Y = _clean_features(self.values), _clean_labels(self.Y)
        if values.shape[0] != Y.shape[0]:
            raise InputError(
                "values and Y must have the same number of rows",
                f"They have {values.shape[0]} rows, and Y has {Y.shape[0]}",
            )
        categories = _clean_categories(self.categories, values.shape[1])
        nominal = np.fromiter(map(is_not, categories, repeat(None)), bool, len(categories))
        if self.categorical_features is not None:
            nominal = _clean_mask(self.categorical_features, nominal)
        clean = {
            "values": values,
            "Y": Y,
            "feature_names": _clean_names("feature", self.feature_names, "x", values.shape[1]),
            "label_names": _clean_names("label", self.label_names, "y", Y.shape[1]),
            "categorical_features": nominal,
            "categories": categories,
        }
        for field, value in clean.items():
            object.__setattr__(self, field, value)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out `X`, which is made of the values when it is asked for."""
        return {name: value for name, value in self.__dict__.items() if name != "X"}

    @classmethod
    def from_data(
        cls, X: Any, y: Any, *, name: str = "", description: str = "", citation: str = ""
    ) -> MultiLabelDataset:
        """Make a dataset of X and y in any container: arrays, sparse matrices, data frames.

        Names and categories are those of the frames.
        """
        from labelance._arrays._labels import mark_unknown
        from labelance._arrays._open import open_container
        from labelance._validation._data import validate_labels

        features = open_container(X, "X")
        labels = validate_labels(y, caller="A dataset", needs_all=None)
        known = features.categories()
        return cls(
            values=features.clean(),
            Y=mark_unknown(labels.Y, labels.unknown),
            feature_names=features.names,  # type: ignore[arg-type]
            label_names=labels.names,  # type: ignore[arg-type]
            categories=tuple(known.get(j) for j in range(features.shape[1])),
            name=name,
            description=description,
            citation=citation,
        )

    @cached_property
    def X(self) -> Any:
        """The features as samplers and learners take them.

        These are ``values``, or, where dense features are nominal, a pandas frame in which those
        are categoricals: as codes they would be taken for numbers without notice. Texts and ids,
        of which most rows have their own, are strings.
        """
        return _feature_frame(self) if self._is_coded else self._array

    @property
    def _array(self) -> Any:
        """The values, with short indices if they are sparse: scikit-learn's solvers want them."""
        return narrow_indices(self.values)

    @property
    def _is_coded(self) -> bool:
        """Say whether dense values hold codes, which pandas shows as what they stand for."""
        return bool(self.categorical_features.any()) and not self.is_sparse

    @property
    def is_sparse(self) -> bool:
        """Whether ``values`` is a CSR array."""
        return bool(issparse(self.values))

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.Y.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.values.shape[1])

    @property
    def n_labels(self) -> int:
        """Number of columns of Y."""
        return int(self.Y.shape[1])

    def _size(self) -> str:
        kind = "sparse " if self.is_sparse else ""
        nominal = int(self.categorical_features.sum())
        share = f" ({nominal} categorical)" if nominal else ""
        return (
            f"{self.n_samples} samples, {self.n_features} {kind}features{share}, "
            f"{self.n_labels} labels"
        )

    def __repr__(self) -> str:
        return f"MultiLabelDataset({self.name!r}, {self._size()})"

    def _repr_html_(self) -> str:
        has = self.Y.indices[self.Y.data == 1]  # what is stored may also be unknown
        counts = np.bincount(has, minlength=self.n_labels)
        unknown = self.Y.indices[np.isnan(self.Y.data)]
        known = self.n_samples - np.bincount(unknown, minlength=self.n_labels)
        return draw_result(
            f"{self.name or 'Dataset'}: {self._size()}.",
            {"label": self.label_names, "count": counts, "share": counts / np.maximum(known, 1)},
            order=np.argsort(counts, kind="stable").tolist(),
            facts=[shorten(self.description, 300)],
        )

    def take(self, rows: ArrayLike) -> MultiLabelDataset:
        """Return the dataset of some rows: positions, in any order, or a boolean mask."""
        rows = np.asarray(rows)
        return replace(self, values=self.values[rows], Y=self.Y[rows])

    def same_as(self, other: MultiLabelDataset) -> bool:
        """Return whether the other holds the same data, bit for bit, missing values included.

        Features, labels, their names and categories count; the words about the dataset do not.
        """
        return (
            self.feature_names == other.feature_names
            and self.label_names == other.label_names
            and self.categories == other.categories
            and np.array_equal(self.categorical_features, other.categorical_features)
            and have_same_bits(self.Y, other.Y)
            and have_same_bits(self.values, other.values)
        )

    def to_frame(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return X and Y as pandas frames; nominal features become categoricals.

        The numbers of a sparse X, and then Y too, are pandas' sparse columns. Pandas has no
        sparse categoricals, so nominal columns always take one code a row.
        """
        return _feature_frame(self), _label_frame(self)

    def to_X_y(self, *, as_frame: bool | Literal["auto"] = "auto") -> tuple[Any, Any]:
        """Return X and y as samplers and learners take them.

        Parameters
        ----------
        as_frame : bool or "auto", default="auto"
            Whether they are pandas frames. With "auto" they are if a dense X has nominal
            features: as categoricals (texts and ids as strings) these cannot be taken for numbers,
            as their codes can. Otherwise X is an array, dense or sparse as it is, and y a dense
            table of zeros and ones, since scikit-learn's cross-validation does not take a sparse
            one.

        Examples
        --------
        >>> from labelance.datasets import load_dataset
        >>> X, y = load_dataset("flags").to_X_y()
        >>> X.dtypes["religion"]
        CategoricalDtype(categories=['0', '1', '2', '3', '4', '5', '6', '7'], ordered=False...)
        """
        if as_frame == "auto":
            as_frame = self._is_coded
        if as_frame:
            return self.to_frame()
        return self._array, self.Y.toarray()


def _clean_features(X: Any) -> NDArray[np.float64] | csr_array:
    """Return X as a C-contiguous double array, or a sorted CSR without stored zeros."""
    if not check_structure(X, "X"):
        dense = np.ascontiguousarray(X, dtype=np.float64)
        if dense.ndim != 2:
            raise InputError(
                "values must have two dimensions", f"It has {dense.ndim}", "Reshape it"
            )
        return dense
    sparse = csr_array(X, dtype=np.float64)
    return _canonical(sparse, shared=sparse is X or np.shares_memory(sparse.data, X.data))


def _clean_labels(Y: Any) -> csr_array:
    """Return Y as a CSR of sorted ones, and of stored NaN where a label is unknown."""
    sparse = csr_array(Y if check_structure(Y, "Y") else np.atleast_2d(np.asarray(Y)))
    unknown = np.isnan(sparse.data) if sparse.dtype.kind == "f" else np.zeros(1, dtype=bool)
    if not (np.isin(sparse.data, (0, 1)) | unknown).all():
        raise LabelFormatError("Y must be a table of zeros and ones", "It has other values")
    if unknown.any():
        return _canonical(sparse, shared=True)
    cells = (sparse.data != 0).astype(label_dtype(sparse.shape[1]))
    ones = csr_array((cells, sparse.indices, sparse.indptr), sparse.shape)
    return _canonical(ones, shared=True)


def _canonical(matrix: csr_array, *, shared: bool) -> csr_array:
    """Sort, and drop zeros and duplicates, never inside arrays that the caller still holds."""
    if matrix.has_canonical_format and matrix.data.all():
        return matrix
    matrix = matrix.copy() if shared else matrix
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _clean_names(what: str, names: Any, prefix: str, count: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"{prefix}{i}" for i in range(count))
    names = tuple(map(str, names))
    if len(names) != count:
        raise InputError(
            f"Every {what} needs a name", f"Got {len(names)} names for {count} columns"
        )
    return names


def _clean_categories(categories: Any, count: int) -> Categories:
    if categories is None:
        return (None,) * count
    if len(categories) != count:
        raise InputError(
            "categories must have one entry per feature",
            f"It has {len(categories)} for {count} features",
        )
    if set(map(type, categories)) <= {type(None)}:
        return tuple(categories)  # tens of thousands of numbers, in no time
    return tuple(None if c is None else tuple(map(str, c)) for c in categories)


def _clean_mask(mask: Any, nominal: NDArray[np.bool_]) -> NDArray[np.bool_]:
    mask = np.asarray(mask, dtype=bool)
    if mask.shape != nominal.shape or not np.array_equal(mask, nominal):
        raise InputError(
            "categorical_features must be True exactly where categories has values",
            "The two differ",
        )
    return mask


def find_texts(data: MultiLabelDataset) -> dict[str, Words]:
    """Return the nominal features of which most rows have a string of their own, and their kinds.

    They are texts, ids or dates, and no categories. A category that no row has counts, too.
    """
    return {
        name: find_kind(values, data.n_samples)
        for name, values in zip(data.feature_names, data.categories)
        if values and is_free_text(len(values), data.n_samples)
    }


def has_words(data: MultiLabelDataset) -> bool:
    """Tell whether a nominal feature holds texts, ids or dates, which rows may share."""
    return any(_are_words(values, data.n_samples) for values in data.categories if values)


def _are_words(values: tuple[str, ...], n_rows: int) -> bool:
    return is_free_text(len(values), n_rows) or find_kind(values, n_rows) in ("text", "date")


def leave_out(data: MultiLabelDataset, names: Sequence[str]) -> MultiLabelDataset:
    """Return a dataset without some features."""
    if not names:
        return data
    kept = np.array([j for j, one in enumerate(data.feature_names) if one not in names], dtype=int)
    return replace(
        data,
        values=data.values[:, kept],
        feature_names=tuple(data.feature_names[j] for j in kept),
        categorical_features=data.categorical_features[kept],
        categories=tuple(data.categories[j] for j in kept),
    )


def _feature_frame(data: MultiLabelDataset) -> pd.DataFrame:
    """Return a pandas column for every feature, in order; numbers of a sparse X stay sparse."""
    import pandas

    nominal = data.categorical_features
    X: Any = data.values
    numbers, codes = X[:, ~nominal], X[:, nominal]
    index = pandas.RangeIndex(data.n_samples)
    if data.is_sparse:
        numeric = pandas.DataFrame.sparse.from_spmatrix(numbers, index=index)
        codes = codes.tocsc()
    else:
        numeric = pandas.DataFrame(numbers, index=index)
    words = pandas.DataFrame(
        {
            i: _categorical(pandas, codes[:, [i]], values)
            for i, values in enumerate(filter(None, data.categories))
        },
        index=index,
    )
    are_words = [_are_words(values, data.n_samples) for values in data.categories if values]
    for i in np.flatnonzero(are_words).tolist():  # as categories they would be like others
        words[i] = words[i].astype(object).where(words[i].notna(), None)
    frame: pd.DataFrame = pandas.concat([numeric, words], axis=1)
    frame = frame.iloc[:, np.argsort(np.argsort(nominal, kind="stable"))]
    frame.columns = pandas.Index(data.feature_names)
    return frame


def _categorical(pandas: Any, codes: Any, values: tuple[str, ...]) -> Any:
    codes = to_dense(codes).ravel()
    codes = np.where(np.isnan(codes), -1, codes).astype(np.intp)
    return pandas.Categorical.from_codes(codes, categories=list(values))


def _label_frame(data: MultiLabelDataset) -> pd.DataFrame:
    import pandas

    names = list(data.label_names)
    if data.is_sparse:
        return pandas.DataFrame.sparse.from_spmatrix(data.Y, columns=names)
    return pandas.DataFrame(data.Y.toarray(), columns=names)
