"""Targets with several classes, reduced to labels that are present or absent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from labelance._arrays._containers import to_dense
from labelance._utils._pickles import MarksVersion
from labelance.datasets._dataset import BETWEEN
from labelance.exceptions import InputError, LabelFormatError


class MultiClassReduction(MarksVersion, BaseEstimator):
    """Reduce targets with several classes to labels: one for every class of a target.

    Samplers, learners and metrics of this library know labels that a row has or has not. A
    target with the classes a, b and c becomes three labels, of which every row has exactly
    one; a target with the classes 0 and 1 stays the one label that it is. Back from scores, every
    target gets the class with the largest one, so that it always has exactly one again.

    Attributes
    ----------
    target_names_ : tuple
        Names of the targets; numbers where y has no names.
    classes_ : list of ndarray
        The classes of every target, sorted.
    label_names_ : tuple of str
        Names of the labels: ``target=class``, or the target alone where its classes are 0 and 1.

    See Also
    --------
    read_multilabel : With ``multi_class="reduce"`` it does the same for columns of a file.

    Notes
    -----
    The reduction is that of one class against the rest, target by target. It keeps no order of
    classes, and lets learners that see labels together (chains, RAkEL) find out by themselves
    that the classes of a target exclude each other. Imbalance is then that of single classes:
    ImR of a label is the class against all others.

    Examples
    --------
    >>> from labelance.datasets import MultiClassReduction
    >>> y = [["low", 0], ["high", 1], ["mid", 0]]
    >>> reduction = MultiClassReduction().fit(y)
    >>> reduction.label_names_
    ('0=high', '0=low', '0=mid', '1')
    >>> reduction.transform(y)
    array([[0, 1, 0, 0],
           [1, 0, 0, 1],
           [0, 0, 1, 0]])
    >>> reduction.inverse_transform([[0.2, 0.1, 0.4, 0.9]])
    array([['mid', 1]], dtype=object)
    """

    target_names_: tuple[Any, ...]
    classes_: list[NDArray[Any]]
    label_names_: tuple[str, ...]

    def fit(self, y: Any) -> MultiClassReduction:
        """Learn the classes of every target.

        Parameters
        ----------
        y : array-like or data frame of shape (n, n_targets)
            A class for every row and target: numbers or words.

        Returns
        -------
        self : MultiClassReduction
        """
        names, columns = _open_targets(y)
        return self._set(names, [_classes(*named) for named in zip(names, columns)])

    @classmethod
    def from_label_names(cls, label_names: Iterable[str]) -> MultiClassReduction:
        """Return the reduction that made labels of these names, such as those of a dataset.

        Parameters
        ----------
        label_names : iterable of str
            As ``label_names_``; the classes are words.

        Returns
        -------
        reduction : MultiClassReduction

        Examples
        --------
        >>> from labelance.datasets import MultiClassReduction
        >>> names = ["size=S", "size=M", "size=L", "new"]
        >>> reduction = MultiClassReduction.from_label_names(names)
        >>> reduction.inverse_transform([[0, 0.5, 0.1, 0.2]])
        array([['M', 0]], dtype=object)
        """
        found: dict[str, list[str]] = {}
        last = None
        for name in label_names:
            target, between, value = name.partition(BETWEEN)
            if target in found and (target != last or not between):
                raise InputError(
                    "The labels of a target must be in adjacent columns",
                    f"The labels of {target!r} are not",
                )
            found.setdefault(target, []).extend([value] if between else [])
            last = target
        classes = [np.array(values) if values else np.array([0, 1]) for values in found.values()]
        return cls()._set(tuple(found), classes)

    def _set(self, names: Sequence[Any], classes: list[NDArray[Any]]) -> MultiClassReduction:
        _check_unambiguous(names)
        self.target_names_, self.classes_ = tuple(names), classes
        self.label_names_ = tuple(
            label
            for name, values in zip(names, classes)
            for label in (
                [str(name)] if is_binary(values) else [f"{name}{BETWEEN}{v}" for v in values]
            )
        )
        return self

    def transform(self, y: Any) -> NDArray[np.int64]:
        """Return the labels of rows.

        Parameters
        ----------
        y : array-like or data frame of shape (n, n_targets)
            Classes that ``fit`` has seen.

        Returns
        -------
        labels : ndarray of shape (n, n_labels)
            Zeros and ones.
        """
        check_is_fitted(self)
        names, columns = _open_targets(y)
        if len(columns) != len(self.classes_):
            raise InputError(
                f"MultiClassReduction was fitted to {len(self.classes_)} targets",
                f"Got {len(columns)}",
            )
        fitted = list(self.target_names_)
        if _are_given(names) and _are_given(fitted) and names != fitted:
            raise InputError(
                f"MultiClassReduction was fitted to the targets {', '.join(map(str, fitted[:5]))}",
                f"Got {', '.join(map(str, names[:5]))}",
            )
        parts = []
        for name, column, classes in zip(names, columns, self.classes_):
            _check_no_new_classes(name, column, classes)
            present = column == 1 if is_binary(classes) else column[:, None] == classes
            parts.append(present.reshape(len(column), -1))
        return np.hstack(parts).astype(np.int64)

    def fit_transform(self, y: Any) -> NDArray[np.int64]:
        """Learn the classes of every target, and return the labels of the rows.

        Parameters
        ----------
        y : array-like or data frame of shape (n, n_targets)
            A class for every row and target: numbers or words.

        Returns
        -------
        labels : ndarray of shape (n, n_labels)
            Zeros and ones.
        """
        return self.fit(y).transform(y)

    def inverse_transform(self, scores: Any) -> NDArray[Any]:
        """Return the class with the largest score of every row and target.

        Parameters
        ----------
        scores : array-like or sparse matrix of shape (n, n_labels)
            What a learner's ``predict_proba`` gives, or zeros and ones.

        Returns
        -------
        y : ndarray of shape (n, n_targets)
            Of equal scores the first class counts. A target of one label is 1 from 0.5 on.
        """
        check_is_fitted(self)
        table = np.asarray(to_dense(scores), dtype=np.float64)  # one per label and row
        if table.ndim != 2 or table.shape[1] != len(self.label_names_) or np.isnan(table).any():
            raise InputError(
                f"MultiClassReduction needs one score for each of {len(self.label_names_)} labels",
                f"Got an array of shape {table.shape}"
                + (" with NaN in it" if np.isnan(table).any() else ""),
                "Pass predict_proba(X) of a learner fitted to transform(y)",
            )
        columns, first = [], 0
        for classes in self.classes_:
            binary = is_binary(classes)
            part = table[:, first : first + (1 if binary else len(classes))]
            first += part.shape[1]
            columns.append((part[:, 0] >= 0.5) * 1 if binary else classes[part.argmax(axis=1)])
        mixed = len({column.dtype.kind for column in columns}) > 1
        return np.column_stack([c.astype(object) for c in columns] if mixed else columns)


def is_binary(classes: Iterable[Any]) -> bool:
    """Tell whether the classes of a target are 0 and 1 already, or one of them."""
    return all(not isinstance(value, str) and value in (0, 1) for value in classes)


def _open_targets(y: Any) -> tuple[list[Any], list[NDArray[Any]]]:
    """Return names and columns of a table; words and numbers may stand side by side."""
    if hasattr(y, "columns"):
        names = list(y.columns)
        _check_table(y.shape)
        return names, [np.asarray(y[name]) for name in names]
    table = np.asarray(y, dtype=None if isinstance(y, np.ndarray) else object)
    _check_table(table.shape)
    return list(range(table.shape[1])), list(table.T)


def _check_table(shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or 0 in shape:
        raise LabelFormatError(
            "y must have two dimensions, rows and targets",
            f"Got shape {shape}",
            "Use y.reshape(-1, 1)",
        )


def _are_given(names: Sequence[Any]) -> bool:
    """Tell names from the numbers that columns without names have."""
    return list(names) != list(range(len(names)))


def _classes(name: Any, column: NDArray[Any]) -> NDArray[Any]:
    """Return the classes of a target, sorted."""
    missing = np.array([value is None or value != value for value in column])
    if missing.any():
        raise LabelFormatError(
            "Every row and target needs a class", f"{name!r} has no class in {missing.sum()} rows"
        )
    try:
        return np.array(sorted(set(column.tolist())))
    except TypeError as error:
        raise LabelFormatError(
            "The classes of a target must be all numbers or all strings", f"{name!r} has both"
        ) from error


def _check_no_new_classes(name: Any, column: NDArray[Any], classes: NDArray[Any]) -> None:
    new = set(column.tolist()) - set(classes.tolist())
    if new:
        raise LabelFormatError(
            f"Target {name!r} has classes that fit did not see",
            f"Got {', '.join(sorted(map(str, new))[:5])}",
        )


def _check_unambiguous(names: Sequence[Any]) -> None:
    """Raise for names of targets that could not be distinguished from the names of their labels."""
    wrong = [name for name in names if BETWEEN in str(name)]
    if wrong:
        raise InputError(
            f"The name of a target must not contain {BETWEEN}", f"Got the target {wrong[0]!r}"
        )
