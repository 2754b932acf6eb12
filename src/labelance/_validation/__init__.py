"""The one place that checks input; nothing behind it checks again.

A public function or method validates what it was given, once, in its first lines, and hands
clean values to a private one: ``fit_resample(X, y)`` makes a :class:`Data` for ``_plan`` and
``_draw``, ``fit(X, y)`` one for ``_fit``, ``local_distribution(y, …)`` a clean ``Y`` for
``find_local_distribution``. Inside the library only the private ones are called, with the
values that are clean already; a package lists them in its ``__init__`` for the others. So an
estimator inside another one of ours gets a :class:`Data`, never X and y as they came.
"""

from labelance._validation._arguments import (
    check_label_names,
    check_positive,
    read_weights,
    validate_groups,
    validate_weights,
)
from labelance._validation._categorical import (
    CategoricalFeatures,
    mask_of_columns,
    name_columns,
)
from labelance._validation._containers import check_no_device, check_no_other_places
from labelance._validation._data import Data, validate_data
from labelance._validation._features import (
    Features,
    MissingPolicy,
    Schema,
    validate_features,
    validate_like,
)
from labelance._validation._labels import Labels, MissingLabels, validate_labels
from labelance._validation._predictions import (
    Predicted,
    Scored,
    check_average,
    check_k,
    validate_predictions,
    validate_probabilities,
    validate_scores,
)

__all__ = [
    "CategoricalFeatures",
    "Data",
    "Features",
    "Labels",
    "MissingLabels",
    "MissingPolicy",
    "Predicted",
    "Schema",
    "Scored",
    "check_average",
    "check_k",
    "check_label_names",
    "check_positive",
    "mask_of_columns",
    "name_columns",
    "read_weights",
    "check_no_device",
    "check_no_other_places",
    "validate_data",
    "validate_features",
    "validate_groups",
    "validate_labels",
    "validate_like",
    "validate_predictions",
    "validate_probabilities",
    "validate_scores",
    "validate_weights",
]
