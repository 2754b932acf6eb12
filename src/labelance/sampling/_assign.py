"""The labels of synthetic rows: the paper's GenerateInstance with the swap written out.

With M the minority matrix, s the seed, r the reference and cd the position between them,
the minority cells of a synthetic row are those of both parents, those of s alone where
cd <= θ(T_s), and those of r alone where 1 - cd <= θ(T_r).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from labelance._arrays import squeeze_runs
from labelance._utils import kernel
from labelance.imbalance import LabelType, LocalDistribution, minority_matrix

# θ of the paper: how far towards the other parent a minority cell reaches.
THETA = np.zeros(5)
THETA[LabelType.SAFE] = 0.5
THETA[LabelType.BORDERLINE] = 0.75
THETA[LabelType.RARE] = 1 + 1e-5
THETA[LabelType.OUTLIER] = -1e-5


def assign_labels(
    local: LocalDistribution, seeds: np.ndarray, references: np.ndarray, cd: np.ndarray
) -> sp.csr_array:
    """Return the labels of one synthetic row per (seed, reference, cd).

    Parameters
    ----------
    local : LocalDistribution
        Minority cells and their types.
    seeds, references : ndarray of int of shape (g,)
        Row numbers of the parents.
    cd : ndarray of shape (g,)
        Position of the synthetic row: 0 at the seed, 1 at the reference.
    """
    M = local.minority
    starts, ends, columns = _merge_cells(
        M.indptr,
        M.indices,
        local.types.data,
        THETA,
        seeds.astype(np.int64),
        references.astype(np.int64),
        cd,
    )
    filled, indptr = squeeze_runs(starts, ends)
    cells = np.ones(len(filled), dtype=np.int8)
    minority = sp.csr_array((cells, columns[filled], indptr), shape=(len(seeds), M.shape[1]))
    # M is Y with the columns flipped whose ones are the majority; flipping again gives Y.
    Y = minority_matrix(minority, local.minority_value)
    Y.has_sorted_indices = True
    return Y


@kernel
def _merge_cells(
    indptr: np.ndarray,
    indices: np.ndarray,
    types: np.ndarray,
    theta: np.ndarray,
    seeds: np.ndarray,
    references: np.ndarray,
    cd: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Merge the minority cells of both parents, in label order; return each row's run."""
    starts = np.empty(len(seeds), dtype=np.int64)
    ends = np.empty(len(seeds), dtype=np.int64)
    room = 0
    for t in range(len(seeds)):
        starts[t] = room
        room += indptr[seeds[t] + 1] - indptr[seeds[t]]
        room += indptr[references[t] + 1] - indptr[references[t]]
    columns = np.empty(room, dtype=indices.dtype)
    for t in range(len(seeds)):
        s, s_end = indptr[seeds[t]], indptr[seeds[t] + 1]
        r, r_end = indptr[references[t]], indptr[references[t] + 1]
        end = starts[t]
        while s < s_end or r < r_end:
            in_seed = s < s_end and (r == r_end or indices[s] <= indices[r])
            in_reference = r < r_end and (s == s_end or indices[r] <= indices[s])
            label = indices[s] if in_seed else indices[r]
            minority = in_seed and in_reference
            if in_seed and not in_reference:
                minority = cd[t] <= theta[types[s]]
            elif in_reference and not in_seed:
                minority = 1 - cd[t] <= theta[types[r]]
            if minority:
                columns[end] = label
                end += 1
            s += in_seed
            r += in_reference
        ends[t] = end
    return starts, ends, columns
