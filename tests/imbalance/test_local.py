"""The local label distribution against the paper's own loops, and its laws."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from labelance.imbalance import LabelType, local_distribution
from labelance.imbalance._local import types_by_count

SF, BD, RR, OT = LabelType
many = settings(max_examples=40)


def around(indices):
    return SimpleNamespace(indices=np.asarray(indices))


def dense(sparse, fill):
    """Write the stored cells, zeros too, over a table of ``fill``."""
    table = np.full(sparse.shape, fill, dtype=float)
    cells = sparse.tocoo()
    table[cells.row, cells.col] = cells.data
    return table


# --- the paper, word by word -----------------------------------------------------------


def minority_oracle(Y):
    values = [1 if 2 * sum(Y[:, j]) <= len(Y) else 0 for j in range(Y.shape[1])]
    return np.array(values)


def opposite_oracle(Y, neighbors):
    """Equation (1) before it is divided by k, on minority cells; -1 elsewhere."""
    value = minority_oracle(Y)
    count = np.full(Y.shape, -1)
    for i in range(Y.shape[0]):
        for j in range(Y.shape[1]):
            if Y[i, j] == value[j]:
                count[i, j] = sum(Y[m, j] != Y[i, j] for m in neighbors[i])
    return count


def shares_oracle(opposite, k):
    """The terms of equation (3); nan where they are not defined."""
    shares = np.full(opposite.shape, np.nan)
    for j in range(opposite.shape[1]):
        usable = [i for i in range(len(opposite)) if 0 <= opposite[i, j] < k]
        total = sum(opposite[i, j] for i in usable)
        for i in usable:
            if total > 0:
                shares[i, j] = opposite[i, j] / total
    return shares


def types_oracle(opposite, neighbors, rule):
    """The paper's InitTypes, with its repeat loop; or the program's, slip included."""
    k = neighbors.shape[1]
    T = np.zeros(opposite.shape, dtype=int)
    for i, j in zip(*np.nonzero(opposite >= 0)):
        above = [10 * opposite[i, j] >= 3 * k, 10 * opposite[i, j] >= 7 * k, opposite[i, j] == k]
        T[i, j] = SF + sum(above)
    changed = True
    while changed:
        changed = False
        for i, j in zip(*np.nonzero(T == RR)):
            for m in neighbors[i]:
                tested = T[m, j] if rule == "paper" else T[i, j]
                if T[m, j] == SF or tested == BD:
                    T[i, j] = BD
                    changed = True
                    break
    return T


@st.composite
def labeled_neighborhoods(draw, min_k=1, max_k=10):
    """Y with rare, frequent, tied and constant labels, and neighbors near on a line or anyhow."""
    n = draw(st.integers(min_k + 1, 26))
    k = draw(st.integers(min_k, min(max_k, n - 1)))
    share = draw(
        st.lists(st.sampled_from([0, 0.1, 0.25, 0.5, 0.75, 0.9, 1]), min_size=1, max_size=5)
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    # Runs of rows next to each other have the same labels, so that every type comes up.
    run = draw(st.integers(1, 3))
    Y = (rng.random((n, len(share))) < share).astype(np.int8)[np.arange(n) // run]
    x = np.sort(rng.integers(0, 2 * n, n))
    on_a_line = draw(st.booleans())
    distance = abs(x[:, None] - x).astype(float) if on_a_line else rng.random((n, n))
    np.fill_diagonal(distance, np.inf)
    return Y, np.argsort(distance, axis=1, kind="stable")[:, :k]


@pytest.mark.slow
@many
@given(labeled_neighborhoods(), st.sampled_from(["paper", "mulan"]))
def test_it_is_what_the_paper_says(data, rule):
    Y, neighbors = data
    k = neighbors.shape[1]
    local = local_distribution(Y, around(neighbors), variant=rule)
    opposite = opposite_oracle(Y, neighbors)
    shares = shares_oracle(opposite, k)
    types = types_oracle(opposite, neighbors, rule)

    assert local.n_neighbors == k
    assert_array_equal(local.minority_value, minority_oracle(Y))
    assert_array_equal(local.minority.toarray(), opposite >= 0)
    assert_array_equal(dense(local.opposite, -1), opposite)
    assert_array_equal(dense(local.C, np.nan), np.where(opposite < 0, np.nan, opposite / k))
    assert_array_equal(dense(local.shares(), np.nan), shares)
    assert_allclose(local.weights, np.nansum(shares, axis=1), atol=1e-14)
    assert_array_equal(local.types.toarray(), types)
    counts = [[(types[:, j] == kind).sum() for kind in LabelType] for j in range(Y.shape[1])]
    assert_array_equal(local.type_counts, counts)


@pytest.mark.slow
@many
@given(labeled_neighborhoods(min_k=4))
def test_the_two_rules_differ_only_by_rare_cells_that_become_borderline(data):
    Y, neighbors = data
    paper, mulan = (
        local_distribution(Y, around(neighbors), variant=rule) for rule in ("paper", "mulan")
    )
    assert_array_equal(paper.weights, mulan.weights)
    differ = paper.types.data != mulan.types.data
    assert (paper.types.data[differ] == BD).all()
    assert (mulan.types.data[differ] == RR).all()


@pytest.mark.slow
@many
@given(labeled_neighborhoods())
def test_a_label_counts_the_same_whichever_way_it_is_coded(data):
    Y, neighbors = data
    n = len(Y)
    no_tie = 2 * Y.sum(axis=0) != n
    turned = np.where(no_tie, 1 - Y, Y)
    one, other = (local_distribution(labels, around(neighbors)) for labels in (Y, turned))
    # A label without ones has the minority value 1 and no cells; turned, it is 0 and none.
    assert_array_equal(one.minority_value != other.minority_value, no_tie)
    assert_array_equal(dense(one.C, np.nan), dense(other.C, np.nan))
    assert_array_equal(one.types.toarray(), other.types.toarray())
    assert_array_equal(one.weights, other.weights)


@pytest.mark.slow
@many
@given(labeled_neighborhoods(), st.integers(0, 1000))
def test_order_of_rows_and_labels_does_not_matter(data, seed):
    Y, neighbors = data
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(Y.shape[0]), rng.permutation(Y.shape[1])
    new_number = np.argsort(rows)
    here = local_distribution(Y, around(neighbors))
    there = local_distribution(Y[np.ix_(rows, columns)], around(new_number[neighbors[rows]]))
    assert_array_equal(dense(there.C, np.nan), dense(here.C, np.nan)[np.ix_(rows, columns)])
    assert_array_equal(there.types.toarray(), here.types.toarray()[np.ix_(rows, columns)])
    assert_allclose(there.weights, here.weights[rows], atol=1e-14)


@pytest.mark.slow
@many
@given(labeled_neighborhoods())
def test_every_label_that_gives_weight_gives_one(data):
    Y, neighbors = data
    local = local_distribution(Y, around(neighbors))
    shares = local.shares()
    giving = np.unique(shares.indices)
    assert local.weights.sum() == pytest.approx(len(giving))
    assert_allclose(shares.sum(axis=0)[giving], 1)
    assert (local.weights[np.diff(local.minority.indptr) == 0] == 0).all()
    assert ((local.C.data >= 0) & (local.C.data <= 1)).all()


@given(labeled_neighborhoods(max_k=3))
def test_fewer_than_four_neighbors_leave_nothing_rare(data):
    Y, neighbors = data
    assert not (local_distribution(Y, around(neighbors)).types.data == RR).any()


@pytest.mark.slow
@given(labeled_neighborhoods())
def test_plain_sum_is_equation_two(data):
    Y, neighbors = data
    local = local_distribution(Y, around(neighbors), weighting="sum")
    assert_allclose(local.weights, np.nansum(dense(local.C, np.nan), axis=1), atol=1e-14)


# --- types, and their re-examination as reachability ------------------------------------


def test_types_follow_the_papers_shares_exactly(case):
    for k in range(1, 41):
        with case(k):
            shares = [Fraction(count, k) for count in range(k + 1)]
            expected = [
                SF if C < Fraction("0.3") else BD if C < Fraction("0.7") else RR if C < 1 else OT
                for C in shares
            ]
            assert_array_equal(types_by_count(k), expected)


@pytest.mark.parametrize("step", [1, -1], ids=["with the scan", "against the scan"])
def test_a_long_chain_of_rare_cells_is_walked_to_its_end_in_linear_time(step):
    length = 30_000
    n = 3 * length
    head, chain = (0, np.arange(length)) if step == 1 else (length - 1, np.arange(length))
    neighbors = np.tile(np.arange(n - 4, n), (n, 1))
    neighbors[-4:] = np.arange(n - 8, n - 4)
    # Each rare cell has one minority neighbor, the one before it; the head has two.
    neighbors[chain, 0] = (chain - step) % length
    neighbors[head, :2] = [(head + step) % length, (head + 2 * step) % length]
    Y = np.zeros((n, 1), dtype=np.int8)
    Y[:length] = 1
    paper = local_distribution(Y, around(neighbors))
    mulan = local_distribution(Y, around(neighbors), variant="mulan")
    assert_array_equal(paper.type_counts, [[0, length, 0, 0]])
    assert_array_equal(mulan.type_counts, [[0, 1, length - 1, 0]])
