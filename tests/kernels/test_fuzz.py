"""Hostile arrays never reach a kernel: a public function refuses them, or gives the same as for
plain ones.

Under ``.ci/sanitize`` an index or address outside of an array ends the run, so this is also a
search for those.
"""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from labelance import decisions, metrics
from labelance.ensemble import EMLS
from labelance.exceptions import LabelanceError
from labelance.imbalance import local_distribution, profile
from labelance.learners import COCOA, ECC, IRUS, SOSHF, BinaryRelevance, C45Classifier, MLkNN
from labelance.learners.tree import Problems, fit_many, prepare_data
from labelance.model_selection import IterativeStratifiedKFold
from labelance.neighbors import Neighborhood, find_neighbors
from labelance.sampling import MLROS, MLRUS, MLSMOTE, MLSOL, MLeNN

DTYPES = (
    *("f8", "f8", "f8", "f4", "f2", "i8", "i4", "i1", "u1", "u8", "?"),
    *("c16", "O", "U3", "M8[s]", ">f8", ">i4"),
)
VALUES = {
    "bits": lambda rng, shape: rng.integers(0, 2, shape),
    "codes": lambda rng, shape: rng.integers(0, 4, shape),
    "halves": lambda rng, shape: rng.integers(-3, 4, shape) / 2,
    "shares": lambda rng, shape: rng.random(shape),
    "holes": lambda rng, shape: rng.choice([0, 1, np.nan], shape, p=[0.5, 0.4, 0.1]),
    "huge": lambda rng, shape: rng.choice([0, 1e308, -1e308, np.inf, 5e-324], shape),
    "none": lambda rng, shape: np.zeros(shape),
}


def as_strided(values):
    return np.repeat(values, 2, axis=-1)[..., ::2]


def as_sparse(kind, index):
    return lambda values: with_indices(getattr(sp, kind)(values), index)


def with_indices(matrix, index):
    for name in ("indices", "indptr"):
        setattr(matrix, name, getattr(matrix, name).astype(index))
    return matrix


def tampered(change):
    def make(values):
        matrix = sp.csr_array(values)
        change(matrix)
        return matrix

    return make


def write(name, place, value):
    def change(matrix):
        part = getattr(matrix, name)
        if len(part):
            part[place % len(part)] = value

    return change


SOUND = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "strided": as_strided,
    "backwards": lambda values: values[::-1, ...][::-1, ...],
    "CSR": as_sparse("csr_array", np.int32),
    "CSR, long": as_sparse("csr_matrix", np.int64),
    "CSC": as_sparse("csc_array", np.int32),
    "COO": sp.coo_array,
    "lists": np.ndarray.tolist,
    "frame": pd.DataFrame,
}
BROKEN = {
    "flat": np.ravel,
    "deep": lambda values: values[None],
    "index too large": tampered(write("indices", 0, 10**6)),
    "index negative": tampered(write("indices", -1, -1)),
    "indptr too large": tampered(write("indptr", -1, 10**6)),
    "indptr falls": tampered(write("indptr", 1, -(10**6))),
    "few values": tampered(lambda m: setattr(m, "data", m.data[:-1])),
}
CONTAINERS = SOUND | BROKEN


EXACT = ("f8", "i8", "i4", "i1", "u1", ">f8", ">i4")  # nothing is read as words, or rounded


def make(values, dtype, container):
    """Values as such an array in such a container; None where numpy or scipy has no such thing.

    Also the same as float64, dense in C order or as CSR; None where a function may differ.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            values = values.astype(dtype)
            table = CONTAINERS[container](values)
        except (TypeError, ValueError, OverflowError):
            return None, None
    if dtype not in EXACT or container not in SOUND:
        return table, None
    plain = values.astype(np.float64)
    return table, sp.csr_array(plain) if sp.issparse(table) else plain


@st.composite
def tables(draw):
    """Two tables, mostly of as many rows, the same as plain ones, and a seed for what else."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n = draw(st.sampled_from([40, 12, 12, 3, 2, 1, 0]))
    kinds = [draw(st.sampled_from(list(VALUES))), draw(st.sampled_from(["bits", *VALUES]))]
    shapes = [
        (n, draw(st.sampled_from([3, 70, 1, 0]))),
        (n + draw(st.sampled_from([0, 0, 0, -1, 1])) * (n > 0), draw(st.sampled_from([3, 1, 0]))),
    ]
    pair = []
    for kind, shape in zip(kinds, shapes):
        values = VALUES[kind](rng, shape)
        container = draw(st.sampled_from([*SOUND, *CONTAINERS]))
        pair.append(make(values, draw(st.sampled_from(DTYPES)), container))
    return *zip(*pair), seed


def asked(model, X, Y):
    return model.fit(X, Y).predict_proba(X)


def column(Y):
    return Y if sp.issparse(Y) else np.asarray(Y)[..., :1].ravel()


def neighborhood_of(X, rng):
    """Rows drawn from a little more than there are."""
    n = len(np.asarray(X, dtype=object)) if isinstance(X, list) else X.shape[0]
    rows = rng.integers(-1, n + 1, (n, 2)).astype(rng.choice(["i8", "i4", "u1"]))
    return Neighborhood(rows, np.zeros(rows.shape))


def near(X, rng):
    """Neighbors of another program, any at all."""
    return SimpleNamespace(kneighbors=lambda _: (np.zeros((12, 3)), rng.integers(-2, 14, (12, 3))))


def problems_of(X, Y, rng):
    """Problems with rows and classes a little beyond what there is."""
    starts = np.sort(rng.integers(-1, 7, 3)).astype(np.int64)
    starts[[0, -1]] = rng.choice([0, 0, 0, 1]), 6
    rows, targets = rng.integers(-1, 13, 6) % 13 * rng.integers(0, 2), rng.integers(0, 3, 6)
    classes = rng.integers(0, 4, 2).astype(np.int32)
    return Problems(classes, starts, rows.astype("i4"), targets.astype("i4"), bool(rng.integers(2)))


def grown_from_prepared(X, Y, rng):
    rows = rng.integers(0, 3, (12, 3)).astype(float)
    data = prepare_data(rows, rng.choice([0, 2, 3], 3).astype(np.int32))
    return fit_many(data, problems_of(X, Y, rng)).predict_proba(rows)


FIRST = np.array([True, False, False])
USES = {
    "neighbors": lambda X, Y, rng: find_neighbors(X, 2),
    "neighbors in places": lambda X, Y, rng: find_neighbors(
        X, 2, among=rng.integers(-2, 14, 5), queries=rng.integers(-2, 14, 4)
    ),
    "neighbors, missing": lambda X, Y, rng: find_neighbors(X, 1, missing="distance", scale="range"),
    "neighbors, nominal": lambda X, Y, rng: find_neighbors(X, 2, categorical_features=[0, 1]),
    "neighbors, cosine": lambda X, Y, rng: find_neighbors(X, 2, metric="cosine"),
    "profile": lambda X, Y, rng: profile(X, Y, n_neighbors=2).type_counts,
    "profile, neighborhood": lambda X, Y, rng: (
        profile(X, Y, neighborhood=neighborhood_of(X, rng)).type_counts
    ),
    "local distribution": lambda X, Y, rng: local_distribution(Y, neighborhood_of(Y, rng)).weights,
    "MLSOL": lambda X, Y, rng: MLSOL(random_state=0, n_neighbors=2).fit_resample(X, Y),
    "MLSOL, neighborhood": lambda X, Y, rng: MLSOL(random_state=0, n_neighbors=2).fit_resample(
        X, Y, neighborhood=neighborhood_of(X, rng)
    ),
    "MLSOL, nominal": lambda X, Y, rng: MLSOL(
        random_state=0, n_neighbors=2, categorical_features=[0]
    ).fit_resample(X, Y),
    "MLSMOTE": lambda X, Y, rng: MLSMOTE(random_state=0, k_neighbors=2).fit_resample(X, Y),
    "MLSMOTE, found by others": lambda X, Y, rng: MLSMOTE(
        random_state=0, k_neighbors=near(X, rng)
    ).fit_resample(X, Y),
    "MLROS": lambda X, Y, rng: MLROS(random_state=0).fit_resample(X, Y),
    "MLRUS": lambda X, Y, rng: MLRUS(random_state=0).fit_resample(X, Y),
    "MLeNN": lambda X, Y, rng: MLeNN(n_neighbors=2).fit_resample(X, Y),
    "areas": lambda X, Y, rng: metrics.label_areas(Y, X).auc_roc,
    "ranking loss": lambda X, Y, rng: metrics.ranking_loss(Y, X),
    "coverage": lambda X, Y, rng: metrics.coverage_error(Y, X),
    "macro F": lambda X, Y, rng: metrics.macro_f1(Y, X, zero_division=0),
    "folds": lambda X, Y, rng: list(IterativeStratifiedKFold(2, random_state=0).split(X, Y)),
    "folds, pairs": lambda X, Y, rng: list(
        IterativeStratifiedKFold(2, order=2, random_state=0).split(X, Y)
    ),
    "folds, groups": lambda X, Y, rng: list(
        IterativeStratifiedKFold(2, random_state=0).split(X, Y, rng.integers(-1, 5, 12))
    ),
    "trees": lambda X, Y, rng: asked(BinaryRelevance(), X, Y),
    "trees, nominal": lambda X, Y, rng: asked(BinaryRelevance(categorical_features=FIRST), X, Y),
    "tree": lambda X, Y, rng: asked(C45Classifier(categorical_features=[0]), X, column(Y)),
    "tree, declared": lambda X, Y, rng: asked(
        C45Classifier(categorical_features=[0], n_categories=[2]), X, column(Y)
    ),
    "problems": lambda X, Y, rng: fit_many(X, problems_of(X, Y, rng)).predict_proba(X),
    "prepared": grown_from_prepared,
    "chains": lambda X, Y, rng: asked(ECC(n_estimators=2, random_state=0), X, Y),
    "IRUS": lambda X, Y, rng: asked(IRUS(n_estimators=2, random_state=0), X, Y),
    "COCOA": lambda X, Y, rng: asked(COCOA(n_couples=1, random_state=0), X, Y),
    "SOSHF": lambda X, Y, rng: asked(SOSHF(n_estimators=1, random_state=0), X, Y),
    "MLkNN": lambda X, Y, rng: asked(MLkNN(n_neighbors=2), X, Y),
    "MLkNN, neighborhood": lambda X, Y, rng: (
        MLkNN(n_neighbors=2).fit(X, Y, neighborhood=neighborhood_of(X, rng)).predict_proba(X)
    ),
    "ensemble": lambda X, Y, rng: asked(
        EMLS(MLkNN(n_neighbors=1), n_estimators=2, random_state=0), X, Y
    ),
    "budget": lambda X, Y, rng: decisions.decide_within_budget(X, per_row=2, random_state=0).y,
    "budget of labels": lambda X, Y, rng: decisions.decide_within_budget(X, per_label=[1, 0, 2]).y,
    "expected F": lambda X, Y, rng: decisions.maximize_expected_f(X, average="samples"),
    "thresholds": lambda X, Y, rng: decisions.find_thresholds(Y, X).thresholds,
}


def outcome(use, X, Y, seed):
    """What a call gives as plain arrays, or None where it refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(USES[use](X, Y, np.random.default_rng(seed)))
        except (LabelanceError, ValueError, TypeError):
            return None


def plain(result):
    if isinstance(result, list) and result and isinstance(result[0], list):
        result = np.asarray(result)  # labels come out as lists, as they went in
    if isinstance(result, (tuple, list)):
        return [each for part in result for each in plain(part)]
    if isinstance(result, Neighborhood):
        return [result.indices, result.distances]
    if isinstance(result, pd.DataFrame):
        result = result.to_numpy()
    return [result.toarray() if sp.issparse(result) else np.asarray(result)]


@pytest.mark.slow
@pytest.mark.parametrize("use", USES)
@given(tables())
def test_hostile_arrays_are_refused_or_taken(use, drawn):
    hostile, same, seed = drawn
    if any(table is None for table in hostile):
        return
    found = outcome(use, *hostile, seed)
    if found is not None and all(table is not None for table in same):
        expected = outcome(use, *same, seed)
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            rounded = 0.5 if one.dtype.kind in "iu" else 0  # new rows of integers are integers
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=rounded)
