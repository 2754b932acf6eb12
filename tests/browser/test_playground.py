"""The playground in a real browser: the mouse and the keys change the picture."""

import threading

import pytest

from labelance.play import Playground

pytestmark = pytest.mark.slow  # a browser is started
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


@pytest.fixture(params=SIZES)
def page(request, open_page, playground):
    """The page with Figure 1 (b), on a phone and on a desk."""
    width, height = SIZES[request.param]
    page = open_page(playground.url, width=width, height=height)
    page.wait_until(READY)
    yield page
    assert page.errors == []


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
    page.wait_until(READY)
    after = page.run("[...state.points[0]]")
    assert after[0] > point[0]
    assert after[1] < point[1], "down on the screen is down in the plane"
    assert page.run(PICTURE) != before
    assert page.run("document.querySelector('#details h2').textContent") == "Point 0"
    assert page.run("document.querySelectorAll('.near').length") == 5
    page.click("#undo")
    page.wait_until(READY)
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
    page.wait_until(READY)
    assert (2 in page.run("state.labels[1]")) != (2 in labels)
    page.press("ArrowRight")
    page.wait_until(READY)
    assert page.run("state.points[1][0]") > point[0]
    page.press("a")
    page.wait_until(READY)
    assert page.run("state.points.length") == n + 1
    page.press("Delete")
    page.wait_until(READY)
    assert page.run("state.points.length") == n
    page.press("Escape")
    assert page.run("state.chosen") is None


def test_settings_change_what_is_shown(page):
    def rows():
        return page.run("document.querySelectorAll('#plane .made').length")

    assert rows() == 48
    page.run("$('ratio').value = 0.5; $('ratio').dispatchEvent(new Event('input'))")
    page.wait_until(READY)
    assert rows() == 80
    page.click("#samplers input[value=none]")
    assert rows() == 0
    page.click("#views input[value=types]")
    assert page.run("document.querySelectorAll('#plane .f-2').length") > 0
    page.run("$('scene').value = 'figure-2'; $('scene').dispatchEvent(new Event('input'))")
    page.wait_until(f"{READY} && document.querySelectorAll('#plane .row').length === 32")
    assert page.run("[...document.querySelectorAll('.mark')].map(t => t.textContent)") == [
        "s", "r1", "r2", "r3", "r4", "r5",
    ]  # fmt: skip


def test_nothing_is_wider_than_the_screen_and_everything_is_named(page):
    assert page.overflow <= 0
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


CLIPPED = (
    "(() => { const plane = $('plane'), { width, height } = plane.viewBox.baseVal; "
    "return [...plane.querySelectorAll('.row, .made, .chosen')].filter(part => { "
    "const box = part.getBBox(); return box.x < 0 || box.y < 0 || box.x + box.width > width "
    "|| box.y + box.height > height; }).length; })()"
)


@pytest.mark.parametrize("scene", ["figure-1-a", "figure-1-b", "figure-2"])
def test_no_point_is_cut_off_at_the_edge(page, scene):
    page.run(f"$('scene').value = '{scene}'; $('scene').dispatchEvent(new Event('input'))")
    page.wait_until(f"{READY} && state.scene === '{scene}' && state.found")
    for sampler in ("MLSOL", "MLSMOTE", "MLROS"):
        page.click(f"#samplers input[value={sampler}]")
        assert page.run(CLIPPED) == 0
    page.run("state.points[0] = [1e6, -1e6]; choose('row', 0)")
    assert page.run(CLIPPED) == 0
    page.run("state.view = 'weights'; draw()")
    assert page.run(CLIPPED) == 0


def test_buttons_of_labels_look_like_their_labels(page):
    looks = page.run(
        "[...document.querySelectorAll('#toggles button')].map(button => "
        "[button.textContent.trim().slice(0, -2), button.querySelector('.icon').innerHTML])"
    )
    legend = page.run(
        "[...document.querySelectorAll('#legend li')].map(item => "
        "[item.textContent, item.querySelector('.icon').innerHTML])"
    )
    assert [name for name, _ in looks] == ["triangle", "borderless", "red"]
    assert looks == legend[:3]
    assert len({picture for _, picture in looks}) == 3
    assert "f-red" in looks[2][1]


def test_a_phone_in_the_dark_is_dark(playground, open_page):
    page = open_page(playground.url, width=360, dark=True)
    page.wait_until(READY)
    assert page.run("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 28)"
    assert page.errors == []
