"""The figures of the authors' own program, on real data, given its own neighbors."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from labelance import imbalance
from labelance.datasets import load_dataset
from labelance.imbalance import local_distribution
from labelance.imbalance._local import types_by_count

DUMPS = ["flags", "emotions", "yeast", "cal500", "medical", "scene-train", "enron-exp"]
pytestmark = pytest.mark.data


@pytest.fixture(scope="module", params=DUMPS)
def dump(request, reference):
    """Y, the neighbors and the figures of one dataset."""
    name = request.param
    if name.endswith("-exp"):
        Y = load_dataset(name.removesuffix("-exp"), protocol="paper").Y
    else:
        Y = load_dataset(name.removesuffix("-train")).Y
    if name.endswith("-train"):
        Y = Y[:1211]

    def read(kind, **options):
        return np.genfromtxt(reference(f"dumps/mlsol_{name}_{kind}.csv"), delimiter=",", **options)

    return SimpleNamespace(
        Y=Y,
        neighborhood=SimpleNamespace(indices=read("knn", dtype=np.int64)),
        C=read("C"),
        weights=read("weights"),
        types=read("types", dtype=int),
        scumble=np.loadtxt(reference(f"dumps/scumble_{name}.csv")),
        stats=json.loads(reference(f"dumps/stats_{name}.json").read_text()),
    )


def test_local_distribution_with_the_programs_rule(dump):
    local = local_distribution(dump.Y, dump.neighborhood, variant="mulan")
    C = np.full(dump.Y.shape, np.nan)
    cells = local.C.tocoo()
    C[cells.row, cells.col] = cells.data
    assert_array_equal(C, dump.C)
    # The program numbers SAFE … OUTLIER from 0 and has a fifth type, MAJORITY.
    types = local.types.toarray().astype(int)
    assert_array_equal(np.where(types == 0, 4, types - 1), dump.types)
    assert_allclose(local.weights, dump.weights, rtol=0, atol=1e-12)
    assert_array_equal(local.minority_value, dump.stats["mlsol"]["minority_value_per_label"])
    assert (local.weights == 0).sum() == dump.stats["mlsol"]["rows_with_zero_weight"]


def test_type_counts_before_and_after_re_examination_with_both_rules(dump):
    told = dump.stats["mlsol"]
    paper = local_distribution(dump.Y, dump.neighborhood)
    mulan = local_distribution(dump.Y, dump.neighborhood, variant="mulan")
    before = np.bincount(types_by_count(paper.n_neighbors)[paper.opposite.data], minlength=5)[1:]
    assert_array_equal(before, told["type_counts_before_reexamination"][:4])
    assert_array_equal(mulan.type_counts.sum(axis=0), told["type_counts_reference"][:4])
    assert_array_equal(paper.type_counts.sum(axis=0), told["type_counts_paper_rule"][:4])
    differ = (paper.types.data != mulan.types.data).sum()
    assert differ == told["cells_where_reference_differs_from_paper_rule"]


def test_measures(dump):
    Y, told = dump.Y, dump.stats["remedial"]
    close = {"rtol": 1e-12, "atol": 1e-12}
    assert_array_equal(imbalance.label_counts(Y), dump.stats["positives"])
    assert_allclose(imbalance.scumble_instances(Y), dump.scumble, **close)
    assert_allclose(imbalance.scumble(Y), told["SCUMBLE"], **close)
    assert_allclose(imbalance.mean_ir(Y), told["MeanIR"], **close)
    assert_allclose(imbalance.cvir(Y), told["CVIR"], **close)
    assert_allclose(imbalance.mean_imr(Y), told["MeanImR"], **close)
    assert_allclose(imbalance.irlbl(Y), told["IRLbl"], **close)
    assert_allclose(imbalance.imr(Y), told["ImR"], **close)
