"""Models and rows in shared memory, where joblib puts them for its processes."""

import sys

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from labelance.learners import ECC, SOSHF, BinaryRelevance, CalibratedLabelRanking, MLkNN
from labelance.testing import sampler_data


def signatures():
    """Return what every kernel that has run in this process was compiled for."""
    ours = [module for name, module in sys.modules.items() if name.startswith("labelance")]
    kernels = {id(each): each for module in ours for each in vars(module).values()}
    return {each: list(each.signatures) for each in kernels.values() if hasattr(each, "signatures")}


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
def test_they_need_no_kernels_of_their_own(learner, kind, tmp_path):
    X, Y = sampler_data()
    learner.fit(kind(X), Y)
    expected = learner.predict_proba(kind(X))
    before = signatures()
    joblib.dump((learner, kind(X)), tmp_path / "model")
    shared, rows = joblib.load(tmp_path / "model", mmap_mode="r")
    assert_array_equal(shared.predict_proba(rows), expected)
    assert signatures() == before
