"""The authors' own folds: the same process up to the lots, and no better balance."""

from fractions import Fraction

import numpy as np
import pytest

from labelance.datasets import load_dataset
from labelance.model_selection import (
    RepeatedIterativeStratifiedKFold,
    label_distribution,
    label_pair_distribution,
)
from labelance.model_selection._stratify import assign, label_incidence

NAMES = ["flags", "emotions", "cal500", "genbase", "medical", "enron", "scene", "yeast"]
REPEATS = 5


@pytest.fixture(scope="module", params=NAMES)
def folds(request, reference):
    """The labels that the paper keeps, and the authors' fold of every row and repetition."""
    Y = load_dataset(request.param).Y
    Y = Y[:, np.asarray(Y.sum(axis=0)).ravel() > 1]
    table = reference(f"results/folds_{request.param}.csv")
    return Y, np.loadtxt(table, delimiter=",", skiprows=1, dtype=int)[:, 1:]


@pytest.mark.data
def test_with_their_lots_we_deal_their_folds(folds, oracle, case):
    """Every choice that is not a lot is forced, so equal folds are an equal process."""
    for repetition in range(REPEATS):
        with case(repetition):
            Y, theirs = folds
            fold, lots = theirs[:, repetition].tolist(), []

            def follow(row, candidates, fold=fold, lots=lots):
                lots.append((candidates.index(fold[row]) + 0.5) / len(candidates))
                return fold[row]

            assert oracle(Y.toarray(), [Fraction(1, 2), Fraction(1, 2)], follow) == fold
            ours = assign(label_incidence(Y), np.ones(2, dtype=np.int64), np.array(lots))
            assert ours.tolist() == fold


@pytest.mark.data
def test_our_folds_are_as_even_as_theirs(folds):
    Y, theirs = folds
    cv = RepeatedIterativeStratifiedKFold(2, REPEATS, random_state=0)
    splits = list(cv.split(Y, Y))
    for measure in (label_distribution, label_pair_distribution):
        ours = np.array([measure(Y, splits[2 * t : 2 * t + 2]) for t in range(REPEATS)])
        reference = np.array([measure(Y, theirs[:, t]) for t in range(REPEATS)])
        spread = np.hypot(ours.std(ddof=1), reference.std(ddof=1)) / np.sqrt(REPEATS)
        assert ours.mean() <= reference.mean() + 3 * spread
