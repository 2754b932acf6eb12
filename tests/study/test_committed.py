"""The results that are kept in the repository: computed again, and shown as they are."""

import importlib.util
from pathlib import Path

import pytest

from labelance.study import cell_of, import_results, load_study, verify_results

ROOT = Path(__file__).parents[2]
PAPER, FAIR = ROOT / "results" / "paper", ROOT / "results" / "fair"
PAGE = ROOT / "docs" / "user_guide" / "reproduction.md"

pytestmark = pytest.mark.skipif(not PAPER.is_dir(), reason="results/ is not in this copy")


@pytest.mark.parametrize("folder", [PAPER, FAIR], ids=lambda folder: folder.name)
def test_they_belong_to_the_preset_of_today(folder):
    found = import_results(folder)
    parts = {
        kind: [part.name for part in getattr(found.study, kind)]
        for kind in ("datasets", "learners", "methods")
    }
    assert found.study == load_study(folder.name).only(**parts)
    assert found.about["config"] == found.study.hash
    assert all(row["config"] == found.study.config(cell_of(row)) for row in found.rows)


@pytest.mark.data
@pytest.mark.usefixtures("data_dir")
def test_random_cells_come_out_the_same():
    checked = verify_results(PAPER, sample=20, datasets=["flags"])
    assert not checked.differing
    assert len(checked.cells) == 20


def test_the_page_shows_what_the_results_say():
    spec = importlib.util.spec_from_file_location("claims", ROOT / "benchmarks" / "claims.py")
    claims = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(claims)
    parts = claims.figures(import_results(PAPER).frame(), import_results(FAIR).frame())
    page = PAGE.read_text()
    assert all(f"<!-- begin: {name} -->" in page for name in parts)
    assert claims.fill(page, parts) == page
