"""Laws about containers: what comes in goes out, and all kinds agree."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import clone

from labelance.sampling import SamplerTraits
from labelance.testing._data import sampler_data, seeded
from labelance.testing._law import Law

_SPARSE_KINDS = (sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.csc_array)


def check_sparse_equals_dense(sampler: Any, traits: SamplerTraits) -> None:
    """CSR and CSC, matrix and array, X and Y: the same kind comes back with the same numbers."""
    X, Y = sampler_data()
    seeded(sampler)
    X_dense, Y_dense = sampler.fit_resample(X, Y)
    for kind in _SPARSE_KINDS:
        X_new, Y_new = clone(sampler).fit_resample(kind(X), kind(Y))
        assert type(X_new) is kind, f"{kind.__name__} X came back as {type(X_new).__name__}"
        assert type(Y_new) is kind, f"{kind.__name__} Y came back as {type(Y_new).__name__}"
        assert_array_equal(X_new.toarray(), X_dense, f"{kind.__name__} X differs from dense")
        assert_array_equal(Y_new.toarray(), Y_dense, f"{kind.__name__} Y differs from dense")


def check_mixed_containers(sampler: Any, traits: SamplerTraits) -> None:
    """Sparse X goes with dense Y, and dense X with sparse Y."""
    X, Y = sampler_data()
    seeded(sampler)
    X_dense, Y_dense = sampler.fit_resample(X, Y)
    X_new, Y_new = sampler.fit_resample(sp.csr_array(X), Y)
    assert_array_equal(X_new.toarray(), X_dense)
    assert_array_equal(Y_new, Y_dense)
    X_new, Y_new = sampler.fit_resample(X, sp.csr_array(Y))
    assert_array_equal(X_new, X_dense)
    assert_array_equal(Y_new.toarray(), Y_dense)


def check_dtypes_stay(sampler: Any, traits: SamplerTraits) -> None:
    """Float32 stays float32, and labels keep their dtype, be it bool, int or float."""
    X, Y = sampler_data()
    for x_type in (np.float32, np.float64):
        for y_type in (bool, np.uint8, np.int64, np.float32):
            X_new, Y_new = clone(sampler).fit_resample(X.astype(x_type), Y.astype(y_type))
            assert X_new.dtype == x_type, f"{np.dtype(x_type)} X came back as {X_new.dtype}"
            assert Y_new.dtype == y_type, f"{np.dtype(y_type)} Y came back as {Y_new.dtype}"


def check_pandas_equals_dense(sampler: Any, traits: SamplerTraits) -> None:
    """Pandas frames come back with names, dtypes and a documented index, and the same numbers."""
    if find_spec("pandas") is None:
        return
    import pandas as pd

    X, Y = sampler_data()
    index = [f"row{i}" for i in range(len(X))]
    seeded(sampler)
    X_dense, Y_dense = sampler.fit_resample(X, Y)
    X_frame = pd.DataFrame(X, columns=list("abcd"), index=index)
    Y_frame = pd.DataFrame(Y, columns=list("pqrst"), index=index)
    X_new, Y_new = sampler.fit_resample(X_frame, Y_frame)
    _assert_frame(X_new, X_frame, X_dense)
    _assert_frame(Y_new, Y_frame, Y_dense)
    assert list(X_new.index) == list(Y_new.index), "X and Y have different indices"
    expected = [index[i] for i in sampler.sample_indices_] if traits.deletes else None
    if expected is not None and not traits.adds:
        assert list(X_new.index) == expected, "kept rows lost their index labels"
    elif len(X_new) > len(X):
        assert list(X_new.index) == list(range(len(X_new))), "added rows need a fresh index"


def check_polars_equals_dense(sampler: Any, traits: SamplerTraits) -> None:
    """Polars frames come back with names and dtypes, and the same numbers."""
    if find_spec("polars") is None:
        return
    import polars as pl

    X, Y = sampler_data()
    seeded(sampler)
    X_dense, Y_dense = sampler.fit_resample(X, Y)
    X_frame, Y_frame = pl.DataFrame(X, schema=list("abcd")), pl.DataFrame(Y, schema=list("pqrst"))
    X_new, Y_new = sampler.fit_resample(X_frame, Y_frame)
    _assert_frame(X_new, X_frame, X_dense)
    _assert_frame(Y_new, Y_frame, Y_dense)


def check_categories_come_back(sampler: Any, traits: SamplerTraits) -> None:
    """A frame with categories and whole numbers keeps both."""
    if find_spec("pandas") is None:
        return
    import pandas as pd

    X, Y = sampler_data()
    words = pd.Categorical.from_codes(np.arange(len(X)) % 3, categories=["blue", "gray", "red"])
    frame = pd.DataFrame({"size": X[:, 0], "count": np.arange(len(X)), "color": words})
    X_new, _ = sampler.fit_resample(frame, Y)
    assert list(X_new.dtypes) == list(frame.dtypes), "dtypes changed"
    assert X_new["color"].notna().all(), "a category was lost"


def _assert_frame(frame: Any, original: Any, expected: np.ndarray) -> None:
    assert type(frame) is type(original), f"a frame came back as {type(frame).__name__}"
    assert list(frame.columns) == list(original.columns), "column names changed"
    assert list(frame.dtypes) == list(original.dtypes), "column dtypes changed"
    assert_array_equal(frame.to_numpy(), expected, "a frame gave other numbers than an array")


LAWS = (
    Law(check_sparse_equals_dense),
    Law(check_mixed_containers),
    Law(check_dtypes_stay),
    Law(check_pandas_equals_dense),
    Law(check_polars_equals_dense),
    Law(check_categories_come_back),
)
