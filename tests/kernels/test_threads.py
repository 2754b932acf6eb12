"""Kernels hold nothing that two threads would share: fits side by side are those one by one."""

from concurrent.futures import ThreadPoolExecutor

from numpy.testing import assert_array_equal

from labelance.learners import ECC, SOSHF, BinaryRelevance, MLkNN
from labelance.model_selection import IterativeStratifiedKFold
from labelance.sampling import MLSOL
from labelance.testing import sampler_data

X, Y = sampler_data()
WORK = [
    lambda: BinaryRelevance().fit(X, Y).predict_proba(X),
    lambda: ECC(n_estimators=2, random_state=0).fit(X, Y).predict_proba(X),
    lambda: SOSHF(n_estimators=2, random_state=0).fit(X, Y).predict_proba(X),
    lambda: MLkNN(n_neighbors=3).fit(X, Y).predict_proba(X),
    lambda: MLSOL(random_state=0).fit_resample(X, Y)[0],
    lambda: next(IterativeStratifiedKFold(2, random_state=0).split(X, Y))[0],
]


def test_eight_threads_at_once_give_what_one_gives():
    expected = [work() for work in WORK]
    with ThreadPoolExecutor(8) as pool:
        for found, right in zip(pool.map(lambda work: work(), 4 * WORK), 4 * expected):
            assert_array_equal(found, right)
