"""Imbalanced multi-label data with the difficulty that the caller asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.sparse import csc_array, csr_array

from labelance._arrays._cells import label_dtype
from labelance._arrays._memory import check_fits_memory
from labelance._utils._random import RandomStateLike, as_generator
from labelance.datasets.synthetic._groups import (
    Concepts,
    Counts,
    LabelPlacement,
    assign_types,
    make_dense_features,
    make_sparse_features,
    place_labels,
    sizes_by_type,
)
from labelance.exceptions import InputError

MODERATE_IMBALANCE = 10.0


def label_frequencies(
    n_samples: int, n_labels: int, cardinality: float | None, imbalance: float | ArrayLike | None
) -> NDArray[np.intp]:
    """Return the number of rows that have each label.

    An array of ratios is followed label by label. Otherwise the frequencies fall by the same
    factor from one label to the next: the one curve with two ends to choose, which are fixed
    by cardinality and mean imbalance ratio.
    """
    if imbalance is None or isinstance(imbalance, (int, float, np.number)):
        share = _geometric(n_labels, cardinality, None if imbalance is None else float(imbalance))
    else:
        share = _from_ratios(np.asarray(imbalance, dtype=float), n_labels, cardinality)
    counts = np.rint(n_samples * share).astype(np.intp)
    if counts.min() < 1 or counts.max() >= n_samples:
        worst = int(np.argmin(np.minimum(counts, n_samples - counts)))
        raise InputError(
            "Every label needs at least one row that has it and one that lacks it",
            f"Label {worst} would have {counts[worst]} of n_samples={n_samples}",
        )
    return counts


def _from_ratios(
    ratio: NDArray[np.float64], n_labels: int, cardinality: float | None
) -> NDArray[np.float64]:
    if cardinality is not None:
        raise InputError(
            "One ratio per label already determines the cardinality",
            f"Got cardinality={cardinality}, too",
        )
    if ratio.shape != (n_labels,) or not (np.isfinite(ratio) & (ratio > 0)).all():
        raise InputError(
            f"imbalance must be one number, or {n_labels} positive ratios, one per label",
            f"It has shape {ratio.shape} and values from {ratio.min():g} to {ratio.max():g}",
        )
    return 1 / (1 + ratio)


def _geometric(
    n_labels: int, cardinality: float | None, imbalance: float | None
) -> NDArray[np.float64]:
    """Shares of rows that fall by one factor from label to label."""
    if cardinality is None:
        imbalance = MODERATE_IMBALANCE if imbalance is None else imbalance
        _at_least("imbalance", imbalance, 1.0, "1 means as many ones as zeros")
        if n_labels == 1:
            return np.array([1 / (1 + imbalance)])
        # The most frequent label sits half way, by ratio, between balance and the mean.
        top = 1 / (1 + np.sqrt(imbalance))
        return _fall(n_labels, imbalance, lambda curve: top * curve, _mean_ratio)
    if not 0 < cardinality <= n_labels / 2:
        raise InputError(
            f"cardinality must be in (0, {n_labels / 2:g}] for n_labels={n_labels}",
            f"Got {cardinality:g}",
            "Pass imbalance as an array with ratios below 1",
        )

    def shares(curve: NDArray[np.float64]) -> NDArray[np.float64]:
        return _fill(curve, cardinality)

    if imbalance is None:
        twice_the_mean = min(0.45, 2 * cardinality / n_labels) if n_labels > 1 else cardinality
        return _fall(n_labels, twice_the_mean, shares, np.max)
    flat = n_labels / cardinality - 1
    _at_least("imbalance", imbalance, flat, f"{flat:.4g} is the mean ratio if all labels are equal")
    return _fall(n_labels, imbalance, shares, _mean_ratio)


def _fill(curve: NDArray[np.float64], cardinality: float) -> NDArray[np.float64]:
    """Raise a falling curve until its sum is the cardinality, no label going above one half."""
    full = np.arange(len(curve))
    top = (cardinality - 0.5 * full) / curve[::-1].cumsum()[::-1]
    first = int(np.argmax(top * curve <= 0.5 * (1 + 1e-12)))
    return np.where(full < first, 0.5, top[first] * curve)


def _fall(
    n_labels: int,
    target: float,
    shares: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    measure: Callable[[NDArray[np.float64]], float],
) -> NDArray[np.float64]:
    """Find the factor at which ``measure(shares(curve))`` is ``target``."""

    def curve(fall: float) -> NDArray[np.float64]:
        return shares(np.exp(-fall * np.linspace(0, 1, n_labels)))

    def miss(fall: float) -> float:
        return float(measure(curve(fall))) - target

    if miss(0.0) >= -1e-9 * target:
        return curve(0.0)
    steepest = 40.0  # beyond any table: the rarest label at 4e-18 of the first
    if miss(steepest) < 0:
        raise InputError(
            "This mean imbalance ratio needs labels of more unequal frequencies",
            f"{n_labels} labels cannot be so unequal",
        )
    return curve(brentq(miss, 0.0, steepest))


def _mean_ratio(share: NDArray[np.float64]) -> float:
    """MeanImR of labels whose ones are the minority."""
    return float(np.mean(1 / share) - 1)


def _at_least(what: str, value: float, least: float, reason: str) -> None:
    if not value >= least * (1 - 1e-9):
        raise InputError(f"{what} must be at least {least:.4g} here ({reason})", f"Got {value:g}")


Features: TypeAlias = NDArray[np.float64] | csr_array
Labels: TypeAlias = NDArray[np.integer] | csr_array

# SF, BD, RR, OT where the caller has no wish: something of everything, as real data have.
MIXED = np.array([0.3, 0.3, 0.2, 0.2])
TOLERANCE = 0.05


def make_multilabel_imbalanced(
    n_samples: int = 1000,
    n_features: int = 20,
    n_labels: int = 10,
    *,
    cardinality: float | None = None,
    imbalance: float | ArrayLike | None = None,
    type_shares: Sequence[float] | None = None,
    label_correlation: float = 0.3,
    k_neighbors: int = 5,
    sparse: bool = False,
    density: float = 0.1,
    n_categorical: int = 0,
    return_indicator: Literal["dense", "sparse"] = "dense",
    random_state: RandomStateLike = None,
) -> tuple[Features, Labels]:
    """Make imbalanced multi-label data with given shares of types of minority cells.

    Parameters
    ----------
    n_samples, n_features, n_labels : int
        Numbers of rows, of columns of X, and of columns of y.
    cardinality : float, optional
        Mean number of labels of a row. Unless given, it follows from the imbalance.
    imbalance : float or array-like of shape (n_labels,), optional
        One number: the mean imbalance ratio (MeanImR), reached by labels whose frequencies
        fall by the same factor from one to the next. An array: zeros divided by ones for every
        label; below 1 the ones are the majority. Unless given: moderate for the cardinality,
        or 10 if this is not given either.
    type_shares : sequence of 4 floats, optional
        Shares of safe (SF), borderline (BD), rare (RR) and outlier (OT) cells among the
        minority cells. Unless given, a mixture of all four, with more safe cells in labels
        that are too frequent for it.
    label_correlation : float, default=0.3
        Share of the places of a label that it has in common with the next more frequent
        label; 0 places all labels independently, at 1 the labels are nested as far as their
        types allow.
    k_neighbors : int, default=5
        The number of neighbors by which the types are meant.
    sparse : bool, default=False
        Whether X is a CSR array, like text, instead of a dense array.
    density : float, default=0.1
        Share of nonzero entries of a sparse X, at most 0.5.
    n_categorical : int, default=0
        This many last columns of X hold codes of categories: 0 to 3 if X is dense; in a
        sparse X any integer, mostly 0.
    return_indicator : {"dense", "sparse"}, default="dense"
        Whether y is an array or a CSR array.
    random_state : int, RandomState, Generator or None, default=None
        Fixes the data.

    Returns
    -------
    X : ndarray or csr_array of shape (n_samples, n_features)
        The features.
    y : ndarray or csr_array of shape (n_samples, n_labels)
        The labels, as zeros and ones (int8; int16 if there are more than 128).

    Raises
    ------
    InputError
        If what is asked for cannot be had together: too many cells of lonely types for the
        number of rows, an imbalance too low for the cardinality, labels so rare that the
        shares would be missed by more than 0.05, or a sparse X with too few words.

    Notes
    -----
    Rows come in groups of ``k_neighbors + 1`` that lie far from one another, so that the
    neighbors of a row are the rest of its group, and the number of minority rows in a group
    decides their type. The types are therefore exact, not estimated, for plain Euclidean
    distances and for range-scaled ones with categories counted as equal or different; time
    and memory are linear in the data. With k = 5 a label can have at most a share
    ``1 / (SF + 1.5 BD + 3 RR + 6 OT)`` of minority rows.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> X, y = make_multilabel_imbalanced(600, 5, 3, imbalance=[4, 9, 19], random_state=0)
    >>> X.shape, y.sum(axis=0)
    ((600, 5), array([120,  60,  30]))
    """
    group_size = k_neighbors + 1
    _check_ranges(
        k_neighbors=(k_neighbors, 1, np.inf),
        n_samples=(n_samples, 2 * group_size, np.inf),
        n_features=(n_features, 2 if sparse else 1, np.inf),
        n_labels=(n_labels, 1, np.inf),
        n_categorical=(n_categorical, 0, n_features if sparse else n_features - 1),
        label_correlation=(label_correlation, 0, 1),
        density=(density, 0, 0.5),
    )
    check_fits_memory(
        n_samples,
        16 * density * n_features if sparse else 8 * n_features,
        caller="make_multilabel_imbalanced",
        cure="Make fewer rows or columns",
    )
    rng = as_generator(random_state)
    ones = label_frequencies(n_samples, n_labels, cardinality, imbalance)
    minority = np.minimum(ones, n_samples - ones)
    n_groups = n_samples // group_size
    # Rows that are left over join the last group, where then no label may be the minority.
    usable = n_groups - (n_samples % group_size > 0)
    parts = _split_minority(minority, type_shares, k_neighbors, usable)
    label_rng, feature_rng, row_rng = rng.spawn(3)
    placements = place_labels(parts, label_correlation, usable, group_size, label_rng)
    concepts = _concepts(placements, n_samples, n_groups, group_size)
    if sparse:
        X: Features = make_sparse_features(
            concepts, n_features, n_categorical, density, feature_rng
        )
    else:
        X = make_dense_features(concepts, n_features, n_categorical, feature_rng)
    order = row_rng.permutation(n_samples)
    return X[order], _labels(concepts.rows[order], ones > n_samples - ones, return_indicator)


def _check_ranges(**ranges: tuple[float, float, float]) -> None:
    """Refuse a parameter outside its range; each comes as its value, the least and the most."""
    for name, (value, least, most) in ranges.items():
        if not least <= value <= most:
            raise InputError(f"{name} must be between {least:g} and {most:g} here", f"Got {value}")


def _split_minority(
    minority: Counts, type_shares: Sequence[float] | None, k: int, usable: int
) -> list[Counts]:
    """Split the minority cells into types by the shares asked for, or as a label allows."""
    if type_shares is None:
        return assign_types(minority, _possible_mixture(minority, k, usable), k, usable)[0]
    shares = _check_shares(type_shares, k)
    parts, cells = assign_types(minority, np.tile(shares, (len(minority), 1)), k, usable)
    reached = cells.sum(axis=0) / cells.sum()
    if np.abs(reached - shares).max() > TOLERANCE:
        raise InputError(
            f"type_shares={tuple(shares.tolist())} cannot be met within {TOLERANCE}",
            f"The closest shares for these labels are {tuple(reached.round(3).tolist())}",
        )
    return parts


def _check_shares(type_shares: Sequence[float], k: int) -> NDArray[np.float64]:
    shares = np.asarray(type_shares, dtype=float)
    if shares.shape != (4,) or not (shares >= 0).all() or abs(shares.sum() - 1) > 1e-6:
        raise InputError(
            "type_shares must be four shares (SF, BD, RR, OT) that sum to 1", f"Got {type_shares}"
        )
    for name, share, sizes in zip(("SF", "BD", "RR", "OT"), shares, sizes_by_type(k)):
        if share and not len(sizes):
            raise InputError(
                f"type_shares asks for a share of {share:g} of {name} cells",
                f"With k_neighbors={k} no cell can be {name}",
            )
    return shares


def _possible_mixture(minority: Counts, k: int, usable: int) -> NDArray[np.float64]:
    """Return shares for every label: mixed, or as much so as a frequent label allows."""
    sizes = sizes_by_type(k)
    mixed = np.where([len(size) > 0 for size in sizes], MIXED, 0)
    mixed /= mixed.sum()
    groups_for_a_cell = np.array([1 / size.mean() if len(size) else 0 for size in sizes])
    safe = np.array([1.0, 0, 0, 0])
    # A share t of the mixture and 1 - t of safe cells fills at most 95% of the groups.
    need_mixed, need_safe = mixed @ groups_for_a_cell, safe @ groups_for_a_cell
    t = (0.95 * usable / minority - need_safe) / (need_mixed - need_safe)
    t = np.clip(t, 0, 1)[:, None]
    return t * mixed + (1 - t) * safe


def _concepts(
    placements: list[LabelPlacement], n_samples: int, n_groups: int, group_size: int
) -> Concepts:
    """Return the placements of all labels as sparse matrices, of groups and of rows."""
    n_labels = len(placements)
    rows = [placement.rows(group_size) for placement in placements]
    row_ends = np.cumsum([0, *map(len, rows)])
    group_ends = np.cumsum([0, *(len(placement.group) for placement in placements)])
    by_group = np.concatenate([placement.group for placement in placements])
    share = np.concatenate([placement.size for placement in placements]) / group_size
    by_row, ones = np.concatenate(rows), np.ones(row_ends[-1], label_dtype(n_labels))
    return Concepts(
        csc_array((share, by_group, group_ends), shape=(n_groups, n_labels)).tocsr(),
        csc_array((ones, by_row, row_ends), shape=(n_samples, n_labels)).tocsr(),
        np.minimum(np.arange(n_samples) // group_size, n_groups - 1),
    )


def _labels(minority: csr_array, flipped: NDArray[np.bool_], kind: str) -> Labels:
    """Turn minority cells into labels; a flipped label has its ones everywhere else."""
    if kind == "sparse":
        return _flip_sparse(minority, flipped) if flipped.any() else minority
    Y = np.zeros(minority.shape, minority.dtype)
    Y[np.repeat(np.arange(len(Y)), np.diff(minority.indptr)), minority.indices] = 1
    Y ^= flipped
    return Y


def _flip_sparse(minority: csr_array, flipped: NDArray[np.bool_]) -> csr_array:
    columns = minority.tocsc()
    every = np.arange(minority.shape[0])
    rows = [
        np.delete(every, present) if flip else present
        for present, flip in zip(np.split(columns.indices, columns.indptr[1:-1]), flipped)
    ]
    ends = np.cumsum([0, *map(len, rows)])
    ones = np.ones(ends[-1], minority.dtype)
    return csc_array((ones, np.concatenate(rows), ends), shape=minority.shape).tocsr()
