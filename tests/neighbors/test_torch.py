"""The engine for tensors gives the indices and the distances of the other engines."""

from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from labelance._arrays._containers import HOST_DEVICES
from labelance.neighbors import _torch as engine
from labelance.neighbors import find_neighbors

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def _on_device():
    """Say that numpy cannot read any tensor, so that tensors on the CPU are searched as such."""
    HOST_DEVICES.remove("cpu")
    yield
    HOST_DEVICES.add("cpu")


def assert_same(X, k, queries=None, **options):
    expected = find_neighbors(X, k, queries=queries, **options)
    if queries is not None:
        queries = torch.from_numpy(queries)
    found = find_neighbors(torch.from_numpy(X), k, queries=queries, **options)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.distances, expected.distances)


def hostile(kind, n=700, d=6):
    rng = np.random.default_rng(5)
    normal = rng.normal(size=(n, d))
    return {
        "normal": normal,
        "ties": rng.integers(0, 3, (n, d)).astype(float),
        "copies": normal[np.arange(n) // 100],
        "one row": np.repeat(normal[:1], n, axis=0),
        "tight clusters": 1e3 * normal[np.arange(n) // 100] + 1e-3 * normal,
        "offset": normal + 1e4,
        "heavy tails": normal * np.exp(4 * rng.normal(size=(n, 1))),
        "huge": 1e15 * normal,
        "tiny": 1e-15 * normal,
    }[kind]


KINDS = [
    "normal",
    "ties",
    "copies",
    "one row",
    "tight clusters",
    "offset",
    "heavy tails",
    "huge",
    "tiny",
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_hostile_data(kind, dtype, monkeypatch):
    monkeypatch.setattr(engine, "_FEW", 64)  # groups for few rows too
    X = hostile(kind).astype(dtype)
    assert_same(X, 7)
    assert_same(X, 3, metric="cosine")
    assert_same(X, 3, queries=X[:90] + dtype(0.25))


@pytest.mark.parametrize("scale", [1e150, 1e-160])
def test_squares_beyond_float64_rule_nothing_out(scale):
    assert_same(hostile("normal", 60) * scale, 3)
    assert_same(hostile("normal", 60) * scale, 3, metric="cosine")


@pytest.mark.parametrize("size", [1e200, 1e-170, 1e-310])
def test_rows_of_any_length_have_a_direction(size):
    lengths = np.where(np.arange(60) % 3, 1.0, size)
    assert_same(hostile("normal", 60) * lengths[:, None], 3, metric="cosine")


@pytest.mark.parametrize("n", [2, 127, 128, 129])
def test_odd_numbers_of_rows(n, monkeypatch):
    monkeypatch.setattr(engine, "_FEW", 16)
    X = hostile("normal", n).astype(np.float32)
    assert_same(X, 1)
    assert_same(X, min(64, n - 1))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_floats_are_searched_as_float32(dtype):
    X = torch.from_numpy(hostile("normal")).to(getattr(torch, dtype))
    found, expected = find_neighbors(X, 5), find_neighbors(X.float().numpy(), 5)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.distances, expected.distances)


@pytest.mark.parametrize("n", [1, 5])
def test_one_row_has_neighbors_among_queries_only(n):
    assert_same(hostile("normal", n), 1, queries=hostile("normal", 3))


def test_inside_a_bag_and_in_range_scale():
    X = hostile("normal")
    assert_same(X, 4, among=np.arange(0, 700, 7)[::-1])
    assert_same(X, 4, scale="range")


def test_memory_is_bounded_and_blocks_change_nothing(monkeypatch):
    monkeypatch.setattr(engine, "_FEW", 64)
    monkeypatch.setattr(engine, "_CELLS", 9000)
    monkeypatch.setattr(engine, "_PAIRS", 300)
    for kind in ("normal", "copies", "one row"):
        assert_same(hostile(kind), 7)


def test_coarse_bounds_lead_to_float64(monkeypatch):
    monkeypatch.setattr(engine, "_TOO_MANY", 40)
    asked = []
    prepare = engine._prepare
    monkeypatch.setattr(
        engine, "_prepare", lambda *a, **options: asked.append(options) or prepare(*a, **options)
    )
    assert_same(hostile("tight clusters").astype(np.float32), 7)
    assert asked == [{}, {"double": True}]


def test_products_shortened_to_tf32_are_not_trusted(monkeypatch):
    monkeypatch.setattr(torch, "get_float32_matmul_precision", lambda: "high")
    X = torch.from_numpy(hostile("normal").astype(np.float32))
    seen = []
    make = engine._make_scores
    monkeypatch.setattr(
        engine, "_make_scores", lambda s, c, *rest: seen.append(c.dtype) or make(s, c, *rest)
    )
    find_neighbors(X, 3)
    assert seen == [torch.float64]


@pytest.mark.parametrize("switch", ["legacy", "newer"])
def test_shorter_products_of_float32_do_not_reach_the_answer(switch):
    X = np.random.default_rng(0).normal(size=(300, 20)).astype(np.float32)
    expected = find_neighbors(X, 5)
    matmul = torch.backends.cuda.matmul
    if switch == "newer" and not hasattr(matmul, "fp32_precision"):
        pytest.skip("this torch has no fp32_precision")
    before = matmul.fp32_precision if switch == "newer" else torch.get_float32_matmul_precision()
    try:
        if switch == "newer":
            matmul.fp32_precision = "tf32"
        else:
            torch.set_float32_matmul_precision("high")
        found = find_neighbors(torch.from_numpy(X), 5)
    finally:
        if switch == "newer":
            matmul.fp32_precision = before
        else:
            torch.set_float32_matmul_precision(before)
    np.testing.assert_array_equal(np.asarray(found.indices), expected.indices)


def test_blocks_of_queries_are_counted(monkeypatch):
    counted = []

    @contextmanager
    def loop(what, total, unit):
        yield SimpleNamespace(advance=counted.append)
        assert (what, total, unit) == ("Searching neighbors", 700, "rows")

    monkeypatch.setattr(engine, "loop", loop)
    monkeypatch.setattr(engine, "_CELLS", 700 * 100)
    find_neighbors(torch.from_numpy(hostile("normal")), 3)
    assert sum(counted) == 700
    assert len(counted) > 1
