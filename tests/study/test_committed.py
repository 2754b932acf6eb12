"""The results that are kept in the repository: computed again, and shown as they are."""

import importlib.util
from pathlib import Path

import pytest

from labelance.study import import_results, verify_results

ROOT = Path(__file__).parents[2]
PAPER, FAIR = ROOT / "results" / "paper", ROOT / "results" / "fair"
PAGE = ROOT / "docs" / "user_guide" / "reproduction.md"

pytestmark = pytest.mark.skipif(not PAPER.is_dir(), reason="results/ is not in this copy")


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
