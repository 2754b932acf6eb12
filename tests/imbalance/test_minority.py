"""The minority matrix: Y's column where ones are rare, 1 - Y where they are not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from labelance.imbalance._local import minority_matrix, minority_values

labels = st.tuples(st.integers(1, 12), st.integers(1, 8)).flatmap(
    lambda shape: arrays(np.int8, shape, elements=st.integers(0, 1), fill=st.integers(0, 1))
)


@pytest.mark.slow
@given(labels)
def test_marks_the_rarer_value_of_every_label_and_a_tie_is_for_one(Y):
    clean = csr_array(Y)
    values = minority_values(clean)
    M = minority_matrix(clean, values)
    ones = Y.sum(axis=0, dtype=int)
    assert_array_equal(values, [1 if one <= len(Y) - one else 0 for one in ones])
    assert_array_equal(M.toarray(), Y == values)
    assert M.nnz <= clean.nnz
    assert M.dtype == np.int8
    for row in np.split(M.indices, M.indptr[1:-1]):
        assert_array_equal(row, np.unique(row))
