"""The cost model of the page "Scale": it finds the rates of times that follow it, and adds up."""

import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
if not BENCHMARKS.is_dir():
    pytest.skip("the benchmarks are not beside the tests", allow_module_level=True)


@pytest.fixture(scope="module")
def cost():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import cost
    finally:
        sys.path.remove(str(BENCHMARKS))
    return cost


def test_the_fit_finds_the_rates_of_times_that_follow_the_model(cost):
    true = cost.Rates(flop=2e-11, row=8e-5, draw=3e-6, cell=4e-9, error=0.0)
    n, d = np.array([[3e4, 64], [1e5, 64], [3e5, 64], [1e6, 64], [3e4, 256], [1e5, 256]]).T
    times = np.array([true.seconds(*pair) for pair in zip(n, d)]).T
    found = cost.fit(n, d, *times)
    assert found.error < 1e-6
    for name in ("flop", "row", "draw", "cell"):
        assert getattr(found, name) == pytest.approx(getattr(true, name), rel=1e-4)
    noisy = cost.fit(n, d, *(times * np.random.default_rng(0).normal(1, 0.05, times.shape)))
    assert 0 < noisy.error < 0.3


def test_products_are_linear_until_cells_outnumber_what_a_row_looks_at(cost):
    small, large = cost.count_products(1e6, 64), cost.count_products(2e6, 64)
    assert large.scanning == 2 * small.scanning
    assert large.cells == 4 * small.cells
    assert 2 < large.dividing / small.dividing < 4
    assert small.scanning > small.dividing + small.cells
    assert cost.count_products(1e6, 128).all == pytest.approx(2 * small.all)


def test_twice_the_nodes_take_half_the_time_and_send_more(cost):
    rates = cost.Rates(flop=2e-11, row=8e-5, draw=3e-6, cell=4e-9, error=0.1)
    one, few, many = (
        cost.project(1e8, 768, rates, cost.Cluster(nodes, 16, 10.0), spread)
        for nodes, spread in ((1, 1), (25, 4), (50, 4))
    )
    assert one.shuffled == one.visiting == one.answers == one.network_seconds == 0
    assert few.compute_seconds == pytest.approx(2 * many.compute_seconds)
    assert few.cpu_seconds == many.cpu_seconds
    assert few.shuffled < many.shuffled < many.data == 1e8 * 768 * 4
    assert many.visiting == 3 * many.data


@pytest.mark.parametrize("kind", ["clusters", "few dimensions"])
def test_rows_visit_some_of_the_nodes_and_at_least_their_own(cost, kind):
    assert cost.measure_spread(kind, 2000, 1) == 1
    assert 1 <= cost.measure_spread(kind, 2000, 4) <= 4


def test_figures_are_kept_once_each_and_read_by_size(cost, tmp_path):
    import scale

    line = {"kind": "text", "method": "approx", "rows": 10, "features": 20_000, "search": 1.0}
    line |= {"mlsol": 2.0, "recall": 0.99, "memory": 1.5}
    for rows, seconds in ((20, 5.0), (10, 1.0), (10, 3.0)):
        scale.keep(line | {"rows": rows, "search": seconds}, tmp_path / "kept.csv")
    lines = scale.read(tmp_path / "kept.csv")
    np.testing.assert_array_equal(
        scale.curve(lines, "text", "approx"), [[10, 3, 2, 0.99, 1.5], [20, 5, 2, 0.99, 1.5]]
    )
    assert len(scale.curve(lines, "clusters", "exact")) == 0
