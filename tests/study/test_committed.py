"""The results that are kept in the repository: computed again, and shown as they are."""

from pathlib import Path

import pandas as pd
import pytest

from labelance.study import import_results, load_study, verify_results
from labelance.study._store import cell_of

ROOT = Path(__file__).parents[2]
PAPER, FAIR, RIVALS, BEYOND, PRACTICE, SPARSE, BOARD = (
    ROOT / "results" / name
    for name in ("paper", "fair", "rivals", "beyond", "practice", "practice-sparse", "leaderboard")
)

pytestmark = pytest.mark.skipif(not PAPER.is_dir(), reason="results/ is not in this copy")


@pytest.mark.parametrize(
    "folder", [PAPER, FAIR, RIVALS, BEYOND, PRACTICE, SPARSE, BOARD], ids=lambda folder: folder.name
)
def test_they_belong_to_the_preset_of_today(folder):
    found = import_results(folder)
    parts = {
        kind: [part.name for part in getattr(found.study, kind)]
        for kind in ("datasets", "learners", "methods")
    }
    assert found.study == load_study(folder.name).only(**parts, repeats=found.study.repeats)
    assert found.about["config"] == found.study.hash
    assert all(row["config"] == found.study.config(cell_of(row)) for row in found.rows)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.usefixtures("data_dir")
@pytest.mark.parametrize(("folder", "sample"), [(PAPER, 20), (RIVALS, 12), (BEYOND, 6)])
def test_random_cells_come_out_the_same(folder, sample):
    """Also of learners that are methods, and of an ensemble."""
    checked = verify_results(folder, sample=sample, datasets=["flags"])
    assert not checked.differing
    assert len(checked.cells) == sample


@pytest.mark.parametrize("folder", [PRACTICE, SPARSE], ids=lambda folder: folder.name)
def test_figures_of_labels_have_the_means_of_the_cells(folder):
    cells, labels = import_results(folder).frame(), pd.read_csv(folder / "labels.csv")
    keys = ["dataset", "learner", "method"]
    expected = cells.groupby(keys)["macro_f1"].mean()
    found = labels.groupby(keys)["f1"].mean()
    pd.testing.assert_series_equal(found, expected, check_names=False, rtol=1e-5)
