"""The figures of the page "How far does one machine go?" as they are kept."""

from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
if not BENCHMARKS.is_dir():
    pytest.skip("the benchmarks are not beside the tests", allow_module_level=True)


@pytest.fixture
def scale(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import scale

    return scale


def test_figures_are_kept_once_each_and_read_by_size(scale, tmp_path):
    line = {"kind": "text", "method": "approx", "rows": 10, "features": 20_000, "search": 1.0}
    line |= {"mlsol": 2.0, "recall": 0.99, "memory": 1.5}
    for rows, seconds in ((20, 5.0), (10, 1.0), (10, 3.0)):
        scale.keep(line | {"rows": rows, "search": seconds}, tmp_path / "kept.csv")
    lines = scale.read(tmp_path / "kept.csv")
    np.testing.assert_array_equal(
        scale.curve(lines, "text", "approx"), [[10, 3, 2, 0.99, 1.5], [20, 5, 2, 0.99, 1.5]]
    )
    assert len(scale.curve(lines, "clusters", "exact")) == 0
