"""The HTML report in a real browser, as wide as a phone and as a desk."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from matplotlib.image import imread

from labelance.report import write_report

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
SIZES = {"phone": (390, 844), "desk": (1280, 900)}
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no chromium; .ci/install_browser installs it"
)


@pytest.fixture(scope="module")
def report(hostile_results, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("browser") / "report.html"
    return write_report(hostile_results, path, title="A </script> & report")


def browse(page: Path, *options: str, size: tuple[int, int]) -> str:
    """Open a file as a person offline would, and return the browser's output."""
    width, height = size
    done = subprocess.run(
        [
            BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--hide-scrollbars", f"--user-data-dir={page.parent / 'profile'}",
            f"--window-size={max(width, 500)},{height + 200}", *options, page.as_uri(),
        ],
        capture_output=True, text=True, encoding="utf-8", timeout=120, check=True,
    )  # fmt: skip
    return done.stdout


def frame(report: Path, size: tuple[int, int]) -> Path:
    """Write the page that shows the report in a frame of this size."""
    text = json.dumps(report.read_text(encoding="utf-8")).replace("</", "<\\/")
    text = text.replace("<!--", "<\\u0021--")
    outer = (Path(__file__).parent / "frame.html").read_text(encoding="utf-8")
    for word, value in (("WIDTH", size[0]), ("HEIGHT", size[1]), ("PAGE", text)):
        outer = outer.replace(f"= {word}", f"= {value}")
    path = report.with_name(f"frame-{size[0]}.html")
    path.write_text(outer, encoding="utf-8")
    return path


def numbers(cells: list[str]) -> list[float]:
    return [float(cell.replace(",", "")) for cell in cells[:-1]]


@pytest.mark.parametrize("device", SIZES)
def test_the_page_fits_and_works(report, device):
    dom = browse(frame(report, SIZES[device]), "--dump-dom", size=SIZES[device])
    found = json.loads(html.unescape(re.search(r'id="found"[^>]*>(.*?)</pre>', dom, re.DOTALL)[1]))
    assert found["errors"] == []
    assert found["ready"] == "yes"
    assert found["title"] == "A </script> & report"
    assert found["width"] == SIZES[device][0]
    assert found["overflowFirst"] <= 0
    assert found["overflowAll"] <= 0
    assert found["tooWide"] == 0
    assert found["smallestLetters"] >= 9
    # One measure of one learner and its times; then three measures and times of both learners.
    assert (found["shownFirst"], found["shownAll"]) == (2, 8)
    assert numbers(found["up"]) == sorted(numbers(found["up"]))
    assert numbers(found["down"]) == sorted(numbers(found["down"]), reverse=True)
    assert found["lastRow"] == "Total"


@pytest.mark.parametrize("device", SIZES)
def test_the_page_is_drawn(report, device):
    picture = report.with_name(f"{device}.png")
    page = frame(report, SIZES[device])
    browse(page, f"--screenshot={picture}", size=SIZES[device])
    pixels = imread(picture)
    width, height = SIZES[device]
    drawn = pixels[:height, :width]
    assert drawn.shape[1] == width
    assert 0.01 < (drawn[..., 0] < 0.5).mean() < 0.5, "dark letters on a light page"


def test_opened_by_itself_its_script_may_run(report):
    dom = browse(report, "--dump-dom", size=SIZES["desk"])
    assert 'data-ready="yes"' in dom
    assert "<title>A &lt;/script&gt; &amp; report</title>" in dom
