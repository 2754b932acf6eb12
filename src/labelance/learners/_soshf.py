"""SOSHF: a forest whose oblique splits part rare labelsets from the rest by Hellinger distance."""

from __future__ import annotations

from math import ceil, inf, sqrt
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.utils._param_validation import Interval

from labelance._utils import RandomStateLike, as_generator
from labelance._validation import Data, validate_features
from labelance.exceptions import InputError
from labelance.learners._base import BaseMultiLabelClassifier
from labelance.learners._soshf_forest import Forest, Rules, grow_tree, join_forests
from labelance.learners._soshf_split import Search

_LARGEST = 1e150  # of the numbers in X: the square of one, times any number of rows, is finite


class SOSHF(BaseMultiLabelClassifier):
    """Sparse oblique structured Hellinger forest: a reconstruction from the abstract.

    **This is a reconstruction.** It follows the abstract of Daniels and Metaxas [1]_, which
    names a structured forest with two changes: labels become one target in a cost-sensitive
    way at every node, and splits are oblique and chosen by Hellinger distance. How exactly
    is ours (see Notes). Do not report its figures as theirs.

    Parameters
    ----------
    n_estimators : int, default=50
        Number of trees.
    max_depth : int, default=None
        Largest depth of a leaf; None is no limit.
    min_samples_leaf : int, default=5
        Least number of rows of a leaf.
    max_features : int, default=None
        Number of features drawn for every node; None is the square root of all, rounded up.
    l1 : float, default=1e-3
        Price of the coefficients of a split; larger means fewer features in a split.
    steepness : float, default=4
        How hard the soft split is that the coefficients are found with.
    restarts : int, default=3
        Number of starts of the search for a direction: the difference of class means, and
        random sparse directions.
    bootstrap : bool, default=True
        Draw the rows of every tree with replacement.
    random_state : int, RandomState, Generator or None, default=None
        One stream a tree; the same int gives the same forest for any ``n_jobs``.
    n_jobs : int, default=None
        Number of trees grown at a time.

    Attributes
    ----------
    forest_ : Forest
        The trees, in flat arrays.
    n_labels_ : int
        Number of labels.
    label_names_ : tuple or None
        Their names, where Y is a data frame.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Names of the features, where X has names that are strings.

    See Also
    --------
    labelance.ensemble.LabelThresholds : A threshold for every label instead of 0.5.

    Notes
    -----
    A node with n rows, in which a share p_j has label j, is split like this:

    1. Every label that is not constant has the cost ``omega_j = 1 / (p_j + 1 / n)``, scaled
       to sum 1: rare labels count more.
    2. 2-means of the vectors ``sqrt(omega) y`` makes two classes. The smaller is "plus".
    3. On some random features, standardised in the node with equal weight for both classes,
       ``H(a, b) - l1 |a|_1`` is maximised over ``|a|_2 <= 1`` by proximal gradient steps. H
       is the Hellinger distance of the classes from their mean ``sigmoid(steepness (a x - b))``.
       It knows shares of classes only, and so it does not matter how rare a class is.
    4. b is then the midpoint with the largest Hellinger distance of the hard split
       ``a x > b``. If a single feature does better, it is taken instead.

    A node is a leaf if all its labels or all features are constant, if it has fewer than twice
    ``min_samples_leaf`` rows, or if no split has a Hellinger distance above 0. A leaf holds the
    mean label vector of its rows; the score of a label is the mean over trees, and the label
    is predicted from 0.5 on.

    References
    ----------
    .. [1] Z. A. Daniels and D. N. Metaxas, Addressing imbalance in multi-label classification
           using structured Hellinger forests. AAAI 2017, 1826-1832.
    .. [2] P. Dollár and C. L. Zitnick, Structured forests for fast edge detection. ICCV 2013.
    .. [3] D. A. Cieslak and N. V. Chawla, Learning decision trees for unbalanced data. ECML
           PKDD 2008.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.learners import SOSHF
    >>> X, Y = make_multilabel_imbalanced(200, random_state=0)
    >>> forest = SOSHF(n_estimators=5, random_state=0).fit(X, Y)
    >>> forest.predict_proba(X).shape
    (200, 10)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "l1": [Interval(Real, 0, None, closed="left")],
        "steepness": [Interval(Real, 0, None, closed="neither")],
        "restarts": [Interval(Integral, 1, None, closed="left")],
        "bootstrap": ["boolean"],
        "random_state": ["random_state", np.random.Generator],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_estimators: int = 50,
        *,
        max_depth: int | None = None,
        min_samples_leaf: int = 5,
        max_features: int | None = None,
        l1: float = 1e-3,
        steepness: float = 4,
        restarts: int = 3,
        bootstrap: bool = True,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.l1 = l1
        self.steepness = steepness
        self.restarts = restarts
        self.bootstrap = bootstrap
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, data: Data, X: Any) -> None:
        if data.categorical.any():
            raise InputError(
                "SOSHF needs numbers in X, since it adds features up",
                f"{int(data.categorical.sum())} of its columns are categorical",
                "Turn them into numbers first, for example with sklearn's OneHotEncoder",
            )
        _refuse_missing(data.X, X)
        _refuse_huge(data.X)
        rules = self._rules(data.X.shape[1])
        streams = as_generator(self.random_state).spawn(self.n_estimators)
        trees = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_grow)(data.X, data.Y, self.bootstrap, rules, stream) for stream in streams
        )
        self.forest_ = join_forests(trees)

    def _rules(self, d: int) -> Rules:
        drawn = ceil(sqrt(d)) if self.max_features is None else min(self.max_features, d)
        return Rules(
            max_depth=inf if self.max_depth is None else self.max_depth,
            n_features=drawn,
            restarts=self.restarts,
            search=Search(self.min_samples_leaf, float(self.l1), float(self.steepness)),
        )

    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        _refuse_missing(clean, X)
        return self.forest_.scores(clean)


def _grow(
    X: Any, Y: sp.csr_array, bootstrap: bool, rules: Rules, rng: np.random.Generator
) -> Forest:
    n = Y.shape[0]
    rows = np.sort(rng.integers(n, size=n)) if bootstrap else np.arange(n)
    return grow_tree(X, Y, rows, rules, rng)


def _refuse_missing(clean: Any, X: Any) -> None:
    stored = clean.data if sp.issparse(clean) else clean
    if np.isnan(stored).any():
        validate_features(X, who="SOSHF", missing="error")  # says which columns have them


def _refuse_huge(X: Any) -> None:
    """Raise for numbers whose squares, of which a split adds up many, are not finite."""
    largest = max(float(X.max()), -float(X.min()))
    if largest > _LARGEST:
        raise InputError(
            f"SOSHF needs numbers up to {_LARGEST:g} in X, since it squares them",
            f"X holds one of the size {largest:g}",
            "Bring them down first, for example with sklearn.preprocessing.MaxAbsScaler",
        )
