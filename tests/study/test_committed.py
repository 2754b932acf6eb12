"""The results that are kept in the repository: computed again, and shown as they are."""

import importlib.util
from pathlib import Path

import pytest

from labelance.study import cell_of, import_results, load_study, verify_results

ROOT = Path(__file__).parents[2]
PAPER, FAIR, RIVALS = (ROOT / "results" / name for name in ("paper", "fair", "rivals"))
GUIDE = ROOT / "docs" / "user_guide"

pytestmark = pytest.mark.skipif(not PAPER.is_dir(), reason="results/ is not in this copy")


@pytest.mark.parametrize("folder", [PAPER, FAIR, RIVALS], ids=lambda folder: folder.name)
def test_they_belong_to_the_preset_of_today(folder):
    found = import_results(folder)
    parts = {
        kind: [part.name for part in getattr(found.study, kind)]
        for kind in ("datasets", "learners", "methods")
    }
    assert found.study == load_study(folder.name).only(**parts, repeats=found.study.repeats)
    assert found.about["config"] == found.study.hash
    assert all(row["config"] == found.study.config(cell_of(row)) for row in found.rows)


@pytest.mark.data
@pytest.mark.usefixtures("data_dir")
def test_random_cells_come_out_the_same():
    checked = verify_results(PAPER, sample=20, datasets=["flags"])
    assert not checked.differing
    assert len(checked.cells) == 20


@pytest.mark.data
@pytest.mark.usefixtures("data_dir")
def test_cells_of_rivals_come_out_the_same():
    """Learners that are methods, too."""
    checked = verify_results(RIVALS, sample=12, datasets=["flags"])
    assert not checked.differing
    assert len(checked.cells) == 12


def test_pages_show_what_the_results_say():
    spec = importlib.util.spec_from_file_location("claims", ROOT / "benchmarks" / "claims.py")
    claims = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(claims)
    paper, fair, rivals = (import_results(folder).frame() for folder in (PAPER, FAIR, RIVALS))
    for name, parts in (
        ("reproduction", claims.figures(paper, fair)),
        ("methods", claims.rivals_of_the_paper(rivals)),
    ):
        page = (GUIDE / f"{name}.md").read_text()
        assert all(f"<!-- begin: {part} -->" in page for part in parts)
        assert claims.fill(page, parts) == page
