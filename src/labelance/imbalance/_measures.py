"""Measures of imbalance as functions of y: IRLbl, ImR, SCUMBLE, TCS and more.

A public function takes y as the rest of the library does: an (n, q) indicator as an array, a data
frame or a sparse matrix, and costs O(nnz(y)). The formulas follow at the end, on clean labels: Y is
a CSR array of ones with sorted indices, and counts are the ones per label, so that a caller with
many measures to take counts only once. A measure that a label does not have is nan, and nan is left
out of every mean. Constant labels, in all rows or in none, have no measure: a label in all rows
would be the most frequent one that IRLbl and SCUMBLE compare the others with.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelance._arrays._containers import column_counts
from labelance._arrays._dask import count_rows_and_columns
from labelance._utils._notebook import MOST_ROWS, draw_result
from labelance._validation._data import validate_labels
from labelance.exceptions import InputError

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


def _validate(y: Any, caller: str) -> csr_array:
    return validate_labels(y, caller=caller).Y


def _validate_varying(y: Any, caller: str) -> tuple[csr_array, Counts]:
    labels = _validate(y, caller)
    return drop_full(labels, column_counts(labels))


def _count_known(y: Any, caller: str) -> tuple[Counts, Counts]:
    """Return how many ones every label has, and how many cells of it are known."""
    labels = validate_labels(y, caller=caller, needs_all=None)
    return column_counts(labels.Y), labels.n_known


def _count_varying(y: Any, caller: str) -> Counts:
    """Return how many ones every label has, and 0 for a label that all rows have."""
    return leave_out_full(*_count_known(y, caller))


def leave_out_full(counts: Counts, n_rows: int | Counts) -> Counts:
    """Return the counts with 0 for labels that all rows have: as in no row, nothing varies."""
    return np.where(counts == n_rows, 0, counts)


def drop_full(
    Y: csr_array, counts: Counts, n_known: int | Counts | None = None
) -> tuple[csr_array, Counts]:
    """Return clean labels and their counts without the ones of labels that all rows have."""
    varying = leave_out_full(counts, Y.shape[0] if n_known is None else n_known)
    if (varying == counts).all():
        return Y, counts
    kept = csr_array(Y.multiply(varying > 0))
    kept.eliminate_zeros()
    return kept, varying


def label_counts(y: Any) -> NDArray[np.int64]:
    """Count the rows of every label.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones. Unknown cells (NaN) are left out.

    Returns
    -------
    ndarray of shape (n_labels,)
        The number of ones.

    Examples
    --------
    >>> from labelance.imbalance import label_counts
    >>> label_counts([[1, 0], [1, 1], [1, 0]])
    array([3, 1])
    """
    return _count_known(y, "label_counts")[0]


def cardinality(y: Any) -> float:
    """Average the number of labels over the rows.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones.

    Returns
    -------
    float
        The label cardinality, between 0 and the number of labels.

    References
    ----------
    G. Tsoumakas, I. Katakis. Multi-label classification: an overview. International
    Journal of Data Warehousing and Mining 3(3), 2007.

    Examples
    --------
    >>> from labelance.imbalance import cardinality
    >>> cardinality([[1, 0], [1, 1], [1, 0], [0, 0]])
    1.0
    """
    labels = _validate(y, "cardinality")
    return labels.nnz / labels.shape[0]


def density(y: Any) -> float:
    """Divide the label cardinality by the number of labels.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones. Unknown cells (NaN) are left out.

    Returns
    -------
    float
        The share of ones in y, between 0 and 1.

    Examples
    --------
    >>> from labelance.imbalance import density
    >>> density([[1, 0], [1, 1], [1, 0], [0, 0]])
    0.5
    """
    counts, known = _count_known(y, "density")
    # First by the rows and then by the labels, as a profile does, so that both have the same bits.
    return float(counts.sum() / known.mean() / len(known)) if known.any() else math.nan


def irlbl(y: Any) -> Floats:
    """Divide the count of the most frequent label by the count of each label: IRLbl.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones. Unknown cells (NaN) are left out.

    Returns
    -------
    ndarray of shape (n_labels,)
        The imbalance ratio between labels, at least 1; nan for a label that is the same in all
        rows, which is no most frequent label either.

    See Also
    --------
    imr : The imbalance within a label, between its two classes.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera. Addressing imbalance in
    multilabel classification: measures and random resampling algorithms.
    Neurocomputing 163, 2015.

    Examples
    --------
    >>> from labelance.imbalance import irlbl
    >>> irlbl([[1, 0, 0], [1, 1, 0], [1, 0, 0], [0, 0, 0]])
    array([ 1.,  3., nan])
    """
    return find_irlbl(_count_varying(y, "irlbl"))


def mean_ir(y: Any) -> float:
    """Average IRLbl over the labels that vary: MeanIR.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones. Unknown cells (NaN) are left out.

    Returns
    -------
    float
        The mean, at least 1; nan if every label is the same in all rows.

    Examples
    --------
    >>> from labelance.imbalance import mean_ir
    >>> mean_ir([[1, 0, 0], [1, 1, 0], [1, 0, 0], [0, 0, 0]])
    2.0
    """
    return mean_where_defined(find_irlbl(_count_varying(y, "mean_ir")))


def cvir(y: Any) -> float:
    """Divide the sample standard deviation of IRLbl by its mean: CVIR.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones. Unknown cells (NaN) are left out.

    Returns
    -------
    float
        The coefficient of variation over the labels that vary; nan if there are not
        two of them.

    Examples
    --------
    >>> from labelance.imbalance import cvir
    >>> cvir([[1, 1], [1, 1], [0, 0]])
    0.0
    """
    return variation(find_irlbl(_count_varying(y, "cvir")))


def imr(y: Any) -> Floats:
    """Divide, within each label, the count of the majority class by that of the minority: ImR.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones. Unknown cells (NaN) are left out.

    Returns
    -------
    ndarray of shape (n_labels,)
        The imbalance ratio between the classes of a label, at least 1; nan for a label
        that is the same in all rows.

    See Also
    --------
    irlbl : The imbalance between labels.

    References
    ----------
    M.-L. Zhang, Y.-K. Li, X.-Y. Liu. Towards class-imbalance aware multi-label learning.
    IJCAI 2015.

    Examples
    --------
    >>> from labelance.imbalance import imr
    >>> imr([[1, 0, 0], [1, 1, 0], [1, 0, 0], [0, 0, 0]])
    array([ 3.,  3., nan])
    >>> imr([[1, 0], [1, 1], [1, float("nan")], [0, 0]])
    array([3., 2.])
    """
    return find_imr(*_count_known(y, "imr"))


def mean_imr(y: Any) -> float:
    """Average ImR over the labels that have both classes: MeanImR.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones. Unknown cells (NaN) are left out.

    Returns
    -------
    float
        The mean, at least 1; nan if every label is the same in all rows.

    Examples
    --------
    >>> from labelance.imbalance import mean_imr
    >>> mean_imr([[1, 0, 0], [1, 1, 0], [1, 0, 0], [0, 0, 0]])
    3.0
    """
    return mean_where_defined(find_imr(*_count_known(y, "mean_imr")))


def tcs(X: Any, y: Any) -> float:
    """Take the logarithm of features times labels times labelsets: TCS.

    Parameters
    ----------
    X : int, or a table of shape (n_samples, n_features)
        The number of features, or the features themselves, of which only the number counts.
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones.

    Returns
    -------
    float
        The theoretical complexity score, a natural logarithm.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera. On the impact of dataset
    complexity and sampling strategy in multilabel classifiers performance. HAIS 2016.

    Examples
    --------
    >>> from labelance.imbalance import tcs
    >>> round(tcs(72, [[1, 0], [0, 1], [0, 1]]), 3)
    5.663
    """
    labels = _validate(y, "tcs")
    return find_tcs(
        count_features(X, labels.shape[0], caller="tcs"),
        labels.shape[1],
        len(find_labelsets(labels)),
    )


def count_features(X: Any, n_rows: int, *, caller: str) -> int:
    """Return the number of columns of X, or X where it is that number already."""
    if isinstance(X, int | np.integer):
        return int(X)
    shape = count_rows_and_columns(X)
    if len(shape) != 2 or shape[0] != n_rows:
        raise InputError(
            f"{caller} needs the number of features, or X with the {n_rows} rows of y",
            f"X has shape {tuple(shape)}",
        )
    return int(shape[1])


def rarest_first(counts: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the labels from the rarest to the most frequent; those in no row come last."""
    return np.lexsort((counts, counts == 0))


def rarity_bands(counts: NDArray[np.int64]) -> dict[str, NDArray[np.intp]]:
    """Return the labels that are in 1-9 rows, in 10-99, and so on, by these words.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.imbalance._measures import rarity_bands
    >>> rarity_bands(np.array([0, 3, 250, 9]))
    {'1-9 rows': array([1, 3]), '100-999 rows': array([2])}
    """
    digits = np.floor(np.log10(np.maximum(counts, 0.1))).astype(int)  # 0 rows: -1
    return {
        f"{10**power}-{10 ** (power + 1) - 1} rows": np.flatnonzero(digits == power)
        for power in np.unique(digits[digits >= 0]).tolist()
    }


def scumble_instances(y: Any) -> Floats:
    """Measure in every row how frequent and rare labels occur together: SCUMBLE of an instance.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones.

    Returns
    -------
    ndarray of shape (n_samples,)
        One minus the geometric over the arithmetic mean of IRLbl over the row's labels,
        in [0, 1): exactly 0 if they are equally frequent, and in a row without labels.
        Labels that all rows have are left out.

    Notes
    -----
    The published formula multiplies over all labels, with 0 for those a row does not
    have, which would make every product 0. All known programs take the row's own labels.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera. Dealing with difficult minority
    labels in imbalanced multilabel data sets. Neurocomputing 326-327, 2019.

    Examples
    --------
    >>> from labelance.imbalance import scumble_instances
    >>> scumble_instances([[1, 0], [1, 1], [1, 0], [1, 0], [0, 0]]).round(3)
    array([0. , 0.2, 0. , 0. , 0. ])
    """
    return find_scumble(*_validate_varying(y, "scumble_instances"))


def scumble(y: Any) -> float:
    """Average SCUMBLE over all rows, those without labels included.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones.

    Returns
    -------
    float
        The mean, in [0, 1).

    Examples
    --------
    >>> from labelance.imbalance import scumble
    >>> round(scumble([[1, 0], [1, 1], [1, 0], [0, 0]]), 3)
    0.033
    """
    return float(find_scumble(*_validate_varying(y, "scumble")).mean())


def scumble_cv(y: Any) -> float:
    """Divide the sample standard deviation of the rows' SCUMBLE by its mean: SCUMBLE.CV.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones.

    Returns
    -------
    float
        The coefficient of variation; nan if SCUMBLE is 0.

    Examples
    --------
    >>> from labelance.imbalance import scumble_cv
    >>> scumble_cv([[1, 0], [1, 1], [1, 0], [0, 0]])
    2.0
    """
    return variation(find_scumble(*_validate_varying(y, "scumble_cv")))


def scumble_labels(y: Any) -> Floats:
    """Average SCUMBLE over the rows of each label: SCUMBLE.Lbl.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones.

    Returns
    -------
    ndarray of shape (n_labels,)
        The means, in [0, 1); nan for a label that is the same in all rows.

    Examples
    --------
    >>> from labelance.imbalance import scumble_labels
    >>> scumble_labels([[1, 0], [1, 1], [1, 0], [1, 0], [0, 0]]).round(3)
    array([0.05, 0.2 ])
    """
    labels, counts = _validate_varying(y, "scumble_labels")
    return find_scumble_labels(labels, counts, find_scumble(labels, counts))


def find_irlbl(counts: Counts) -> Floats:
    """Divide the most frequent label's count by each label's own."""
    return _divide(np.float64(counts.max(initial=0)), counts)


def find_imr(counts: Counts, n_rows: int | Counts) -> Floats:
    """Divide, within each label, the majority class by the minority class."""
    return _divide(np.maximum(counts, n_rows - counts), np.minimum(counts, n_rows - counts))


def mean_where_defined(values: Floats) -> float:
    """Average the values that are not nan; nan if there is none.

    The sum is rounded once, so the order of the labels cannot move a label that is exactly at
    the mean above it.
    """
    defined = values[~np.isnan(values)].tolist()
    return math.fsum(defined) / len(defined) if defined else math.nan


def variation(values: Floats) -> float:
    """Sample standard deviation over mean, of the values that are not nan."""
    defined = values[~np.isnan(values)]
    if defined.size < 2 or defined.mean() == 0:
        return float("nan")
    return float(defined.std(ddof=1) / defined.mean())


def find_scumble(Y: csr_array, counts: Counts) -> Floats:
    """One minus geometric over arithmetic mean of IRLbl, over the labels of each row.

    The quotient does not depend on the scale of IRLbl, so it is taken relative to the
    rarest label of the row: labels of equal count then give exactly 1, and SCUMBLE
    exactly 0, without rounding. Sums of logarithms, for a product would overflow. They are
    taken from the rarest label on, so that rows of equal counts have equal values, whatever
    columns these are in.
    """
    sizes = np.diff(Y.indptr)
    some = sizes > 0
    starts, sizes = Y.indptr[:-1][some], sizes[some]
    result = np.zeros(Y.shape[0])
    if starts.size:
        frequency = _sorted_in_rows(counts, Y).astype(np.float64)
        relative = np.repeat(frequency[starts], sizes) / frequency
        geometric = np.exp(np.add.reduceat(np.log(relative), starts) / sizes)
        arithmetic = np.add.reduceat(relative, starts) / sizes
        result[some] = np.maximum(1.0 - geometric / arithmetic, 0.0)
    return result


def find_scumble_labels(Y: csr_array, counts: Counts, instances: Floats) -> Floats:
    """Average SCUMBLE over the rows of each label."""
    of_cells = np.repeat(instances, np.diff(Y.indptr))
    return _divide(np.bincount(Y.indices, weights=of_cells, minlength=Y.shape[1]), counts)


def _sorted_in_rows(counts: Counts, Y: csr_array) -> Counts:
    """Return the count of each one of Y, row by row, in every row the smallest first."""
    by_count = np.argsort(counts, kind="stable")
    rank = np.empty_like(by_count)
    rank[by_count] = np.arange(len(counts))
    ranked = csr_array((Y.data, rank[Y.indices], Y.indptr), shape=Y.shape)
    ranked.has_sorted_indices = False
    ranked.sort_indices()
    return counts[by_count][ranked.indices]


def find_tcs(n_features: int, n_labels: int, n_labelsets: float) -> float:
    """Logarithm of features times labels times labelsets."""
    return float(np.log(n_features) + np.log(n_labels) + np.log(n_labelsets))


def _divide(above: np.float64 | Counts | Floats, below: Counts) -> Floats:
    """Divide, with nan where there is nothing to divide by."""
    result = np.full(below.shape, np.nan)
    np.divide(above, below, out=result, where=below > 0)
    return result


__all__ = ["Labelsets", "find_labelsets", "labelsets"]


@dataclass(frozen=True, eq=False)
class Labelsets:
    """The distinct labelsets of Y, most frequent first.

    Labelsets of equal frequency come in the order in which they first appear. The empty
    labelset, where a row has no label, is one of them.

    Attributes
    ----------
    sets : csr_array of shape (n_labelsets, n_labels)
        Each distinct row of Y once.
    frequencies : ndarray of shape (n_labelsets,)
        The number of rows with that labelset.
    membership : ndarray of shape (n_samples,)
        The number of each row's labelset: ``sets[membership]`` is Y again.
    """

    sets: csr_array
    frequencies: NDArray[np.int64]
    membership: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.frequencies)

    @property
    def share_single(self) -> float:
        """The share of labelsets that only one row has."""
        return float(np.mean(self.frequencies == 1))

    def __repr__(self) -> str:
        return f"<Labelsets: {len(self)} in {len(self.membership)} rows>"

    def _repr_html_(self) -> str:
        ends = self.sets.indptr
        top = range(min(len(self), MOST_ROWS))
        shown = [self.sets.indices[ends[i] : ends[i + 1]].tolist() for i in top]
        return draw_result(
            f"{len(self):,} distinct labelsets in {len(self.membership):,} rows, "
            f"{self.share_single:.0%} of them seen once.",
            {
                "labels": [", ".join(map(str, one)) or "none" for one in shown],
                "rows": self.frequencies,
            },
            order=range(len(self)),
            things="labelsets",
        )


def labelsets(y: Any) -> Labelsets:
    """Find the distinct labelsets of Y, how often each occurs, and which one each row has.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones.

    Returns
    -------
    Labelsets
        A frozen value with ``sets``, ``frequencies``, ``membership`` and ``share_single``;
        its length is the number of labelsets.

    Examples
    --------
    >>> from labelance.imbalance import labelsets
    >>> found = labelsets([[1, 0], [1, 1], [1, 0], [0, 0]])
    >>> len(found), found.frequencies.tolist(), found.membership.tolist()
    (3, [2, 1, 1], [0, 1, 0, 2])
    >>> found.sets.toarray().tolist()
    [[1, 0], [1, 1], [0, 0]]
    """
    return find_labelsets(validate_labels(y, caller="labelsets").Y)


def find_labelsets(Y: csr_array) -> Labelsets:
    """Find the labelsets of clean labels."""
    nodes = _trie_nodes(Y)
    _, first, inverse, frequencies = np.unique(
        nodes, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.lexsort((first, -frequencies))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return Labelsets(
        sets=Y[first[order]],
        frequencies=frequencies[order].astype(np.int64),
        membership=place[inverse].astype(np.int64),
    )


def _trie_nodes(Y: csr_array) -> NDArray[np.int64]:
    """Walk every row's sorted label list down one trie, and return where it ends.

    Equal rows end at the same node and different rows at different ones. All rows take
    their step at the same time, and a row that is through takes no more of them, so the
    loop is as long as the longest row and the work that of sorting the ones of Y.
    """
    n_labels = Y.shape[1]
    sizes = np.diff(Y.indptr)
    nodes = np.zeros(Y.shape[0], dtype=np.int64)
    walking = np.flatnonzero(sizes)
    n_nodes, depth = 1, 0
    while walking.size:
        label = Y.indices[Y.indptr[walking] + depth]
        edges, step = np.unique(nodes[walking] * n_labels + label, return_inverse=True)
        nodes[walking] = n_nodes + step
        n_nodes, depth = n_nodes + edges.size, depth + 1
        walking = walking[sizes[walking] > depth]
    return nodes
