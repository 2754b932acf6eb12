"""The last value that a parameter takes, and the first that it refuses."""

from contextlib import suppress

import numpy as np
import pytest
from sklearn.utils._param_validation import InvalidParameterError

from labelance.exceptions import LabelanceError
from labelance.sampling import (
    LPROS,
    LPRUS,
    MLROS,
    MLRUS,
    MLSMOTE,
    MLSOL,
    MLTL,
    MLUL,
    UCLSO,
    MLeNN,
    MLRkNNOS,
)
from labelance.testing import sampler_data

LIMITS = [
    (LPROS, "sampling_ratio", 0, -0.01),
    (LPRUS, "sampling_ratio", 0, -0.01),
    (LPRUS, "sampling_ratio", 0.99, 1),
    (MLROS, "sampling_ratio", 0, -0.01),
    (MLRUS, "sampling_ratio", 0, -0.01),
    (MLRUS, "sampling_ratio", 0.99, 1),
    (MLRkNNOS, "k_neighbors", 1, 0),
    (MLRkNNOS, "max_synthetic", 0, -1),
    (MLSMOTE, "k_neighbors", 1, 0),
    (MLSMOTE, "n_synthetic", 0, -1),
    (MLSOL, "k_neighbors", 1, 0),
    (MLSOL, "n_synthetic", 0, -1),
    (MLSOL, "sampling_ratio", 0, -0.01),
    (MLTL, "label_distance_threshold", 0, -0.01),
    (MLUL, "sampling_ratio", 0, -0.01),
    (MLUL, "sampling_ratio", 0.99, 1),
    (MLeNN, "label_distance_threshold", 0, -0.01),
    (UCLSO, "max_synthetic", 0, -1),
    (UCLSO, "n_clusters", 1, 0),
]


@pytest.mark.parametrize(("kind", "name", "last", "first"), LIMITS)
def test_parameters_end_where_their_meaning_does(kind, name, last, first):
    X, y = sampler_data(n=60)
    with suppress(LabelanceError):  # taken as it is, it may ask for too much of these data
        kind(**{name: last}).fit_resample(X, y)
    with pytest.raises(InvalidParameterError, match=name):
        kind(**{name: first}).fit_resample(X, y)


@pytest.mark.parametrize("kind", [MLSOL, MLUL, MLSMOTE, MLeNN, MLTL, UCLSO])
@pytest.mark.parametrize("scale", [None, "standard"])
def test_the_unit_of_the_features_changes_nothing(kind, scale):
    """A power of two changes no digit; squares of these numbers underflow."""
    X, y = sampler_data(n=60)
    parameters = {"scale": scale, "random_state": 0}
    known = kind().get_params()
    sampler = kind(**{name: value for name, value in parameters.items() if name in known})
    X_res, y_res = sampler.fit_resample(X, y)
    X_tiny, y_tiny = sampler.fit_resample(X * 2.0**-600, y)
    np.testing.assert_array_equal(X_tiny, X_res * 2.0**-600)
    np.testing.assert_array_equal(y_tiny, y_res)
