"""Arrays that differ in what does not matter, read-only or with wide indices, give the same."""

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from labelance.learners import ECC, SOSHF, BinaryRelevance, CalibratedLabelRanking, MLkNN
from labelance.sampling import MLROS, MLSMOTE, MLSOL
from labelance.testing import sampler_data


@pytest.mark.parametrize("kind", [np.asarray, csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "learner",
    [
        BinaryRelevance(),
        CalibratedLabelRanking(),
        ECC(n_estimators=2, random_state=0),
        MLkNN(n_neighbors=3),
        SOSHF(n_estimators=2, random_state=0),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_models_and_rows_in_shared_memory(learner, kind, tmp_path):
    """Where joblib puts them for its processes, they cannot be written to."""
    X, Y = sampler_data()
    learner.fit(kind(X), Y)
    expected = learner.predict_proba(kind(X))
    joblib.dump((learner, kind(X)), tmp_path / "model")
    shared, rows = joblib.load(tmp_path / "model", mmap_mode="r")
    assert_array_equal(shared.predict_proba(rows), expected)
    assert_array_equal(learner.fit(rows, Y).predict_proba(rows), expected)


def with_long_indices(table):
    table = csr_array(table)
    for name in ("indices", "indptr"):
        setattr(table, name, getattr(table, name).astype(np.int64))
    return table


@pytest.mark.parametrize(
    "sampler", [MLSOL(random_state=0), MLSMOTE(random_state=0), MLROS(random_state=0)], ids=str
)
def test_sparse_tables_with_indices_of_64_bits(sampler):
    tables = sampler_data()
    expected = sampler.fit_resample(*map(csr_array, tables))
    found = sampler.fit_resample(*map(with_long_indices, tables))
    for one, other in zip(found, expected):
        assert_array_equal(one.toarray(), other.toarray())
