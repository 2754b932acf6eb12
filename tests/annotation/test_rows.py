"""Rows to annotate: against a loop over rows, whatever the scale of a label."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from labelance.annotation import rows_to_annotate
from labelance.exceptions import InputError

RNG = np.random.default_rng(0)
P = RNG.beta(0.3, 2, size=(80, 4)) * [1, 0.5, 0.1, 0.01]


def rows_by_loop(p, n):
    logs = np.log(np.maximum(p, 1e-6))
    typical = np.mean([[np.sum((one - other) ** 2) for one in logs] for other in logs]) ** 0.5
    turns = np.argsort(p.mean(axis=0))
    chosen = []
    for i in range(n):
        values = [-1.0] * len(p)
        for row in set(range(len(p))) - set(chosen):
            far = [np.linalg.norm(logs[row] - logs[other]) / typical for other in chosen]
            values[row] = p[row, turns[i % len(turns)]] * min([1, *far])
        chosen.append(int(np.argmax(values)))
    return chosen


def test_rows_are_those_of_a_loop_over_rows():
    assert_array_equal(rows_to_annotate(P, 15), rows_by_loop(P, 15))


def test_every_label_has_rows_with_some_of_its_largest_scores():
    rows = rows_to_annotate(P, 12)
    assert (P[rows].mean(axis=0) > 1.4 * P.mean(axis=0)).all()
    by_sum = np.argsort(-P.sum(axis=1))[:12]
    assert P[rows, 3].sum() > 2 * P[by_sum, 3].sum()  # the rarest label


def test_the_scale_of_a_label_changes_nothing_but_its_turn():
    half = P * [0.5, 0.5, 0.5, 0.25]  # the order of the means is as before
    assert_array_equal(np.argsort(half.mean(axis=0)), np.argsort(P.mean(axis=0)))
    large = np.maximum(P, 1e-5)
    assert_array_equal(
        rows_to_annotate(large * [0.5, 0.5, 0.5, 0.25], 30), rows_to_annotate(large, 30)
    )


def test_order_of_rows_and_labels_changes_nothing():
    rows, labels = RNG.permutation(len(P)), [3, 1, 0, 2]
    assert_array_equal(rows[rows_to_annotate(P[rows][:, labels], 20)], rows_to_annotate(P, 20))


def test_rows_with_equal_scores_are_chosen_again_when_no_other_is_left():
    chosen = rows_to_annotate(np.vstack([P[:20]] * 3), 60)
    assert sorted(chosen) == list(range(60))
    for part in np.split(chosen % 20, 3):
        assert sorted(part) == list(range(20))


def test_a_copy_of_a_chosen_row_comes_after_rows_that_differ():
    almost = np.vstack([P, P * (1 + 1e-6)])
    assert len(set(rows_to_annotate(almost, 30) % len(P))) == 30


def test_every_container_gives_the_same_rows():
    p = np.where(P < 0.01, 0, P)
    expected = rows_to_annotate(p, 15)
    for table in (pd.DataFrame(p), p.tolist(), sp.csr_array(p), sp.csc_matrix(p)):
        assert_array_equal(rows_to_annotate(table, 15), expected)


def test_labels_and_rows_without_scores_are_allowed():
    p = np.zeros((5, 3))
    p[3, 1] = 0.1
    assert sorted(rows_to_annotate(p, 5)) == list(range(5))
    assert rows_to_annotate(p, 1) == [3]


@pytest.mark.parametrize("n", [0, 81, 2.0, True, None])
def test_an_impossible_number_of_rows_is_refused(n):
    with pytest.raises(InputError, match="integer from 1 to 80, the number of rows"):
        rows_to_annotate(P, n)
