"""Suspect cells: against a loop over cells, and in turns by label."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from labelance.annotation import suspect_labels
from labelance.exceptions import InputError

SHARES = [0.5, 0.2, 0.04]


def labels_and_scores(seed, n=200):
    """Return labels of which a tenth is unknown, and scores without ties that tell something."""
    rng = np.random.default_rng(seed)
    y = (rng.random((n, len(SHARES))) < SHARES).astype(float)
    scores = np.clip(0.3 * y + 0.7 * rng.random(y.shape) ** 2, 0.001, 0.999)
    y[rng.random(y.shape) < 0.1] = np.nan
    return y, scores


def suspects_by_loop(y, scores):
    """Return (place in the label, probability of the given value, row, label), as sorted."""
    lines = []
    for label, (given, score) in enumerate(zip(y.T, scores.T)):
        zeros, ones = score[given == 0].mean(), score[given == 1].mean()
        own = []
        for row in range(len(y)):
            if given[row] == 0 and score[row] >= ones > zeros:
                own.append((1 - score[row], row))
            if given[row] == 1 and score[row] <= zeros < ones:
                own.append((score[row], row))
        lines += [(place, *cell, label) for place, cell in enumerate(sorted(own))]
    return sorted(lines)


def cells_of(found):
    return list(zip(found["row"], found["label"]))


@pytest.mark.parametrize("seed", range(3))
def test_suspects_are_those_of_a_loop_over_cells(seed):
    y, scores = labels_and_scores(seed)
    found = suspect_labels(y, scores)
    expected = suspects_by_loop(y, scores)
    assert len(expected) > 20
    assert cells_of(found) == [(row, label) for _, _, row, label in expected]
    assert_array_equal(found["given"], [y[cell] for cell in cells_of(found)])
    assert_array_equal(found["score"], [scores[cell] for cell in cells_of(found)])


def test_the_next_suspect_of_a_label_waits_for_those_of_all_others():
    found = suspect_labels(*labels_and_scores(0))
    place = found.groupby("label").cumcount()
    assert place.is_monotonic_increasing
    assert set(found["label"][: len(SHARES)]) == set(range(len(SHARES)))
    assert place.max() > 3


def test_unknown_cells_are_never_listed_and_their_scores_change_nothing():
    y, scores = labels_and_scores(0)
    found = suspect_labels(y, scores)
    assert not np.isnan(y[found["row"], found["label"]]).any()
    other = np.where(np.isnan(y), 0.999, scores)
    assert cells_of(suspect_labels(y, other)) == cells_of(found)


def test_suspects_do_not_depend_on_the_order_of_rows_and_labels():
    y, scores = labels_and_scores(0)
    found = suspect_labels(y, scores)
    rows, labels = np.random.default_rng(1).permutation(len(y)), np.array([2, 0, 1])
    moved = suspect_labels(y[rows][:, labels], scores[rows][:, labels])
    back = [(rows[row], labels[label]) for row, label in cells_of(moved)]
    assert back == cells_of(found)


def test_which_cells_are_suspect_does_not_depend_on_the_scale_of_a_label():
    y, scores = labels_and_scores(0)
    found = suspect_labels(y, scores * [0.5, 0.01, 0.9] + [0.2, 0, 0.1])
    assert set(cells_of(found)) == set(cells_of(suspect_labels(y, scores)))


def test_every_container_gives_the_same_suspects():
    y, scores = labels_and_scores(0)
    scores[scores < 0.1] = 0
    known = np.nan_to_num(y)
    names = ["sea", "fog", "ice"]
    expected = suspect_labels(known, scores, label_names=names)
    assert expected["label"].isin(names).all()
    for case, (labels, table) in {
        "frames": (pd.DataFrame(known, columns=names), pd.DataFrame(scores, columns=names)),
        "named labels": (pd.DataFrame(known, columns=names), scores),
        "named scores": (known, pd.DataFrame(scores, columns=names)),
        "sparse labels": (sp.csr_array(known.astype(int)), scores),
        "sparse": (sp.csc_matrix(known.astype(int)), sp.csr_matrix(scores)),
    }.items():
        given = None if "named" in case or case == "frames" else names
        found = suspect_labels(labels, table, label_names=given)
        pd.testing.assert_frame_equal(found, expected, obj=case)


def test_labels_that_scores_tell_nothing_about_have_no_suspects():
    scores = np.tile([[0.3], [0.1], [0.7]], (10, 4))
    scores[:, 2] = 0.1
    y = np.tile([[0, 1, 0, 0], [0, 1, 1, 1], [0, 1, 0, 0]], (10, 1))
    found = suspect_labels(y, scores)  # no ones, no zeros, one score for all, ones below zeros
    assert found.columns.tolist() == ["row", "label", "given", "score", "reason"]
    assert found.empty


def test_margins_are_refused():
    with pytest.raises(InputError, match="probabilities between 0 and 1"):
        suspect_labels([[0], [1]], [[-1.0], [2.0]])
