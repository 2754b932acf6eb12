"""Iterative stratification: the rarest evidence is dealt first, to the fold that wants it most.

The wants are kept as whole numbers. With shares ``weights / weights.sum()``, fold f wants
``weights[f] * count`` of everything, and every copy it gets takes ``weights.sum()`` off. So two
folds tie exactly when they tie in the paper's reals, whatever the number of folds.

References
----------
Sechidis, Tsoumakas, Vlahavas (2011), On the stratification of multi-label data, ECML PKDD.
Szymański, Kajdanowicz (2017), A network perspective on stratification of multi-label data,
PMLR 74.
"""

import numpy as np
from numpy.typing import NDArray

from labelance._compile import kernel
from labelance.model_selection._evidence import Evidence, Integers


@kernel
def deal(evidence: Evidence, weights: Integers, draws: NDArray[np.float64]) -> Integers:
    """Return the fold of every hand.

    Parameters
    ----------
    evidence : Evidence
        What every hand holds.
    weights : ndarray of int64, shape (n_folds,)
        Shares of the folds, as whole numbers.
    draws : ndarray of float64, shape (n_hands,)
        Numbers in [0, 1); every full tie between folds uses up the next one.
    """
    n_hands, n_pieces = len(evidence.sizes), len(evidence.piece_indptr) - 1
    left = np.zeros(n_pieces, dtype=np.int64)
    for at in range(len(evidence.pieces)):
        left[evidence.pieces[at]] += evidence.times[at]
    want = left.reshape(-1, 1) * weights
    want_rows = evidence.sizes.sum() * weights
    fold = np.full(n_hands, -1, dtype=np.int64)
    ties = 0
    for phase in range(len(evidence.phases) - 1):
        start, stop = evidence.phases[phase], evidence.phases[phase + 1]
        # Sorted by count, then by number: already a heap.
        heap = start + np.argsort(left[start:stop], kind="mergesort")
        place = np.full(n_pieces, -1, dtype=np.int64)
        place[heap] = np.arange(len(heap))
        size = len(heap)
        while size > 0:
            rarest = heap[0]
            for at in range(evidence.piece_indptr[rarest], evidence.piece_indptr[rarest + 1]):
                i = evidence.hands[at]
                if fold[i] < 0:
                    fold[i], ties = _neediest(want[rarest], want_rows, draws, ties)
                    _give(evidence, i, fold[i], weights.sum(), want, want_rows)
                    _take_off(evidence, i, left, heap, place)
            size = _drop_first(left, heap, place, size)
    for i in range(n_hands):
        if fold[i] < 0:
            fold[i], ties = _neediest(want_rows, want_rows, draws, ties)
            want_rows[fold[i]] -= evidence.sizes[i] * weights.sum()
    return fold


@kernel
def _neediest(
    want: Integers, want_rows: Integers, draws: NDArray[np.float64], ties: int
) -> tuple[int, int]:
    # The largest want of the evidence, then of rows, then by lot.
    best, tied = 0, 1
    for f in range(1, len(want)):
        if want[f] > want[best] or (want[f] == want[best] and want_rows[f] > want_rows[best]):
            best, tied = f, 1
        elif want[f] == want[best] and want_rows[f] == want_rows[best]:
            tied += 1
    if tied == 1:
        return best, ties
    skip = int(draws[ties] * tied)
    chosen = best
    while skip > 0:
        chosen += 1
        if want[chosen] == want[best] and want_rows[chosen] == want_rows[best]:
            skip -= 1
    return chosen, ties + 1


@kernel
def _give(
    evidence: Evidence, i: int, f: int, scale: int, want: Integers, want_rows: Integers
) -> None:
    for at in range(evidence.indptr[i], evidence.indptr[i + 1]):
        want[evidence.pieces[at], f] -= scale * evidence.times[at]
    want_rows[f] -= scale * evidence.sizes[i]


@kernel
def _take_off(evidence: Evidence, i: int, left: Integers, heap: Integers, place: Integers) -> None:
    # Counts only fall, so a piece can only rise in the heap; a label is not in it (place -1)
    # while pairs are dealt.
    for at in range(evidence.indptr[i], evidence.indptr[i + 1]):
        piece = evidence.pieces[at]
        left[piece] -= evidence.times[at]
        here = place[piece]
        while here > 0 and _rarer(left, piece, heap[(here - 1) // 2]):
            heap[here] = heap[(here - 1) // 2]
            place[heap[here]] = here
            here = (here - 1) // 2
        if place[piece] >= 0:
            heap[here] = piece
            place[piece] = here


@kernel
def _drop_first(left: Integers, heap: Integers, place: Integers, size: int) -> int:
    size -= 1
    place[heap[0]] = -1
    if size == 0:
        return size
    last, here = heap[size], 0
    while 2 * here + 1 < size:
        child = 2 * here + 1
        if child + 1 < size and _rarer(left, heap[child + 1], heap[child]):
            child += 1
        if not _rarer(left, heap[child], last):
            break
        heap[here] = heap[child]
        place[heap[here]] = here
        here = child
    heap[here] = last
    place[last] = here
    return size


@kernel
def _rarer(left: Integers, one: int, other: int) -> bool:
    # Fewer copies left to deal; ties go to the lower number.
    return bool(left[one] < left[other] or (left[one] == left[other] and one < other))
