"""Ensembles that bring their sampler along: those of the paper, and stacked bagging over MLSOL."""

from typing import Any

from labelance.ensemble._emls import EMLS
from labelance.ensemble._stacked_bagging import StackedBagging
from labelance.sampling import MLSMOTE, MLSOL, RHwRSMT


class EMLSOL(EMLS):
    """EMLS over MLSOL: the ensemble that the paper proposes.

    Parameters
    ----------
    estimator : classifier
        Any multi-label classifier that gives scores.
    sampler : MLSOL, optional
        One with other parameters than the defaults.
    n_estimators, objective, threshold_search, tune_on, bootstrap, max_features
        As in :class:`EMLS`.
    variant, random_state, warm_start, n_jobs, verbose
        As in :class:`EMLS`.

    Attributes
    ----------
    estimators_, estimators_features_, thresholds_, threshold_spread_
        As in :class:`EMLS`.

    See Also
    --------
    EMLS : The same over any sampler.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.ensemble import EMLSOL
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = make_multilabel_imbalanced(200, random_state=0)
    >>> tree = DecisionTreeClassifier(random_state=0)
    >>> EMLSOL(tree, n_estimators=3, random_state=0).fit(X, y).predict(X).shape
    (200, 10)
    """

    def _make_sampler(self) -> Any:
        return MLSOL() if self.sampler is None else self.sampler


class EMLSMOTE(EMLS):
    """EMLS over MLSMOTE.

    Parameters
    ----------
    estimator : classifier
        Any multi-label classifier that gives scores.
    sampler : MLSMOTE, optional
        One with other parameters than the defaults.
    n_estimators, objective, threshold_search, tune_on, bootstrap, max_features
        As in :class:`EMLS`.
    variant, random_state, warm_start, n_jobs, verbose
        As in :class:`EMLS`.

    Attributes
    ----------
    estimators_, estimators_features_, thresholds_, threshold_spread_
        As in :class:`EMLS`.

    See Also
    --------
    EMLS : The same over any sampler.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.ensemble import EMLSMOTE
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = make_multilabel_imbalanced(200, random_state=0)
    >>> tree = DecisionTreeClassifier(random_state=0)
    >>> EMLSMOTE(tree, n_estimators=3, random_state=0).fit(X, y).predict(X).shape
    (200, 10)
    """

    def _make_sampler(self) -> Any:
        return MLSMOTE() if self.sampler is None else self.sampler


class ERHwRSMT(EMLS):
    """EMLS over RHwRSMT, that is REMEDIAL and then MLSMOTE.

    Parameters
    ----------
    estimator : classifier
        Any multi-label classifier that gives scores.
    sampler : RHwRSMT, optional
        One with other parameters than the defaults.
    n_estimators, objective, threshold_search, tune_on, bootstrap, max_features
        As in :class:`EMLS`.
    variant, random_state, warm_start, n_jobs, verbose
        As in :class:`EMLS`.

    Attributes
    ----------
    estimators_, estimators_features_, thresholds_, threshold_spread_
        As in :class:`EMLS`.

    See Also
    --------
    EMLS : The same over any sampler.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.ensemble import ERHwRSMT
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = make_multilabel_imbalanced(200, random_state=0)
    >>> tree = DecisionTreeClassifier(random_state=0)
    >>> ERHwRSMT(tree, n_estimators=3, random_state=0).fit(X, y).predict(X).shape
    (200, 10)
    """

    def _make_sampler(self) -> Any:
        return RHwRSMT() if self.sampler is None else self.sampler


class MLSOLBagging(StackedBagging):
    """Stacked bagging over MLSOL.

    Parameters
    ----------
    estimator : classifier
        Any multi-label classifier that gives scores.
    sampler : MLSOL, optional
        One with other parameters than the ratio 1, of which about two fifths are left in a bag.
    n_estimators, max_features, C, objective
        As in :class:`StackedBagging`.
    threshold_search, tune_on, shrinkage, shrink_to, oob_score, variant, random_state, n_jobs,
    verbose
        As in :class:`StackedBagging`.

    Attributes
    ----------
    estimators_, estimators_features_, stacked_labels_, coef_, intercept_, thresholds_
        As in :class:`StackedBagging`.
    threshold_spread_, oob_decision_function_
        As in :class:`StackedBagging`.

    See Also
    --------
    StackedBagging : The same over any sampler.
    EMLSOL : The paper's ensemble.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.ensemble import MLSOLBagging
    >>> from labelance.learners import BinaryRelevance
    >>> X, y = make_multilabel_imbalanced(200, random_state=0)
    >>> model = MLSOLBagging(BinaryRelevance(), random_state=0).fit(X, y)
    >>> model.predict(X).shape
    (200, 10)
    """

    def _make_sampler(self) -> Any:
        return MLSOL(sampling_ratio=1.0) if self.sampler is None else self.sampler
