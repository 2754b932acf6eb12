"""How imbalanced a dataset is, in one value that prints itself as text or HTML."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from labelance._arrays._containers import column_counts
from labelance._arrays._labels import mark_unknown
from labelance._arrays._open import take_rows
from labelance._utils._files import replace_when_done
from labelance._validation._arguments import check_label_names, check_positive
from labelance._validation._categorical import CategoricalFeatures
from labelance._validation._column_groups import ColumnGroups, NothingLeftError
from labelance._validation._data import count_known, validate_labels
from labelance.exceptions import InputError
from labelance.imbalance._local import (
    HasIndices,
    Variant,
    local_distribution,
    minority_values,
)
from labelance.imbalance._measures import (
    count_features,
    drop_full,
    find_imr,
    find_irlbl,
    find_labelsets,
    find_scumble,
    find_scumble_labels,
    find_tcs,
    mean_where_defined,
    variation,
)
from labelance.imbalance._page import draw_page
from labelance.imbalance._profile_text import (
    LONGEST_TABLE,
    ProfiledData,
    ProfileValues,
    draw_html,
    draw_text,
)
from labelance.neighbors._find import find_neighbors_for
from labelance.neighbors._metric import Metric, Scale

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class ImbalanceProfile(ProfileValues):
    """How imbalanced a multi-label dataset is; made by `profile`.

    Print it for a table, rarest labels first, or take it on with `to_text`, `to_frame` or
    `to_dict`. A measure that is not defined is nan; IRLbl, ImR and SCUMBLE leave constant labels
    out, which are in all rows or in none.

    Attributes
    ----------
    n_samples, n_labels : int
        The shape of y.
    n_features : int or None
        The number of columns of X; None without X.
    cardinality, density : float
        Labels per row, and the same as a share of all labels.
    n_labelsets : int
        The number of distinct rows of y.
    share_single_labelsets : float
        The share of labelsets that only one row has.
    mean_ir, cvir : float
        Mean and coefficient of variation of IRLbl.
    mean_imr : float
        Mean of ImR.
    scumble, scumble_cv : float
        Mean and coefficient of variation of the rows' SCUMBLE.
    tcs : float or None
        The theoretical complexity score; None without X.
    n_neighbors : int or None
        The number of neighbors for ``type_counts``; None without them.
    n_searched : int or None
        The number of rows for ``type_counts``: all, or those of ``subsample``; None without
        them.
    label_names : tuple
        The names of the labels, or their column numbers.
    label_counts, irlbl, imr, scumble_labels : ndarray of shape (n_labels,)
        The measures of every label.
    n_unknown : ndarray of shape (n_labels,)
        The rows in which each label is unknown (NaN). Where there are some, the measures of whole
        rows (cardinality, labelsets, SCUMBLE, TCS) are nan.
    minority_value : ndarray of shape (n_labels,)
        The rarer value, 0 or 1, of every label.
    type_counts : ndarray of shape (n_labels, 4) or None
        Each label's minority cells that are safe, borderline, rare and outliers.
    read_as : str or None
        How texts and vectors in X were read, and which columns were left out; None where X is
        a table.
    """

    def __getstate__(self) -> dict[str, Any]:
        """Leave X and y out: who pickles a few numbers does not expect the whole data."""
        return {**self.__dict__, "_data": None}

    def to_frame(self) -> pd.DataFrame:
        """Return the table of labels as a pandas data frame, one row per label.

        Returns
        -------
        pandas.DataFrame
            Indexed by label name, with the columns count, IRLbl, ImR, SCUMBLE, minority
            and, with neighbors, SF, BD, RR and OT.
        """
        import pandas as pd

        return pd.DataFrame(self.columns, index=pd.Index(self.label_names, name="label"))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, strings, lists and dictionaries.

        Returns
        -------
        dict
            Ready for `json.dumps`: undefined measures are None. ``"labels"`` is a list
            with one dictionary per label.
        """
        # The fields before the names of the labels are single numbers.
        names = (field.name for field in fields(self))
        overall = takewhile(lambda name: name != "label_names", names)
        result: dict[str, Any] = {name: _plain(getattr(self, name)) for name in overall}
        shares = self.type_shares
        result["type_shares"] = shares and {kind: _plain(share) for kind, share in shares.items()}
        result["constant_labels"] = [_plain(name) for name in self.constant_labels]
        table = {name: values.tolist() for name, values in self.columns.items()}
        if self.read_as is not None:
            result["read_as"] = self.read_as
        result["labels"] = [
            {"label": _plain(label)} | {name: _plain(value) for name, value in zip(table, row)}
            for label, row in zip(self.label_names, zip(*table.values()))
        ]
        return result

    def to_text(self, *, top: int = LONGEST_TABLE) -> str:
        """Return the measures, and a table of labels with the rarest first.

        Parameters
        ----------
        top : int, default=20
            The number of labels in the table. If there are more, a quarter of it are the most
            frequent ones, and means over labels of like rarity follow.
        """
        return draw_text(self, top)

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        title: str = "Imbalance profile",
        after: ImbalanceProfile | None = None,
    ) -> str:
        """Return a page about the data, and write it to a file; it opens offline.

        A summary, all labels in a table to search and sort, labels that occur together,
        labelsets, what neighbors know, rows that look mislabelled, folds and a map. What to do
        about the imbalance is for `labelance.advise` to say. What the page needs beyond this
        profile is taken from X and y, of which the profile keeps a reference; a pickle or a copy
        of a profile has none, and makes no page.

        Parameters
        ----------
        path : str or path, optional
            Where to write the page, one file that needs nothing else.
        title : str, default="Imbalance profile"
            The heading.
        after : ImbalanceProfile, optional
            The profile of the same data after a sampler: the page shows both, side by side.

        Returns
        -------
        page : str
            The page itself.

        Raises
        ------
        InputError
            If a profile was unpickled or copied, or the two are not of the same labels.

        Examples
        --------
        >>> from labelance.imbalance import profile
        >>> page = profile(None, [[1, 0], [1, 1], [1, 0]]).to_html(title="Three rows")
        >>> page.count("<title>Three rows</title>")
        1
        """
        page = draw_page(self, after, title=title)
        if path is not None:
            with replace_when_done(path) as temporary:
                temporary.write_text(page, encoding="utf-8", newline="\n")
        return page

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return draw_html(self)


def profile(
    X: Any,
    y: Any,
    *,
    n_neighbors: int | None = 5,
    scale: Scale = None,
    metric: Metric = "euclidean",
    categorical_features: CategoricalFeatures = None,
    missing: Literal["error", "distance"] = "error",
    neighborhood: HasIndices | None = None,
    variant: Variant = "paper",
    label_names: Sequence[Any] | None = None,
    feature_names: Sequence[Any] | None = None,
    subsample: int | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> ImbalanceProfile:
    """Take all measures of imbalance of a multi-label dataset.

    Parameters
    ----------
    X : array-like, sparse, data frame, list of texts or None
        The features, of shape (n_samples, n_features). None leaves out what needs them. Texts
        (a list of them, or columns of a frame) become the TF-IDF of their words; these, columns of
        vectors and the rest of the table count alike in distances. Ids and dates are left out.
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones. Unknown cells (NaN) are left out and counted: measures of single
        labels and types are those of known cells, and measures of whole rows are nan.
    n_neighbors : int or None, default=5
        The number of neighbors to type the minority cells with; None leaves the types out,
        and with them the search for neighbors, by far the longest part.
    scale, metric, categorical_features, missing, n_jobs, verbose
        How to find neighbors, as for `labelance.neighbors.find_neighbors`.
    neighborhood : Neighborhood, optional
        Neighbors already found, or any object with ``indices``; they are used instead of a
        search, and ``n_neighbors`` is theirs.
    variant : {"paper", "mulan"}, default="paper"
        The rule for rare cells, the paper's or its authors' program's, as for `local_distribution`.
    label_names : sequence, optional
        Names of the labels; by default the column names of y, or their numbers.
    feature_names : sequence, optional
        Names of the features, for the page; by default the column names of X, or their numbers.
    subsample : int or None, default=None
        Search neighbors only of this many rows, drawn at random but always the same, and among
        them; None takes all. The time of a search grows with the square of the rows. It has no
        effect on neighbors already found.

    Returns
    -------
    ImbalanceProfile
        A frozen value that prints well.

    Examples
    --------
    >>> from labelance.imbalance import profile
    >>> X = [[0.0], [1.0], [2.1], [3.3], [7.0], [8.2]]
    >>> y = [[1, 1, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 0, 0]]
    >>> profile(X, y, n_neighbors=2)
    6 rows, 1 feature, 3 labels
    <BLANKLINE>
    cardinality  0.833    MeanIR   1.250    SCUMBLE     0.007
    density      0.278    CVIR     0.283    SCUMBLE.CV  1.549
    labelsets        3    MeanImR  1.500    TCS         2.197
    seen once    33.3%
    <BLANKLINE>
    minority cells, k=2: 0 safe (0%), 1 borderline (20%), 0 rare (0%), 4 outlier (80%)
    <BLANKLINE>
    label  count  IRLbl    ImR  SCUMBLE  minority  SF  BD  RR  OT
    1          2  1.500  2.000    0.020         1   0   0   0   2
    0          3  1.000  1.000    0.013         1   0   1   0   2
    2          0      -      -        -         1   0   0   0   0
    <BLANKLINE>
    1 constant label: 2
    """
    labels = validate_labels(y, caller="profile", needs_all=None)
    n_samples = labels.Y.shape[0]
    read_as = None
    # Without neighbors, columns of a frame are counted only, and may hold anything.
    if categorical_features is None and (n_neighbors is not None or not hasattr(X, "columns")):
        X, read_as, feature_names = _read_columns(X, feature_names)
    n_features = None if X is None else count_features(X, n_samples, caller="profile")
    rows = None
    if neighborhood is None and X is not None and n_neighbors is not None:
        rows = _draw_rows(n_samples, subsample)
        neighborhood = find_neighbors_for(
            "profile",
            X if rows is None else take_rows(X, rows),
            n_neighbors,
            metric=metric,
            scale=scale,
            categorical_features=categorical_features,
            missing=missing,
            n_jobs=n_jobs,
            verbose=verbose,
            judge_scales=True,
        )
    local = None
    if neighborhood is not None:
        Y = mark_unknown(labels.Y, labels.unknown)
        local = local_distribution(Y if rows is None else Y[rows], neighborhood, variant=variant)
    data = ProfiledData(
        X=X,
        Y=labels.Y,
        unknown=labels.unknown,
        categorical_features=categorical_features,
        feature_names=_check_feature_names(feature_names, n_features),
        scale=scale,
        metric=metric,
        rows=rows,
        neighborhood=neighborhood,
        local=local,
    )
    names = labels.names or tuple(range(labels.Y.shape[1]))
    if label_names is not None:
        names = check_label_names(label_names, labels.Y.shape[1], caller="profile")
    return _assemble(names, n_features, data, read_as)


def _read_columns(X: Any, names: Sequence[Any] | None) -> tuple[Any, str | None, Any]:
    """Return X as a table of numbers, how texts and vectors in it were read, and column names."""
    try:
        groups, blocks = ColumnGroups.fit(X, caller="profile")
    except NothingLeftError as error:
        return None, f"left out: {error.found}", None
    if groups.whole:
        return X, None, names
    joined, names = groups.join(blocks, caller="profile")
    return joined, groups.summary(), names


def _draw_rows(n_samples: int, subsample: int | None) -> NDArray[np.intp] | None:
    """Return the rows to search among, in order; None means all."""
    if subsample is None:
        return None
    check_positive("subsample", subsample, caller="profile")
    if subsample >= n_samples:
        return None
    return np.sort(np.random.default_rng(0).permutation(n_samples)[:subsample])


def _check_feature_names(
    names: Sequence[Any] | None, n_features: int | None
) -> tuple[Any, ...] | None:
    """Return the names if there is one for every feature; without features there are none."""
    if names is None or n_features is None:
        return None
    names = tuple(names)
    if len(names) != n_features:
        raise InputError(f"profile needs {n_features} feature names", f"Got {len(names)}")
    return names


def _assemble(
    names: tuple[Any, ...],
    n_features: int | None,
    data: ProfiledData,
    read_as: str | None,
) -> ImbalanceProfile:
    Y, unknown, local = data.Y, data.unknown, data.local
    n_samples, n_labels = Y.shape
    counts, n_known = column_counts(Y), count_known(Y, unknown)
    varying_Y, varying = drop_full(Y, counts, n_known)
    ratios, within = find_irlbl(varying), find_imr(counts, n_known)
    # Measures of whole rows are not defined where some of their labels are unknown.
    whole, nothing = unknown is None, np.full(n_labels, np.nan)
    concurrence = find_scumble(varying_Y, varying) if whole else np.full(n_samples, np.nan)
    sets = find_labelsets(Y) if whole else None
    n_labelsets = math.nan if sets is None else len(sets)
    density = Y.nnz / n_samples / n_labels if whole else Y.nnz / max(int(n_known.sum()), 1)
    return ImbalanceProfile(
        n_samples=n_samples,
        n_features=n_features,
        n_labels=n_labels,
        cardinality=Y.nnz / n_samples if whole else math.nan,
        density=density,
        n_labelsets=n_labelsets,
        share_single_labelsets=math.nan if sets is None else sets.share_single,
        mean_ir=mean_where_defined(ratios),
        cvir=variation(ratios),
        mean_imr=mean_where_defined(within),
        scumble=float(concurrence.mean()),
        scumble_cv=variation(concurrence),
        tcs=None if n_features is None else find_tcs(n_features, n_labels, n_labelsets),
        n_neighbors=None if local is None else local.n_neighbors,
        n_searched=None if local is None else local.types.shape[0],
        label_names=names,
        label_counts=counts,
        n_unknown=n_samples - n_known,
        irlbl=ratios,
        imr=within,
        scumble_labels=(find_scumble_labels(varying_Y, varying, concurrence) if whole else nothing),
        minority_value=minority_values(Y, unknown),
        type_counts=None if local is None else local.type_counts,
        _data=data,
        read_as=read_as,
    )


def _plain(value: Any) -> Any:
    """Return what JSON can say: numbers and None as they are, nan as None, the rest in words."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return value if value is None or isinstance(value, int | float) else str(value)
