"""The playground in a real browser: the mouse and the keys change the picture."""

import threading
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from labelance.play import Playground

spec = spec_from_file_location("chromium", Path(__file__).with_name("chromium.py"))
chromium = module_from_spec(spec)
spec.loader.exec_module(chromium)

pytestmark = pytest.mark.skipif(
    chromium.BROWSER is None, reason="no chromium; .ci/install_browser installs it"
)
READY = "document.body.dataset.ready === 'yes'"
SIZES = {"phone": (360, 740), "desk": (1400, 1000)}


@pytest.fixture(scope="module")
def playground():
    with Playground() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser(playground, tmp_path_factory):
    with chromium.Chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found
        assert found.problems == []


@pytest.fixture(params=SIZES)
def page(request, browser, playground):
    """The page with Figure 1 (b), on a phone and on a desk."""
    browser.resize(*SIZES[request.param])
    browser.open("about:blank", "true")
    browser.open(playground.url, READY)
    return browser


def center(page, selector):
    """Return the middle of an element, after bringing it into view."""
    return page.run(
        f"(() => {{ const part = document.querySelector('{selector}'); "
        "part.scrollIntoView({block: 'center'}); const box = part.getBoundingClientRect(); "
        "return [box.x + box.width / 2, box.y + box.height / 2]; })()"
    )


PICTURE = "document.getElementById('panels').innerHTML"


def test_dragging_a_point_changes_the_picture(page):
    before, point = page.run(PICTURE), page.run("[...state.points[0]]")
    x, y = center(page, '#plane .row[data-row="0"]')
    page.drag((x, y), (x + 60, y + 45))
    page.wait(READY)
    after = page.run("[...state.points[0]]")
    assert after[0] > point[0]
    assert after[1] < point[1], "down on the screen is down in the plane"
    assert page.run(PICTURE) != before
    assert page.run("document.querySelector('#details h2').textContent") == "Point 0"
    assert page.run("document.querySelectorAll('.near').length") == 5
    page.click(center(page, "#undo"))
    page.wait(READY)
    assert page.run("[...state.points[0]]") == point
    assert page.run(PICTURE) == before


def test_everything_can_be_done_by_keys(page):
    page.run("document.getElementById('plane').focus()")
    n = page.run("state.points.length")
    page.press("n")
    page.press("n")
    assert page.run("state.chosen") == ["row", 1]
    labels, point = page.run("state.labels[1]"), page.run("[...state.points[1]]")
    page.press("3")
    page.wait(READY)
    assert (2 in page.run("state.labels[1]")) != (2 in labels)
    page.press("ArrowRight")
    page.wait(READY)
    assert page.run("state.points[1][0]") > point[0]
    page.press("a")
    page.wait(READY)
    assert page.run("state.points.length") == n + 1
    page.press("Delete")
    page.wait(READY)
    assert page.run("state.points.length") == n
    page.press("Escape")
    assert page.run("state.chosen") is None


def test_settings_change_what_is_shown(page):
    def rows():
        return page.run("document.querySelectorAll('#plane .made').length")

    assert rows() == 48
    page.run("$('ratio').value = 0.5; $('ratio').dispatchEvent(new Event('input'))")
    page.wait(READY)
    assert rows() == 80
    page.click(center(page, "#samplers input[value=none]"))
    assert rows() == 0
    page.click(center(page, "#views input[value=types]"))
    assert page.run("document.querySelectorAll('#plane .f-2').length") > 0
    page.run("$('scene').value = 'figure-2'; $('scene').dispatchEvent(new Event('input'))")
    page.wait(f"{READY} && document.querySelectorAll('#plane .row').length === 32")
    assert page.run("[...document.querySelectorAll('.mark')].map(t => t.textContent)") == [
        "s", "r1", "r2", "r3", "r4", "r5",
    ]  # fmt: skip


def test_nothing_is_wider_than_the_screen_and_everything_is_named(page):
    assert page.run("document.documentElement.scrollWidth - innerWidth") <= 0
    nameless = page.run(
        "[...document.querySelectorAll('input, select, button')]"
        ".filter(field => !field.textContent && !(field.labels && field.labels.length)).length"
    )
    assert nameless == 0
    small = page.run(
        "[...document.querySelectorAll('button:not([hidden]), select')]"
        ".filter(b => b.offsetParent && b.getBoundingClientRect().height < 32).length"
    )
    assert small == 0


def test_a_phone_in_the_dark_is_dark(playground, tmp_path):
    with chromium.Chromium(tmp_path, width=360, height=740, dark=True) as page:
        page.open(playground.url, READY)
        paper = page.run("getComputedStyle(document.body).backgroundColor")
        assert paper == "rgb(20, 24, 28)"
        assert page.problems == []
