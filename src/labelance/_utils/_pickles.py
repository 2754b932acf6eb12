"""Saved estimators: say so when another version opens them."""

from __future__ import annotations

from typing import Any

from labelance._utils._messages import warn_user


class MarksVersion:
    """Base of estimators whose pickles carry the version that wrote them.

    Another version warns as scikit-learn does for its own estimators, which mark themselves alone.

    Examples
    --------
    >>> import pickle
    >>> from labelance import MLSOL
    >>> pickle.loads(pickle.dumps(MLSOL(k_neighbors=3)))
    MLSOL(k_neighbors=3)
    """

    def __getstate__(self) -> dict[str, Any]:
        """Return what is saved: all attributes, and the version."""
        from labelance import __version__

        state: Any = super().__getstate__()
        return {**state, "_labelance_version": __version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over saved attributes, and warn if another version saved them."""
        from labelance import __version__

        state = dict(state)
        saved_by = state.pop("_labelance_version", "unknown")
        if saved_by != __version__:
            from sklearn.exceptions import InconsistentVersionWarning

            warn_user(
                InconsistentVersionWarning(
                    estimator_name=f"{type(self).__name__} (labelance)",
                    current_sklearn_version=__version__,
                    original_sklearn_version=saved_by,
                ),
                InconsistentVersionWarning,
            )
        super().__setstate__(state)  # type: ignore[misc]
