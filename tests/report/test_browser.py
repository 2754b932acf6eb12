"""The HTML report in a real browser, as wide as a phone and as a desk."""

import pytest

from labelance.report import write_report

pytestmark = pytest.mark.slow  # a browser is started
WIDTHS = [360, 1400]


@pytest.fixture(scope="module")
def report(hostile_results, tmp_path_factory):
    path = tmp_path_factory.mktemp("browser") / "report.html"
    return write_report(hostile_results, path, title="A </script> & report")


@pytest.fixture
def opened(report, open_page):
    def opened(width):
        page = open_page(report, width=width)
        page.wait_until("document.documentElement.dataset.ready === 'yes'")
        return page

    return opened


def choose_all(page):
    for name in ("learner", "metric"):
        page.run(
            f"(() => {{ const select = document.querySelector('#choose-{name}'); "
            "select.selectedIndex = 0; select.dispatchEvent(new Event('change')); })()"
        )


def n_shown(page):
    parts = "[...document.querySelectorAll('.detail')]"
    return page.run(f"{parts}.filter((part) => part.getClientRects().length).length")


def totals(page):
    rows = "[...document.querySelector('#cost-by-dataset table').tBodies[0].rows]"
    texts = page.run(f"{rows}.map((row) => row.cells[row.cells.length - 1].innerText)")
    return [float(text.replace(",", "").strip("<")) for text in texts]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_fits(opened, width):
    page = opened(width)
    assert page.errors == []
    assert page.run("document.title") == "A </script> & report"
    assert page.run("window.innerWidth") == width
    assert page.overflow <= 0
    # One measure of one learner and its times; then three measures and times of both learners.
    assert n_shown(page) == 2
    choose_all(page)
    assert n_shown(page) == 8
    assert page.overflow <= 0
    boxes = "[...document.querySelectorAll('.scroll')]"
    assert page.run(f"{boxes}.every((b) => b.getBoundingClientRect().right <= innerWidth)")
    letters = page.run(
        "Math.min(...[...document.querySelectorAll('svg text')].map((text) => "
        "parseFloat(getComputedStyle(text).fontSize) * text.ownerSVGElement.clientWidth / "
        "text.ownerSVGElement.viewBox.baseVal.width))"
    )
    assert letters >= 8.5


CONTRAST = """((part) => {
  const numbers = (color) => color.match(/[0-9.]+/g).map(Number);
  const light = (color) => numbers(color).slice(0, 3).map((v) => v / 255)
    .map((v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const paper = (one) => numbers(getComputedStyle(one).backgroundColor)[3] === 0
    ? paper(one.parentElement) : getComputedStyle(one).backgroundColor;
  const style = getComputedStyle(part), ink = part.closest("svg") ? style.fill : style.color;
  const [low, high] = [light(ink), light(paper(part))].sort((a, b) => a - b);
  return (high + .05) / (low + .05);
})"""


@pytest.mark.parametrize("dark", [False, True])
def test_everything_can_be_read_by_day_and_by_night(report, open_page, dark):
    page = open_page(report, width=1400, dark=dark)
    paper = page.run("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") != dark
    for parts in ("h1", "a", "td", "td strong", "th.word:not(.again)", ".note", "svg text"):
        every = f"[...document.querySelectorAll('{parts}')]"
        assert page.run(f"{every}.length") > 0
        assert page.run(f"Math.min(...{every}.map({CONTRAST}))") >= 4.5, parts


@pytest.mark.parametrize("width", WIDTHS)
def test_the_keyboard_sorts(opened, width):
    page = opened(width)
    head = "[...document.querySelectorAll('#cost-by-dataset thead button')].at(-1)"
    page.run(f"{head}.focus()")
    page.press("Enter")
    *up, total = totals(page)
    page.press("Space")
    *down, last = totals(page)
    assert up == sorted(up)
    assert down == sorted(down, reverse=True)
    assert total == last == max(*up, total), "the total stays at the foot"
    assert page.run(f"{head}.parentNode.ariaSort") == "descending"


def test_on_a_phone_wide_tables_say_so_and_keep_their_first_column(opened):
    page = opened(360)
    table = "#table2 .scroll"
    hint = f"document.querySelector('{table}').previousElementSibling"
    assert page.run(f"{hint}.innerText") == "More columns →"
    left = f"document.querySelector('{table} tbody tr:last-child th').getBoundingClientRect().left"
    box = f"document.querySelector('{table}')"
    before = page.run(left)
    for _ in range(20):
        if page.run(f"{hint}.hidden"):
            break
        page.run(f"{hint}.focus()")
        page.press("Enter")
        page.run("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")
    assert page.run(f"{hint}.hidden")
    assert page.run(f"{box}.scrollLeft") > 0
    assert page.run(left) == pytest.approx(before, abs=1)


def test_on_a_desk_no_table_asks_to_be_scrolled_for_nothing(opened):
    page = opened(1400)
    choose_all(page)
    page.run("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")
    wrong = page.run(
        "[...document.querySelectorAll('.hint')].filter((line) => line.hidden === "
        "(line.nextElementSibling.scrollWidth > line.nextElementSibling.clientWidth + 2)).length"
    )
    assert wrong == 0
