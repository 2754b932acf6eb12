"""The figures of README and docs are those of committed results, and a wrong one is noticed."""

import re
import sys
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]
if not (ROOT / "results").is_dir():
    pytest.skip("results/ is not in this copy", allow_module_level=True)

BLOCK = "One\n<!-- begin: made/line -->\n12 of 14\n<!-- end: made/line -->\ntwo\n"
INLINE = "It is <!-- begin: made/number -->3.5<!-- end: made/number --> points.\n"


@pytest.fixture(scope="module")
def claims():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        return import_module("claims")
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


@pytest.fixture
def made(claims, monkeypatch, tmp_path):
    """The command with a source and a page of its own."""
    found = {"line": "12 of 14", "number": "3.5"}
    monkeypatch.setattr(claims, "SOURCES", {"made": (lambda folder: found, ("made",))})
    monkeypatch.setattr(claims, "pages", lambda: [tmp_path / "page.md"])
    claims.figures_of.cache_clear()

    def call(text, *arguments):
        (tmp_path / "page.md").write_text(text)
        monkeypatch.setattr(sys, "argv", ["claims.py", *arguments])
        return claims.main(), (tmp_path / "page.md").read_text()

    yield call
    claims.figures_of.cache_clear()


def test_pages_with_the_figures_of_results_pass(made):
    assert made(BLOCK + INLINE) == (0, BLOCK + INLINE)


@pytest.mark.parametrize("wrong", [("12 of 14", "13 of 14"), ("12 of 14", ""), ("3.5", "3.6")])
def test_a_changed_figure_fails_and_is_written_again(made, wrong, capsys):
    page = (BLOCK + INLINE).replace(*wrong)
    assert made(page) == (1, page)
    assert "differs" in capsys.readouterr().out
    assert made(page, "--write") == (0, BLOCK + INLINE)


@pytest.mark.parametrize(
    ("page", "told"),
    [
        (BLOCK, "no page shows made/number"),
        (BLOCK + INLINE.replace("number", "other"), "no source has the figure made/other"),
        (BLOCK + INLINE.replace("made/", "nowhere/"), "no source has the figure nowhere/number"),
        (BLOCK + INLINE.replace("end: made/number", "end: made/line"), "no counterpart"),
        (BLOCK + INLINE + "<!-- end: made/line -->\n", "no counterpart"),
        (BLOCK + INLINE.removeprefix("It is "), "a line begins with <!-- begin: made/number -->"),
    ],
)
def test_places_and_figures_belong_together(made, page, told, capsys):
    assert made(page) == (1, page)
    assert told in capsys.readouterr().out


@pytest.mark.slow  # .ci/run has it too; here every place of the real pages is changed
def test_every_place_of_the_real_pages_is_checked(claims):
    pages = {page: page.read_text(encoding="utf-8") for page in claims.pages()}
    assert not claims.unused(pages.values())
    for page, text in pages.items():
        assert claims.fill(text) == text, page
        for place in claims.PLACE.finditer(text):
            digit = re.compile(r"\d").search(text, place.start(3), place.end(3))
            changed = text[: digit.start()] + str(9 - int(digit[0])) + text[digit.end() :]
            assert claims.differing(changed, claims.fill(changed)) == [place[2]], page


@pytest.mark.parametrize("folder", sorted(path.name for path in (ROOT / "results").iterdir()))
def test_every_folder_of_results_is_shown_somewhere(folder, claims):
    assert any(folder in folders for _, folders in claims.SOURCES.values())


def test_the_leaderboard_shows_a_dataset_without_thresholds(claims):
    """A board that is run in pieces may have learners as they are before those with thresholds."""
    board = import_module("figures.leaderboard")
    keys = [("flags", "MLkNN", "Default"), ("flags", "MLkNN", "Thresholds"),
            ("emotions", "MLkNN", "Default")]  # fmt: skip
    index = pd.MultiIndex.from_tuples(keys, names=board.KEYS)
    means = pd.DataFrame({"macro_f1": [0.5, 0.6, 0.7]}, index).sort_index()
    best = pd.MultiIndex.from_product([["flags", "emotions"], ["MACRO_F1"]])
    published = pd.DataFrame({"CC": [0.4, 0.8]}, best.set_names(["dataset", "metric"]))
    lines = board.against_published(means, published, "macro_f1").splitlines()
    assert lines[2] == "| flags | 40.0 (CC) |  | 50.0 (MLkNN) | 60.0 (MLkNN) |"
    assert lines[3] == "| emotions | 80.0 (CC) |  | 70.0 (MLkNN) |  |"


def test_pages_that_claim_to_beat_published_methods_say_what_these_were_tuned_for():
    pages = [ROOT / "CHANGELOG.md", ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")]
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    assert [page.name for page, text in texts.items() if "28 tuned" in text] == []
    claim = re.compile(r"best of (the 28|them|28)")
    silent = {p.name for p, text in texts.items() if claim.search(text) and "Hamming" not in text}
    assert silent == set()
    for name in ("docs/studies/state_of_the_art.md", "docs/user_guide/decide.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert text.index("leaderboard/lrap-won") < text.index("leaderboard/n-ours")
        assert re.search(r"expect\s+less", text)
