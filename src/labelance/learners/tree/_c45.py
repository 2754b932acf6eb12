"""C4.5 as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from labelance._arrays import has_categories
from labelance._validation import Schema, validate_features, validate_like
from labelance.exceptions import InputError
from labelance.learners.tree._columns import categories_of_features, nominal_columns
from labelance.learners.tree._fit import grow_forest
from labelance.learners.tree._measure import depth_of, importances_of, leaf_of
from labelance.learners.tree._problems import class_problems
from labelance.learners.tree._rules import make_rules
from labelance.learners.tree._sprouts import LEAF
from labelance.learners.tree._table import prepare
from labelance.learners.tree._text import text_of

_NUMBERS: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": np.float64,
    "ensure_all_finite": "allow-nan",
}


class C45Classifier(ClassifierMixin, BaseEstimator):
    """A C4.5 decision tree, equal to Weka's J48.

    Splits are chosen by gain ratio among those of at least average gain: thresholds on numeric
    features, one branch per category on nominal ones. Rows with a missing value (NaN) go down
    all branches with a part of their weight. The full tree is collapsed and pruned
    pessimistically, with subtree raising.

    Parameters
    ----------
    confidence : float, default=0.25
        Confidence of the pessimistic error estimate (``-C``); smaller prunes more.
    min_leaf : int, default=2
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
        Weights of the classes, multiplied with ``sample_weight``.

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

    def __init__(
        self,
        *,
        confidence: float = 0.25,
        min_leaf: float = 2,
        prune: bool = True,
        subtree_raising: bool = True,
        collapse: bool = True,
        mdl_correction: bool = True,
        categorical_features: ArrayLike | None = None,
        n_categories: ArrayLike | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
    ) -> None:
        self.confidence = confidence
        self.min_leaf = min_leaf
        self.prune = prune
        self.subtree_raising = subtree_raising
        self.collapse = collapse
        self.mdl_correction = mdl_correction
        self.categorical_features = categorical_features
        self.n_categories = n_categories
        self.class_weight = class_weight

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
        rules = make_rules(
            min_leaf=self.min_leaf,
            confidence=self.confidence,
            mdl_correction=self.mdl_correction,
            collapse=self.collapse,
            prune=self.prune,
            subtree_raising=self.subtree_raising,
        )
        X, y = self._open(X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        nominal = nominal_columns(
            self.categorical_features,
            X.shape[1],
            getattr(self, "feature_names_in_", None),
        )
        categories = categories_of_features(X, nominal, self.n_categories, self._schema)
        weight = self._weights(X, y, sample_weight)
        if weight is not None and not np.all(weight > 0):
            X, codes, weight = X[weight > 0], codes[weight > 0], weight[weight > 0]
        problem = class_problems(codes[:, None], len(self.classes_))
        self.forest_ = grow_forest(prepare(X, categories), problem, rules, weight=weight)
        return self

    def _open(self, X: Any, y: ArrayLike) -> tuple[Any, NDArray[Any]]:
        """Return clean rows, categories of a data frame as codes, and their classes."""
        self._schema = None
        if not has_categories(X):
            return validate_data(self, X, y, **_NUMBERS)
        y = validate_data(self, y=y)
        validate_data(self, X, skip_check_array=True)
        features = validate_features(X, who="C45Classifier", missing="keep")
        check_consistent_length(features.X, y)
        self._schema = features.schema()
        return features.X.astype(np.float64, copy=False), y

    def _weights(
        self, X: Any, y: NDArray[Any], sample_weight: ArrayLike | None
    ) -> NDArray[np.float64] | None:
        """Return the weights of the rows, None if all are 1."""
        if sample_weight is None and self.class_weight is None:
            return None
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        weight = weight * compute_sample_weight(self.class_weight, y)
        if not np.any(weight > 0):
            raise InputError(
                "C45Classifier needs rows to learn from",
                "every row has weight 0",
                "Give some row a positive weight",
            )
        return None if np.all(weight == 1) else weight

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        schema = self._schema
        if schema is None or not (schema.categories or schema.decoders):
            return validate_data(self, X, reset=False, **_NUMBERS)
        validate_data(self, X, skip_check_array=True, reset=False)
        clean = validate_like(X, schema, who="C45Classifier")
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
        return leaf_of(self.forest_, X)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Each feature's share of the entropy that the splits take away."""
        check_is_fitted(self)
        return importances_of(self.forest_)

    def get_depth(self) -> int:
        """Return the number of splits on the longest way from the root to a leaf."""
        check_is_fitted(self)
        return depth_of(self.forest_)

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
        return text_of(self.forest_, names, classes, _words(self._schema), decimals)

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
