"""From labels to classification problems: one label, a pair of labels, or a set of labels each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, csr_array

from labelance.exceptions import InputError
from labelance.imbalance import find_labelsets
from labelance.learners.tree import (
    Problems,
    class_problems,
    label_problems,
    offsets,
    pair_problems,
)

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Split:
    """Problems, and the votes of their classes for the labels.

    Attributes
    ----------
    problems : Problems
        Rows and classes.
    votes : csr_array of shape (slots, outputs)
        One row per class of each problem, in order.
    """

    problems: Problems
    votes: csr_array


def split_labels(Y: csr_array) -> Split:
    """Return one problem per label; its class 1 votes for the label."""
    q = Y.shape[1]
    start = np.repeat(np.arange(q + 1), 2)[:-1]  # class 0 has no vote
    return Split(label_problems(Y), csr_array((np.ones(q), np.arange(q), start), shape=(2 * q, q)))


def split_against_virtual(Y: csr_array) -> Split:
    """Return one problem per label: label or virtual label? The last output is the virtual one."""
    q = Y.shape[1]
    return Split(label_problems(Y), _one_vote(np.arange(q), np.full(q, q), q + 1))


def split_pairs(Y: csr_array, first: Ints, second: Ints) -> Split:
    """Return one problem per pair of labels, on the rows that have exactly one of them.

    Class 1 votes for the first label, class 0 for the second; the last output is the virtual
    label, for which pairs do not vote.
    """
    return Split(pair_problems(Y, first, second), _one_vote(first, second, Y.shape[1] + 1))


def _one_vote(winner: Ints, loser: Ints, n_outputs: int) -> csr_array:
    """Let class 0 of every problem vote for the loser, class 1 for the winner."""
    output = np.stack([loser, winner], axis=1).ravel()
    slots = len(output)
    return csr_array((np.ones(slots), output, np.arange(slots + 1)), shape=(slots, n_outputs))


def split_powerset(Y: csr_array) -> Split:
    """Return one problem whose classes are the labelsets of Y, in the order of bit strings."""
    found = find_labelsets(Y)
    # A labelset comes after another if it has a label earlier, or goes on where the other ends.
    labels = np.split(-found.sets.indices, found.sets.indptr[1:-1])
    order = np.array(sorted(range(len(found)), key=lambda i: tuple(labels[i])))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    problem = class_problems(place[found.membership][:, None], len(order))
    return Split(problem, found.sets[order].astype(np.float64))


def split_labelsets(Y: csr_array, subsets: ArrayLike) -> Split:
    """Return one problem per subset of k labels; its classes are the labelsets within it.

    Parameters
    ----------
    Y : csr_array of shape (n, q)
        Clean labels.
    subsets : array-like of shape (n_problems, k)
        Labels of every subset, ascending.
    """
    subsets = np.asarray(subsets)
    n, (n_problems, k) = Y.shape[0], subsets.shape
    _refuse_long_codes(n_problems, k)
    bits = np.left_shift(1, np.arange(k - 1, -1, -1), dtype=np.int64)  # the first label leads
    codes = _codes(Y, subsets, bits)
    sizes = np.diff(codes.indptr)
    problem = np.repeat(np.arange(n_problems), sizes)
    keys = problem << k | codes.data
    # The empty labelset has the code 0, which is not stored.
    known = np.unique(np.concatenate([keys, np.flatnonzero(sizes < n) << k]))
    n_classes = np.bincount(known >> k, minlength=n_problems)
    classes = np.searchsorted(known, keys) - offsets(n_classes)[problem]
    listed = classes > 0
    problems = Problems(
        n_classes.astype(np.int32),
        offsets(np.bincount(problem[listed], minlength=n_problems)),
        codes.indices[listed].astype(np.int32),
        classes[listed].astype(np.int32),
        True,
    )
    slot, place = np.nonzero(known[:, None] & bits)
    labels = subsets[known[slot] >> k, place]
    votes = csr_array((np.ones(len(slot)), (slot, labels)), shape=(len(known), Y.shape[1]))
    return Split(problems, votes)


def _codes(Y: csr_array, subsets: Ints, bits: Ints) -> csc_array:
    """Return every row's labelset within every subset as a number, as (n, n_problems)."""
    n_problems, k = subsets.shape
    cells = (subsets.ravel(), np.repeat(np.arange(n_problems), k))
    weights = csr_array((np.tile(bits, n_problems), cells), shape=(Y.shape[1], n_problems))
    codes = csc_array(Y.astype(np.int64) @ weights)
    codes.sort_indices()
    return codes


def _refuse_long_codes(n_problems: int, k: int) -> None:
    if k + int(n_problems).bit_length() > 62:
        raise InputError(
            "Labelsets are numbered by 62 bits",
            f"there are {n_problems} subsets of {k} labels",
            "Take smaller subsets, or LabelPowerset for all labels at once",
        )
