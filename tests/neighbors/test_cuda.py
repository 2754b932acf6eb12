"""The engine for NVIDIA GPUs, on data made to break its bounds.

They need a GPU: Triton's interpreter takes minutes for a few hundred rows.
"""

import numpy as np
import pytest

from labelance.neighbors import _tensor_metric, find_neighbors
from labelance.neighbors import _torch as engine

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
if not torch.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)


@pytest.fixture
def kernels(monkeypatch):
    """Let the engine for NVIDIA GPUs search few rows too."""
    from labelance.neighbors import _cuda

    monkeypatch.setattr(engine, "_MANY", 256)
    monkeypatch.setattr(_cuda, "_SAMPLE", 256)
    monkeypatch.setattr(_cuda, "_FIRST", 8)
    return _cuda


def make_rows(kind, n=600, d=20):
    rng = np.random.default_rng(7)
    normal = rng.normal(size=(n, d)).astype(np.float32)
    clusters = normal[np.arange(n) % 6]
    return {
        "normal": normal,
        "one feature": normal[:, :1],
        "duplicates": normal[np.arange(n) // 2],
        "copies": normal[np.arange(n) // 40],
        "tight clusters": (clusters + 0.01 * normal).astype(np.float32),
        "tighter clusters": (clusters + 1e-4 * normal).astype(np.float32),
        "huge norms": 1e18 * normal,
        "tiny norms": 1e-18 * normal,
        "offset": normal + np.float32(300),
        "heavy tails": normal * np.exp(2 * rng.normal(size=(n, 1))).astype(np.float32),
        "whole numbers": rng.integers(0, 3, (n, d)).astype(np.float32),
    }[kind]


KINDS = [
    "normal",
    "one feature",
    "duplicates",
    "copies",
    "tight clusters",
    "tighter clusters",
    "huge norms",
    "tiny norms",
    "offset",
    "heavy tails",
    "whole numbers",
]


def assert_same(X, k, **options):
    found = find_neighbors(torch.from_numpy(X).cuda(), k, **options)
    expected = find_neighbors(X, k, **options)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.distances, expected.distances)


@pytest.mark.parametrize("kind", KINDS)
def test_data_made_to_break_the_bounds(kind, kernels):
    assert_same(make_rows(kind), 5)


@pytest.mark.parametrize("n", [256, 383, 384, 385, 512])
def test_numbers_of_rows_around_a_tile(n, kernels):
    assert_same(make_rows("normal", n), 3)


def test_many_neighbors(kernels, monkeypatch):
    monkeypatch.setattr(kernels, "_FIRST", 4)
    assert_same(make_rows("normal", 400), 64)


@pytest.mark.parametrize("options", [{"metric": "cosine"}, {"scale": "range"}], ids=str)
def test_other_distances(options, kernels):
    assert_same(make_rows("normal"), 5, **options)


def test_a_row_of_zeros_has_no_direction(kernels):
    X = make_rows("normal")
    X[[3, 500]] = 0
    assert_same(X, 5, metric="cosine")


def test_long_lists_are_opened(kernels, monkeypatch):
    monkeypatch.setattr(kernels, "_LONG", 6)
    opened = []
    once = kernels.Lists._open
    monkeypatch.setattr(
        kernels.Lists, "_open", lambda self, rows: opened.append(len(rows)) or once(self, rows)
    )
    assert_same(make_rows("tight clusters"), 3)
    assert len(opened) > 1  # not at the end alone


def test_rows_whose_list_overflows_are_searched_otherwise(kernels):
    left = []
    blocks = engine._search_blocks

    def search(some):
        left.append(len(some.Q))
        return blocks(some)

    engine._search_blocks = search
    try:
        X = make_rows("normal", 500)
        X[:200] = X[0]
        assert_same(X, 5)
    finally:
        engine._search_blocks = blocks
    assert len(left) == 1
    assert 200 <= left[0] < 250  # near rows may overflow with them


def test_distances_have_the_bits_of_any_other_engine(kernels, monkeypatch):
    monkeypatch.setattr(_tensor_metric, "has_triton", lambda X: True)
    assert_same(make_rows("heavy tails", 300), 4)
    assert_same(make_rows("normal", 300), 4, scale="range")
