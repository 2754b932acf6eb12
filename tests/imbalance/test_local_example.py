"""The worked example L of the local label distribution, and what it refuses."""

import pickle
from dataclasses import FrozenInstanceError
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_array, csc_matrix, csr_array, csr_matrix

from labelance.exceptions import InputError
from labelance.imbalance import LabelType, local_distribution

SF, BD, RR, OT = LabelType
MJ = 0


def around(indices):
    return SimpleNamespace(indices=np.asarray(indices))


def dense(sparse, fill):
    """Write the stored cells, zeros too, over a table of ``fill``."""
    table = np.full(sparse.shape, fill, dtype=float)
    cells = sparse.tocoo()
    table[cells.row, cells.col] = cells.data
    return table


EXAMPLE_L = np.array(
    [
        [1, 1, 0, 1, 1],
        [0, 0, 1, 0, 1],
        [0, 0, 1, 0, 1],
        [1, 0, 1, 1, 0],
        [1, 1, 1, 0, 0],
        [0, 0, 1, 0, 0],
    ]
)
FOUR = [[1, 2, 3, 4], [0, 2, 3, 4], [1, 3, 0, 4], [2, 1, 0, 4], [5, 3, 2, 1], [4, 3, 2, 1]]
TWO = [[1, 2], [0, 2], [1, 3], [2, 1], [5, 3], [4, 3]]


@pytest.mark.parametrize(("rule", "r4_label0"), [("paper", BD), ("mulan", RR)])
def test_worked_example_with_four_neighbors(rule, r4_label0):
    local = local_distribution(EXAMPLE_L, around(FOUR), variant=rule)
    assert_array_equal(local.minority_value, [1, 1, 0, 1, 1])
    no = -1
    assert_array_equal(
        dense(local.opposite, no),
        [
            [2, 3, 4, 3, 2],
            [no, no, no, no, 2],
            [no, no, no, no, 2],
            [2, no, no, 3, no],
            [3, 4, no, no, no],
            [no] * 5,
        ],
    )
    assert_allclose(local.weights, [2.119048, 0.333333, 0.333333, 0.785714, 0.428571, 0], atol=1e-6)
    assert local.weights.sum() == pytest.approx(4)
    assert_array_equal(
        local.types.toarray(),
        [
            [BD, RR, OT, RR, BD],
            [MJ, MJ, MJ, MJ, BD],
            [MJ, MJ, MJ, MJ, BD],
            [BD, MJ, MJ, RR, MJ],
            [r4_label0, OT, MJ, MJ, MJ],
            [MJ] * 5,
        ],
    )
    undefined = np.nan
    assert_allclose(
        dense(local.shares(), undefined),
        [
            [2 / 7, 1, undefined, 1 / 2, 1 / 3],
            [undefined] * 4 + [1 / 3],
            [undefined] * 4 + [1 / 3],
            [2 / 7, undefined, undefined, 1 / 2, undefined],
            [3 / 7] + [undefined] * 4,
            [undefined] * 5,
        ],
    )


@pytest.mark.parametrize("rule", ["paper", "mulan"])
def test_worked_example_with_two_neighbors(rule):
    local = local_distribution(EXAMPLE_L, around(TWO), variant=rule)
    assert_array_equal(local.weights, [0, 0, 1, 0, 1, 0])
    assert_array_equal(
        local.types.toarray(),
        [
            [OT, OT, OT, OT, SF],
            [MJ, MJ, MJ, MJ, SF],
            [MJ, MJ, MJ, MJ, BD],
            [OT, MJ, MJ, OT, MJ],
            [BD, OT, MJ, MJ, MJ],
            [MJ] * 5,
        ],
    )


# --- validation --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "container",
    [
        lambda Y: Y.tolist(),
        lambda Y: Y.astype(bool),
        lambda Y: Y.astype(float),
        csr_array,
        csr_matrix,
        csc_matrix,
        coo_array,
        pd.DataFrame,
    ],
    ids=["list", "bool", "float", "csr_array", "csr_matrix", "csc_matrix", "coo_array", "frame"],
)
def test_every_container_gives_the_same(container):
    here = local_distribution(EXAMPLE_L, around(FOUR))
    there = local_distribution(container(EXAMPLE_L), around(FOUR))
    assert_array_equal(there.types.toarray(), here.types.toarray())
    assert_array_equal(there.weights, here.weights)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_any_integers_will_do_for_neighbors_even_read_only(dtype):
    indices = np.array(FOUR, dtype=dtype)
    indices.flags.writeable = False
    there = local_distribution(EXAMPLE_L, around(indices))
    here = local_distribution(EXAMPLE_L, around(FOUR))
    assert_array_equal(there.types.toarray(), here.types.toarray())


def test_the_labels_that_came_in_are_left_alone():
    Y = csr_array(EXAMPLE_L)
    local = local_distribution(Y, around(FOUR))
    for array in (local.C, local.types, local.opposite, local.minority):
        assert not np.shares_memory(array.indices, Y.indices)
    assert_array_equal(Y.toarray(), EXAMPLE_L)


def test_the_value_is_frozen_prints_and_pickles():
    local = local_distribution(EXAMPLE_L, around(FOUR))
    assert repr(local) == ("<LocalDistribution: 6 rows, 5 labels, k=4; 0 SF, 6 BD, 3 RR, 2 OT>")
    with pytest.raises(FrozenInstanceError):
        local.n_neighbors = 3
    again = pickle.loads(pickle.dumps(local))
    assert_array_equal(again.types.toarray(), local.types.toarray())
    assert local.C.dtype == np.float64
    assert local.types.dtype == local.minority.dtype == np.int8


@pytest.mark.parametrize(
    ("indices", "came"),
    [
        (FOUR[:5], r"shape \(5, 4\)"),
        ([1, 2, 3, 4, 5, 0], r"shape \(6,\)"),
        (np.empty((6, 0), dtype=int), r"shape \(6, 0\)"),
        (np.array(FOUR, dtype=float), "float64"),
        (np.array(FOUR) + 2, "outside 0 … 5"),
        ([[1], [2], [3], [4], [5], [6]], "outside 0 … 5"),
        (np.array(FOUR) - 1, "outside 0 … 5"),
        ([[1], [2], [2], [4], [5], [0]], "Row 2 is among its own neighbors"),
    ],
)
def test_a_neighborhood_that_does_not_fit_is_refused(indices, came):
    with pytest.raises(InputError, match=came):
        local_distribution(EXAMPLE_L, around(indices))


@pytest.mark.parametrize("option", [{"variant": "java"}, {"weighting": "mean"}], ids=str)
def test_an_unknown_option_is_refused(option):
    with pytest.raises(InputError, match=f"{next(iter(option))} must be one of 'paper'"):
        local_distribution(EXAMPLE_L, around(FOUR), **option)


def test_constant_labels_have_no_minority_cells():
    Y = np.zeros((6, 2), dtype=np.int8)
    Y[:, 1] = 1
    local = local_distribution(Y, around(FOUR))
    assert local.minority.nnz == local.shares().nnz == 0
    assert_array_equal(local.weights, np.zeros(6))
    assert_array_equal(local.type_counts, np.zeros((2, 4)))
