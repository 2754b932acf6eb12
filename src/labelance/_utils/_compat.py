"""Private names of other projects: the only file that takes any.

None of them has a public twin. ``CHECKED`` has the versions they were checked on; pyproject.toml
allows no others. When a release drops or changes one, ``tests/test_compat.py`` fails first and
names it.

Names are imported on first use, because the command line needs no scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# First and last version of each project that passed all tests.
CHECKED = {"scikit-learn": ("1.7.0", "1.9.1")}

# Our name: where it lies, and its name there.
PRIVATE = {
    # Constraints that an estimator declares in ``_parameter_constraints``.
    "HasMethods": "sklearn.utils._param_validation:HasMethods",
    "Interval": "sklearn.utils._param_validation:Interval",
    "RealNotInt": "sklearn.utils._param_validation:RealNotInt",
    "StrOptions": "sklearn.utils._param_validation:StrOptions",
    # The error of a parameter that breaks its constraint, and the check of a function's parameters.
    "InvalidParameterError": "sklearn.utils._param_validation:InvalidParameterError",
    "validate_params": "sklearn.utils._param_validation:validate_params",
    # Decorator of ``fit``: check the parameters, and skip the check of inner estimators.
    "fit_context": "sklearn.base:_fit_context",
    # ``get_params`` and ``set_params`` of an estimator that holds a list of named estimators.
    "BaseComposition": "sklearn.utils.metaestimators:_BaseComposition",
    # Weights of rows as an array, with the messages that ``check_estimator`` expects.
    "check_sample_weight": "sklearn.utils.validation:_check_sample_weight",
    # Number of rows of anything that scikit-learn takes, a list or a frame among others.
    "num_samples": "sklearn.utils.validation:_num_samples",
}


def __getattr__(name: str) -> Any:
    if name not in PRIVATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, their_name = PRIVATE[name].partition(":")
    found = globals()[name] = getattr(import_module(module), their_name)
    return found


def drop_node_values(tree: Any) -> None:
    """Drop what a fitted tree of scikit-learn predicts, but for its first output.

    ``apply`` needs no more than the splits. The state of a tree is what it is pickled as.
    """
    kind, (n_features, n_classes, _), state = tree.tree_.__reduce__()
    tree.tree_ = kind(n_features, n_classes[:1], 1)
    tree.tree_.__setstate__({**state, "values": state["values"][:, :1].copy()})


def parameter_names(estimator: type) -> list[str]:
    """Return the sorted parameters of an estimator's class, without making one.

    ``inspect.signature`` of a class shows ``__new__`` where there is one, and not ``__init__``.
    """
    return sorted(estimator._get_param_names())  # type: ignore[attr-defined]
