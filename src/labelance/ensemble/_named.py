"""The paper's ensembles by name."""

from __future__ import annotations

from typing import Any

from labelance.ensemble._emls import EMLS
from labelance.sampling import MLSMOTE, MLSOL, RHwRSMT


def EMLSOL(estimator: Any, *, sampler: Any = None, **options: Any) -> EMLS:
    """Return EMLS over MLSOL.

    Parameters
    ----------
    estimator : classifier
        Any multi-label classifier that gives scores.
    sampler : MLSOL, optional
        One with other parameters than the defaults.
    **options
        Those of :class:`EMLS`.

    Examples
    --------
    >>> from labelance.ensemble import EMLSOL
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> EMLSOL(DecisionTreeClassifier(), n_estimators=3).sampler
    MLSOL()
    """
    return EMLS(estimator, sampler or MLSOL(), **options)


def EMLSMOTE(estimator: Any, *, sampler: Any = None, **options: Any) -> EMLS:
    """Return EMLS over MLSMOTE.

    Parameters
    ----------
    estimator : classifier
        Any multi-label classifier that gives scores.
    sampler : MLSMOTE, optional
        One with other parameters than the defaults.
    **options
        Those of :class:`EMLS`.

    Examples
    --------
    >>> from labelance.ensemble import EMLSMOTE
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> EMLSMOTE(DecisionTreeClassifier(), n_estimators=3).sampler
    MLSMOTE()
    """
    return EMLS(estimator, sampler or MLSMOTE(), **options)


def ERHwRSMT(estimator: Any, *, sampler: Any = None, **options: Any) -> EMLS:
    """Return EMLS over RHwRSMT, that is REMEDIAL and then MLSMOTE.

    Parameters
    ----------
    estimator : classifier
        Any multi-label classifier that gives scores.
    sampler : RHwRSMT, optional
        One with other parameters than the defaults.
    **options
        Those of :class:`EMLS`.

    Examples
    --------
    >>> from labelance.ensemble import ERHwRSMT
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> ERHwRSMT(DecisionTreeClassifier(), n_estimators=3).sampler
    RHwRSMT()
    """
    return EMLS(estimator, sampler or RHwRSMT(), **options)
