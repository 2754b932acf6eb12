"""The paper's ensembles by name."""

from __future__ import annotations

from typing import Any

from labelance.ensemble._emls import EMLS
from labelance.sampling import MLSOL


def EMLSOL(estimator: Any, *, sampler: MLSOL | None = None, **options: Any) -> EMLS:
    """Return EMLS over MLSOL; ``options`` are those of :class:`EMLS`.

    Examples
    --------
    >>> from labelance.ensemble import EMLSOL
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> EMLSOL(DecisionTreeClassifier(), n_estimators=3).sampler
    MLSOL()
    """
    return EMLS(estimator, sampler or MLSOL(), **options)
