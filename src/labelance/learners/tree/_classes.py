"""C4.5 as a scikit-learn classifier, and many C4.5 trees over one X.

For many trees, columns are sorted once, and a block of problems is one compiled call.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import log
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from labelance._arrays._containers import has_categories
from labelance._arrays._sparse import check_structure
from labelance._progress import Progress, loop
from labelance._utils._compat import Interval, StrOptions, check_sample_weight, fit_context
from labelance._utils._pickles import MarksVersion
from labelance._validation._arguments import read_weights
from labelance._validation._data import Schema, validate_features, validate_like
from labelance.exceptions import InputError
from labelance.learners.tree._data import (
    CellIndex,
    Problems,
    TreeData,
    categories_of_features,
    check_problems,
    class_problems,
    index_cells,
    offsets,
    prepare_data,
)
from labelance.learners.tree._growing import grow_and_prune
from labelance.learners.tree._tree import (
    LEAF,
    Forest,
    apply_tree,
    feature_importances,
    tree_depth,
    tree_text,
)

_FEW_CLASSES = 16  # up to this many, counting every class of every feature pays
_MOST_BITS = 1 << 29  # of a set of rows for every feature: 64 MB
_WORK_PER_BLOCK = 1 << 22  # rows and features of the problems that are grown in one call
_NUMBERS: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": np.float64,
    "ensure_all_finite": "allow-nan",
}


class C45Classifier(MarksVersion, ClassifierMixin, BaseEstimator):
    """A C4.5 decision tree, equal to Weka's J48.

    Splits are chosen by gain ratio among those of at least average gain: thresholds on numeric
    features, one branch per category on nominal ones. Rows with a missing value (NaN) go down
    all branches with a part of their weight. The full tree is collapsed and pruned
    pessimistically, with subtree raising.

    Parameters
    ----------
    confidence : float, default=0.25
        Confidence of the pessimistic error estimate (``-C``); smaller prunes more.
    min_samples_leaf : int, default=2
        At least two branches of a split have this weight (``-M``).
    prune : bool, default=True
        Prune the grown tree; False is ``-U``.
    subtree_raising : bool, default=True
        When pruning, let a node be replaced by its heaviest branch; False is ``-S``.
    collapse : bool, default=True
        Make leaves of subtrees that make no fewer errors on the training rows; False is ``-O``.
    mdl_correction : bool, default=True
        Charge numeric splits for the choice of their threshold; False is ``-J``.
    categorical_features : array-like of bool, int or str, default=None
        Nominal features as a mask, column numbers or column names; their cells are codes
        0, 1, … A data frame's categorical columns are always nominal, and need no codes. None
        means that all other features are numeric.
    n_categories : int or array-like of int, default=None
        Declared number of categories of the nominal features (one number for all, or one per
        nominal feature). A declared category that no training row has becomes a branch
        without rows, as in Weka; an undeclared one counts as missing when predicted. None
        declares the codes up to the largest one in the training rows, at least 0 and 1.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with ``sample_weight``. "balanced" gives all classes
        the same total weight; a row of ``sample_weight`` 2 counts as two rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names that are strings.
    forest_ : Forest
        The tree, in flat arrays; a forest of one.

    Notes
    -----
    Trees equal those of ``weka.classifiers.trees.J48`` for rows of weight 1. A row of weight w
    counts like w equal rows, everywhere; Weka counts it as one row where it looks at the
    number of rows.

    References
    ----------
    .. [1] J. R. Quinlan, C4.5: Programs for Machine Learning. Morgan Kaufmann, 1993.
    .. [2] J. R. Quinlan, Improved use of continuous attributes in C4.5. Journal of Artificial
           Intelligence Research 4, 1996.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from labelance.learners import C45Classifier
    >>> iris = load_iris(as_frame=True)
    >>> tree = C45Classifier().fit(iris.data, iris.target)
    >>> print(tree.export_text())
    petal width (cm) <= 0.6: 0 (50)
    petal width (cm) > 0.6
    |   petal width (cm) <= 1.7
    |   |   petal length (cm) <= 4.9: 1 (48/1)
    |   |   petal length (cm) > 4.9
    |   |   |   petal width (cm) <= 1.5: 2 (3)
    |   |   |   petal width (cm) > 1.5: 1 (3/1)
    |   petal width (cm) > 1.7: 2 (46/1)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "min_samples_leaf": [Interval(Real, 1, None, closed="left")],
        "prune": ["boolean"],
        "subtree_raising": ["boolean"],
        "collapse": ["boolean"],
        "mdl_correction": ["boolean"],
        "categorical_features": ["array-like", None],
        "n_categories": [Interval(Integral, 1, None, closed="left"), "array-like", None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        *,
        confidence: float = 0.25,
        min_samples_leaf: float = 2,
        prune: bool = True,
        subtree_raising: bool = True,
        collapse: bool = True,
        mdl_correction: bool = True,
        categorical_features: ArrayLike | None = None,
        n_categories: ArrayLike | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
    ) -> None:
        self.confidence = confidence
        self.min_samples_leaf = min_samples_leaf
        self.prune = prune
        self.subtree_raising = subtree_raising
        self.collapse = collapse
        self.mdl_correction = mdl_correction
        self.categorical_features = categorical_features
        self.n_categories = n_categories
        self.class_weight = class_weight

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> C45Classifier:
        """Grow and prune the tree.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The training rows; NaN is a missing value.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), optional
            Their weights; rows of weight 0 are left out.

        Returns
        -------
        C45Classifier
            Itself.
        """
        X, y = self._open(X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        names = getattr(self, "feature_names_in_", None)
        names = None if names is None else tuple(names)
        categories = categories_of_features(
            X, self.categorical_features, self.n_categories, names, self._schema
        )
        if sample_weight is not None:
            sample_weight = read_weights(sample_weight, caller="C45Classifier")
        weight = self._weights(X, y, sample_weight)
        if weight is not None and not np.all(weight > 0):
            X, codes, weight = X[weight > 0], codes[weight > 0], weight[weight > 0]
        problem = class_problems(codes[:, None], len(self.classes_))
        self.forest_ = grow_forest(
            prepare_data(X, categories), problem, options_of(self), weight=weight
        )
        return self

    def _open(self, X: Any, y: ArrayLike) -> tuple[Any, NDArray[Any]]:
        """Return clean rows, categories of a data frame as codes, and their classes."""
        self._schema = None
        check_structure(X, "X")
        if not has_categories(X):
            X, y = validate_data(self, X, y, **_NUMBERS)
            return X, np.asarray(y)
        y = validate_data(self, y=y)
        features = validate_features(X, caller="C45Classifier", missing="keep")
        validate_data(self, X, skip_check_array=True)
        check_consistent_length(features.X, y)
        self._schema = features.schema()
        return features.X.astype(np.float64, copy=False), np.asarray(y)

    def _weights(
        self, X: Any, y: NDArray[Any], sample_weight: ArrayLike | None
    ) -> NDArray[np.float64] | None:
        """Return the weights of the rows, None if all are 1."""
        if sample_weight is None and self.class_weight is None:
            return None
        weight = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if self.class_weight == "balanced":
            weight = weight * _balancing_weights(y, weight)
        else:
            weight = weight * compute_sample_weight(self.class_weight, y)
        if not np.any(weight > 0):
            raise InputError(
                "C45Classifier needs rows with a positive weight", "Every row has weight 0"
            )
        return None if np.all(weight == 1) else weight

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        check_structure(X, "X")
        schema = self._schema
        if schema is None or not (schema.categories or schema.decoders):
            return validate_data(self, X, reset=False, **_NUMBERS)
        validate_data(self, X, skip_check_array=True, reset=False)
        clean = validate_like(X, schema, caller="C45Classifier")
        return clean.astype(np.float64, copy=False)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of every class: its share of the weight in the leaf.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        X = self._rows(X)
        return self.forest_.predict_proba(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of every row, the first of equals.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        proba = self.predict_proba(X)
        return self.classes_[np.argmax(proba, axis=1)]

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Return the number of the leaf that every row reaches.

        Where a value is missing the row follows the heaviest branch.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        X = self._rows(X)
        return apply_tree(self.forest_, X)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Each feature's share of the entropy that the splits take away."""
        check_is_fitted(self)
        return feature_importances(self.forest_)

    def get_depth(self) -> int:
        """Return the number of splits on the longest way from the root to a leaf."""
        check_is_fitted(self)
        return tree_depth(self.forest_)

    def get_n_leaves(self) -> int:
        """Return the number of leaves, those that no training row reached included."""
        check_is_fitted(self)
        return int(np.count_nonzero(self.forest_.feature == LEAF))

    def export_text(self, *, decimals: int = 2) -> str:
        """Return the tree as text, one line per branch.

        A leaf tells its class, and in brackets the weight of its training rows and, after a
        slash, of those of other classes.

        Parameters
        ----------
        decimals : int, default=2
            Decimals of weights; thresholds have four significant digits more.

        Returns
        -------
        str
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{f}" for f in range(self.n_features_in_)]
        classes = [str(c) for c in self.classes_]
        return tree_text(self.forest_, names, classes, _words(self._schema), decimals)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags


def _words(schema: Schema | None) -> dict[int, list[str]]:
    """Return the categories of the features that have names or values for them."""
    if schema is None:
        return {}
    values = {j: [f"{value:g}" for value in known] for j, known in schema.decoders.items()}
    return values | {j: list(words) for j, words in schema.categories.items()}


def _balancing_weights(y: NDArray[Any], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights of rows that make classes equally heavy; rows of weight 0 do not count.

    scikit-learn's "balanced" counts rows, whatever they weigh.
    """
    _, codes = np.unique(y, return_inverse=True)
    heavy = np.bincount(codes, weight)[codes]
    n_classes = len(np.unique(codes[weight > 0]))
    return np.divide(weight.sum(), n_classes * heavy, out=np.zeros(len(y)), where=heavy > 0)


class C45Options(NamedTuple):
    """Parameters of :class:`C45Classifier` as compiled code takes them."""

    min_samples_leaf: float = 2
    confidence: float = 0.25
    mdl_correction: bool = True
    collapse: bool = True
    prune: bool = True
    subtree_raising: bool = True


def options_of(estimator: C45Classifier) -> C45Options:
    """Return the parameters of a classifier that compiled code takes."""
    return C45Options(*(getattr(estimator, name) for name in C45Options._fields))


def fit_many(
    X: Any,
    problems: Problems,
    *,
    categorical_features: ArrayLike | None = None,
    n_categories: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    **options: Any,
) -> Forest:
    """Fit one C4.5 tree per problem over the same X.

    Each tree equals the one that :class:`~labelance.learners.C45Classifier` grows for its
    problem alone, but the columns of X are sorted once, and trees are grown and asked in few
    compiled calls.

    Parameters
    ----------
    X : array, sparse matrix of shape (n, d), or TreeData
        The rows; NaN is a missing value. What :func:`prepare_data` made of them serves again.
    problems : Problems
        Rows and classes of every problem, see :func:`label_problems`, :func:`pair_problems`,
        :func:`class_problems` and :func:`subset_problems`.
    categorical_features, n_categories : array-like, optional
        Nominal features and their numbers of categories, as in C45Classifier. A TreeData
        has them already.
    sample_weight : array-like of shape (n,), optional
        Positive weights of the rows of X, the same for all problems.
    n_jobs : int, optional
        Number of threads; the trees do not depend on it.
    **options
        ``confidence``, ``min_samples_leaf``, ``prune``, ``subtree_raising``, ``collapse`` and
        ``mdl_correction`` of C45Classifier.

    Returns
    -------
    Forest
        All trees, in the order of the problems.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.learners.tree import fit_many, label_problems
    >>> X = np.arange(12.0)[:, None]
    >>> y = np.column_stack([X[:, 0] > 5, X[:, 0] < 3])
    >>> forest = fit_many(X, label_problems(y))
    >>> forest.predict_proba([[2.0], [9.0]])[:, 1::2]
    array([[0., 1.],
           [1., 0.]])
    """
    chosen = C45Options(**options)
    C45Classifier(**chosen._asdict())._validate_params()
    if not isinstance(X, TreeData):
        check_structure(X, "X")
        X = check_array(X, **_NUMBERS)
        X = prepare_data(X, categories_of_features(X, categorical_features, n_categories))
    check_problems(problems, X.n_rows)
    weight = None
    if sample_weight is not None:
        weight = check_sample_weight(sample_weight, np.empty((X.n_rows, 1)), dtype=np.float64)
        if not np.all(weight > 0):
            raise InputError(
                "The weights of fit_many must be positive", "Some weights are 0 or less"
            )
    return grow_forest(X, problems, chosen, weight=weight, n_jobs=n_jobs)


def grow_forest(
    data: TreeData,
    problems: Problems,
    options: C45Options,
    *,
    weight: NDArray[np.float64] | None = None,
    n_jobs: int | None = None,
) -> Forest:
    """Grow and prune one tree per problem over a prepared X; see :func:`fit_many`."""
    edges = _block_edges(data, problems, effective_n_jobs(n_jobs))
    complete, index = data.complete, index_cells(data, problems)
    with loop("Growing trees", len(problems), "trees") as progress:
        blocks = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(_grow_block)(
                data, index, problems.take(a, b), weight, complete, options, progress
            )
            for a, b in pairwise(edges)
        )
    return blocks[0] if len(blocks) == 1 else Forest.join(blocks)


def _block_edges(data: TreeData, problems: Problems, n_jobs: int) -> list[int]:
    """Cut the problems into blocks of like work, several per thread to even out surprises."""
    work = np.cumsum(problems.sizes(data.n_rows) + data.n_features)
    n_blocks = max(-(-int(work[-1]) // _WORK_PER_BLOCK), 1 if n_jobs == 1 else 4 * n_jobs)
    cuts = np.searchsorted(work, work[-1] * np.arange(1, n_blocks) / n_blocks)
    return np.unique([0, *cuts, len(problems)]).tolist()


def _grow_block(
    data: TreeData,
    index: CellIndex,
    problems: Problems,
    weight: NDArray[np.float64] | None,
    complete: bool,
    options: C45Options,
    progress: Progress,
) -> Forest:
    """Grow trees in the way that suits the data, and prune them: all ways give the same trees."""
    n = np.arange(problems.sizes(data.n_rows).max(initial=0) + 1, dtype=np.float64)
    logs = xlogy(n, n) / log(2)
    # What a choice of 0, 1, 2, … cuts takes from n times the gain: its log2.
    prices = logs / np.maximum(n, 1) if options.mdl_correction else np.zeros(len(n))
    by_counting, few = complete and weight is None, problems.n_classes.max() <= _FEW_CLASSES
    in_bits = by_counting and few and data.binary and len(logs) * data.n_features <= _MOST_BITS
    weight = np.ones(data.n_rows) if weight is None and not complete else weight
    sizes, *arrays = grow_and_prune(
        data, problems, index, weight, options, logs, prices, complete, in_bits
    )
    progress.advance(len(problems))
    return Forest(data.n_categories, problems.n_classes, offsets(sizes), *arrays)
