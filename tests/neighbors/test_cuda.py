"""The engine for NVIDIA GPUs, on data made to break its bounds.

Most tests need a GPU. Without one, Triton's interpreter runs the kernels on a few rows in small
tiles: it is slow, since it prepares the language anew for every call inside a kernel.
"""

import os
from contextlib import nullcontext

import numpy as np
import pytest

from labelance._arrays._containers import HOST_DEVICES
from labelance.neighbors import _tensor_metric, find_neighbors
from labelance.neighbors import _torch as engine

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported, by us or by torch
pytest.importorskip("triton")
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


@pytest.fixture
def interpreter(monkeypatch):
    """Let Triton's interpreter run the kernels, in tiles of 16 rows, and say what overflows."""
    if torch.cuda.is_available():
        pytest.skip("a GPU runs the kernels in the other tests")
    from labelance.neighbors import _cuda

    sizes = {
        "TILE": 16,
        "GROUP": 4,
        "_SAMPLE": 32,
        "_FIRST": 4,
        "_ROOM": 16,
        "_LONG": 5,
        "_STEP": 16,
    }
    for name, size in sizes.items():
        monkeypatch.setattr(_cuda, name, size)
    monkeypatch.setattr(engine, "_MANY", 32)
    monkeypatch.setattr(engine, "_free_bytes", lambda X: 2**40)
    monkeypatch.setattr(torch.cuda, "device", lambda device: nullcontext())
    for module in (engine, _tensor_metric):
        monkeypatch.setattr(module, "has_triton", lambda X: True)
    HOST_DEVICES.remove("cpu")
    yield _cuda
    HOST_DEVICES.add("cpu")


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_kernels_in_the_interpreter(metric, interpreter):
    rng = np.random.default_rng(7)
    normal = rng.normal(size=(44, 6)).astype(np.float32)
    X = normal + np.float32(3)
    X[8:14] = X[7] + np.float32(1e-3) * normal[8:14]  # a tight cluster
    X[14:18] = X[7]  # copies
    X[18:24] *= np.exp(2 * normal[18:24, :1])  # heavy tails
    found = find_neighbors(torch.from_numpy(X), 3, metric=metric)
    expected = find_neighbors(X, 3, metric=metric)
    np.testing.assert_array_equal(found.indices, expected.indices)
    # The interpreter is torch on a processor, which may be off by one in the last place.
    np.testing.assert_array_max_ulp(found.distances, expected.distances, maxulp=1)


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


@needs_gpu
@pytest.mark.parametrize("kind", KINDS)
def test_data_made_to_break_the_bounds(kind, kernels):
    assert_same(make_rows(kind), 5)


def test_the_first_phase_leaves_room_on_the_lists():
    from labelance.neighbors import _cuda

    n_groups = _cuda._SAMPLE // _cuda._FIRST
    rng = np.random.default_rng(0)
    sample = np.sort(rng.random((2000, n_groups, _cuda._FIRST)).min(axis=2), axis=1)
    for k in (1, 5, 32, 64):
        met = 2 * _cuda._first_step(k) * _cuda.TILE // _cuda.GROUP
        # The smallest of as many random numbers as a group has rows.
        groups = 1 - rng.random((2000, met)) ** (1 / _cuda.GROUP)
        listed = (groups <= sample[:, [k - 1]]).sum(axis=1)
        assert listed.max() <= _cuda._ROOM
    assert _cuda._first_step(5) == _cuda._SAMPLE // _cuda.TILE


def test_a_phase_meets_half_as_many_again_at_most():
    from labelance.neighbors import _cuda

    for end in (40, 4_000, 40_000):
        for fitting in (0.0, 10.0, 1e9):
            met, phases = 32, 0
            while met < end:
                step = _cuda._next_step(met, end, fitting)
                assert 1 <= step <= met // 2
                met, phases = met + step, phases + 1
            assert phases < 200


@needs_gpu
@pytest.mark.parametrize("n", [256, 383, 384, 385, 512])
def test_numbers_of_rows_around_a_tile(n, kernels):
    assert_same(make_rows("normal", n), 3)


@needs_gpu
def test_many_neighbors(kernels, monkeypatch):
    monkeypatch.setattr(kernels, "_FIRST", 4)
    assert_same(make_rows("normal", 400), 64)


@needs_gpu
@pytest.mark.parametrize("options", [{"metric": "cosine"}, {"scale": "range"}], ids=str)
def test_other_distances(options, kernels):
    assert_same(make_rows("normal"), 5, **options)


@needs_gpu
def test_a_row_of_zeros_has_no_direction(kernels):
    X = make_rows("normal")
    X[[3, 500]] = 0
    assert_same(X, 5, metric="cosine")


@needs_gpu
def test_long_lists_are_opened(kernels, monkeypatch):
    monkeypatch.setattr(kernels, "_LONG", 6)
    opened = []
    once = kernels.Lists._open
    monkeypatch.setattr(
        kernels.Lists, "_open", lambda self, rows: opened.append(len(rows)) or once(self, rows)
    )
    assert_same(make_rows("tight clusters"), 3)
    assert len(opened) > 1  # not at the end alone


@needs_gpu
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


@needs_gpu
def test_distances_have_the_bits_of_any_other_engine(kernels, monkeypatch):
    monkeypatch.setattr(_tensor_metric, "has_triton", lambda X: True)
    assert_same(make_rows("heavy tails", 300), 4)
    assert_same(make_rows("normal", 300), 4, scale="range")


@needs_gpu
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_floats(dtype, kernels):
    X = torch.from_numpy(make_rows("normal")).to("cuda", getattr(torch, dtype))
    expected = find_neighbors(X.float().cpu().numpy(), 5)
    found = find_neighbors(X, 5)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.distances, expected.distances)


@needs_gpu
def test_too_little_memory_leads_to_blocks(kernels, monkeypatch):
    monkeypatch.setattr(engine, "_free_bytes", lambda X: 0)
    monkeypatch.setattr(kernels, "find_candidates", None)  # would fail if it was called
    assert_same(make_rows("normal"), 5)
