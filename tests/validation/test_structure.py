"""A sparse matrix whose index arrays do not fit is refused before compiled code follows them."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from labelance import MLSOL
from labelance.datasets import MultiLabelDataset, drop_rare_labels, keep_frequent_features
from labelance.exceptions import InputError
from labelance.imbalance import profile
from labelance.learners import C45Classifier
from labelance.learners.tree import fit_many, label_problems
from labelance.metrics import macro_f1
from labelance.model_selection import multilabel_train_test_split
from labelance.neighbors import find_neighbors

CELLS = (np.arange(60).reshape(10, 6) * 7) % 3 == 0


def compressed(kind="csr_array", **changes):
    """Return a CSR or CSC, with some of its index arrays written over."""
    matrix = getattr(sp, kind)(CELLS.astype(float))
    for name, change in changes.items():
        setattr(matrix, name, change(getattr(matrix, name)))
    return matrix


def wild(indptr):
    """Begin at 0 and end well; run off in between."""
    out = indptr.copy()
    out[1] = 10**6
    return out


def last(value):
    def change(places):
        out = places.copy()
        out[-1] = value
        return out

    return change


def coo(row, col):
    matrix = sp.coo_array(CELLS.astype(float))
    coords = matrix.coords
    matrix.coords = (row(coords[0]), col(coords[1]))
    return matrix


def bsr():
    matrix = sp.bsr_array(CELLS.astype(float), blocksize=(2, 3))
    matrix.indices = last(10**6)(matrix.indices)
    return matrix


def bsr_of_odd_width():
    matrix = sp.bsr_array(CELLS.astype(float), blocksize=(2, 3))
    matrix._shape = (10, 7)
    return matrix


def lil(row, values):
    matrix = sp.lil_array(CELLS.astype(float))
    matrix.rows[3], matrix.data[3] = row, values
    return matrix


def dia():
    matrix = sp.dia_array(CELLS.astype(float))
    matrix.offsets = matrix.offsets[:-1]
    return matrix


def dok():
    matrix = sp.dok_array(CELLS.astype(float))
    matrix._dict[10**6, 0] = 1.0
    return matrix


same = np.copy
TAMPERED = {
    "indptr runs off": lambda: compressed(indptr=wild),
    "indptr of csc": lambda: compressed("csc_matrix", indptr=wild),
    "indptr begins late": lambda: compressed(indptr=lambda p: np.r_[1, p[1:]]),
    "indptr ends late": lambda: compressed(indptr=last(10**6)),
    "indptr ends early": lambda: compressed(indptr=last(3)),
    "indptr negative": lambda: compressed(indptr=last(-1)),
    "indptr too short": lambda: compressed(indptr=lambda p: p[:-1]),
    "indptr of floats": lambda: compressed(indptr=lambda p: p.astype(float)),
    "index too large": lambda: compressed(indices=last(6)),
    "index negative": lambda: compressed(indices=last(-1)),
    "index of csc too large": lambda: compressed("csc_array", indices=last(10)),
    "fewer values than indices": lambda: compressed(data=lambda d: d[:-1]),
    "row outside": lambda: coo(last(10), same),
    "column outside": lambda: coo(same, last(-(10**6))),
    "more rows than columns": lambda: coo(lambda r: np.r_[r, 0], same),
    "block outside": bsr,
    "blocks that do not fill the shape": bsr_of_odd_width,
    "list outside": lambda: lil([10**6], [1.0]),
    "list of words": lambda: lil(["a"], [1.0]),
    "list longer than its values": lambda: lil([0, 1, 2], [1.0]),
    "diagonals without offset": dia,
    "dictionary outside": dok,
}
DENSE = CELLS.astype(float)
USES = {
    "sampler, X": lambda m: MLSOL().fit_resample(m, CELLS),
    "sampler, Y": lambda m: MLSOL().fit_resample(DENSE, m),
    "measures": lambda m: profile(DENSE, m),
    "metric": lambda m: macro_f1(m, CELLS),
    "neighbors": lambda m: find_neighbors(m, 2),
    "split": lambda m: multilabel_train_test_split(DENSE, m),
    "dataset, X": lambda m: MultiLabelDataset(m, CELLS),
    "dataset, Y": lambda m: MultiLabelDataset(DENSE, m),
    "dataset of any data": lambda m: MultiLabelDataset.from_data(m, m),
    "frequent features": lambda m: keep_frequent_features(m, 0.5),
    "rare labels": drop_rare_labels,
    "tree": lambda m: C45Classifier().fit(m, CELLS[:, 0]),
    "tree, asked": lambda m: C45Classifier().fit(DENSE, CELLS[:, 0]).predict(m),
    "trees": lambda m: fit_many(m, label_problems(CELLS)),
}


@pytest.mark.parametrize("use", USES)
def test_index_arrays_that_do_not_fit_are_refused(use, case):
    for tamper, make in TAMPERED.items():
        with case(tamper), pytest.raises(InputError, match="The index arrays of the sparse"):
            USES[use](make())


@pytest.mark.parametrize("family", [sp.csr_array, sp.csr_matrix])
def test_sound_matrices_of_every_format_are_taken(family):
    for kind in ("csr", "csc", "coo", "bsr", "dia", "lil", "dok"):
        matrix = family(CELLS.astype(float)).asformat(kind)
        data = MultiLabelDataset.from_data(matrix, matrix)
        assert (data.X.toarray() == CELLS).all(), kind
        assert (data.Y.toarray() == CELLS).all(), kind


def test_empty_sparse_matrix_is_no_misfit():
    assert MultiLabelDataset(sp.csr_array((0, 3)), sp.csr_array((0, 2))).n_samples == 0


@pytest.mark.slow
def test_the_heap_stays_whole():
    """The matrix that once ended the process: now an error, and the process goes on."""
    code = """
import numpy as np, scipy.sparse as sp
from labelance.datasets import MultiLabelDataset
from labelance.exceptions import InputError
Y = sp.csr_array(np.eye(6))
Y.indptr[:] = [0, 50, 0, 0, 0, 0, -1]
try:
    MultiLabelDataset(np.eye(6), Y)
except InputError:
    print("refused")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr
