"""The results that are kept in the repository: computed again, and shown as they are."""

from importlib import import_module
from pathlib import Path

import pytest

from labelance.study import cell_of, import_results, load_study, verify_results

ROOT = Path(__file__).parents[2]
PAPER, FAIR, RIVALS, BEYOND = (
    ROOT / "results" / name for name in ("paper", "fair", "rivals", "beyond")
)
GUIDE = ROOT / "docs" / "user_guide"

pytestmark = pytest.mark.skipif(not PAPER.is_dir(), reason="results/ is not in this copy")


@pytest.mark.parametrize("folder", [PAPER, FAIR, RIVALS, BEYOND], ids=lambda folder: folder.name)
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


@pytest.mark.data
@pytest.mark.usefixtures("data_dir")
def test_cells_of_an_ensemble_come_out_the_same():
    checked = verify_results(BEYOND, sample=6, datasets=["flags"])
    assert not checked.differing
    assert len(checked.cells) == 6


@pytest.mark.parametrize(
    ("script", "make", "folders", "page"),
    [
        ("claims", "figures", (PAPER, FAIR), "reproduction"),
        ("claims", "rivals_of_the_paper", (RIVALS,), "methods"),
        ("beyond", "figures", (PAPER, BEYOND), "stacked_bagging"),
    ],
)
def test_pages_show_what_the_results_say(script, make, folders, page, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    frames = (import_results(folder).frame() for folder in folders)
    parts = getattr(import_module(script), make)(*frames)
    text = (GUIDE / f"{page}.md").read_text()
    assert all(f"<!-- begin: {name} -->" in text for name in parts)
    assert import_module("claims").fill(text, parts) == text
