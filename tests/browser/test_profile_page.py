"""The profile page in a real browser, as wide as a phone and as a desk."""

import re

import numpy as np
import pytest

from labelance import MLSOL, profile
from labelance.datasets import make_multilabel_imbalanced
from labelance.exceptions import ConstantLabelWarning

pytestmark = pytest.mark.slow  # a browser is started
HOSTILE = ["</script><b>bold", "<!--<script>", "a & b", "\u2028 line", "{{data}}"]
WIDTHS = [360, 1100, 1240, 1400]


def make_profile(**options):
    X, y = make_multilabel_imbalanced(150, n_labels=8, random_state=0)
    names = [*HOSTILE, "zebra", "x" * 200, "plain"]
    return profile(X, y, label_names=names, **options)


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("profile") / "page.html"
    make_profile().to_html(path, title="A </title> & page")
    return path


@pytest.fixture(scope="module")
def many_labels(tmp_path_factory):
    path = tmp_path_factory.mktemp("many") / "page.html"
    rng = np.random.default_rng(0)
    y = rng.random((400, 250)) < np.linspace(0.01, 0.4, 250)
    profile(rng.random((400, 3)), y).to_html(path)
    return path


@pytest.fixture
def opened(open_page):
    def opened(path, **options):
        page = open_page(path, **options)
        page.wait_until("document.documentElement.dataset.ready === 'yes'")
        return page

    return opened


def test_a_page_of_unknown_labels_is_drawn_without_an_error(tmp_path, opened):
    X, y = make_multilabel_imbalanced(150, n_labels=8, random_state=0)
    labels = np.where(np.random.default_rng(0).random(y.shape) < 0.3, np.nan, y)
    labels[:, 7] = np.nan
    profile(X, labels).to_html(tmp_path / "page.html")
    page = opened(tmp_path / "page.html")
    assert not page.errors
    heads = page.run(
        "[...document.querySelectorAll('#label-table th button')].map((b) => b.innerText)"
    )
    assert "unknown" in heads
    assert "SCUMBLE" not in heads
    assert "known in no row" in column(page, len(heads) - 1)
    assert column(page, heads.index("unknown")).count("150") == 1
    assert "Not compared" in page.run("document.querySelector('#labelsets').innerText")
    assert "NaN" not in page.run("document.body.innerText")
    with pytest.warns(ConstantLabelWarning):
        after = profile(*MLSOL(random_state=0).fit_resample(X, labels))
    profile(X, labels).to_html(tmp_path / "two.html", after=after)
    assert not opened(tmp_path / "two.html").errors


def test_of_a_pair_the_label_with_fewer_known_rows_is_the_rarer(tmp_path, opened):
    y = np.zeros((40, 2))
    y[:20, 0] = y[16:28, 1] = 1  # 20 and 12 rows, 4 of them together
    y[:14, 1] = np.nan  # among rows that know both, 6 and 12
    profile(None, y, label_names=["a", "b"]).to_html(tmp_path / "page.html")
    page = opened(tmp_path / "page.html")
    pair = "[...document.querySelectorAll('#together table:not(.grid) tbody tr')].map(r => "
    assert page.run(pair + "[...r.cells].slice(0, 4).map(c => c.innerText))") == [
        ["a", "b", "4", "67%"]
    ]


def test_of_many_labels_that_are_partly_unknown_the_most_frequent_are_shown(tmp_path, opened):
    rng = np.random.default_rng(0)
    y = (rng.random((100, 40)) < 0.3).astype(float)
    y[0, 0] = np.nan
    profile(None, y).to_html(tmp_path / "page.html")
    told = opened(tmp_path / "page.html").run("document.querySelector('#together').innerText")
    assert "are known. Of 40 labels that vary, the 30 shown are the most frequent." in told


def column(page, place):
    rows = "[...document.querySelector('#label-table').tBodies[0].rows]"
    return page.run(f"{rows}.map((row) => row.cells[{place}].innerText)")


def numbers(texts):
    return [float(text.replace(",", "")) for text in texts if text != "–"]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_it_fits_and_is_drawn_without_an_error(page_file, opened, width, dark):
    page = opened(page_file, width=width, dark=dark)
    assert page.errors == []
    assert page.run("window.innerWidth") == width
    assert page.overflow <= 0
    assert page.run("document.title") == "A </title> & page"
    shown = "[...document.querySelectorAll('main > section')].every((part) => part.innerText)"
    assert page.run(shown)
    background = page.run("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(","))) < 384) == dark


def test_a_wide_window_is_filled_on_both_sides(page_file, opened):
    lefts = opened(page_file, width=1400).run(
        "[...document.querySelectorAll('main > section')].map(s => s.getBoundingClientRect().left)"
    )
    assert min(lefts) < 700 <= max(lefts)


def test_the_caption_of_an_axis_is_next_to_it(page_file, opened):
    page = opened(page_file)
    texts = page.run(
        "[...document.querySelectorAll('#frequency text')].map(t => [t.textContent, t.getBBox().y])"
    )
    places = dict(texts)
    ticks = [y for text, y in texts if text.replace(",", "").isdigit()]
    assert places["rows with the label, log scale"] < min(ticks)
    assert places["8 labels, rarest first"] > max(ticks)


def test_columns_are_in_a_table_of_their_own(page_file, opened):
    page = opened(page_file)
    heads = "[...document.querySelectorAll('#columns thead th')].map(h => h.innerText)"
    assert page.run(heads) == ["column", "type", "missing", "distinct", "spread", "distance"]
    outside = page.run(
        "[...document.querySelectorAll('.spark')].flatMap(svg => [...svg.children].filter(bar => "
        "{ const b = bar.getBBox(); return b.x < 0 || b.y < 0 || b.x + b.width > 72 "
        "|| b.y + b.height > 18.001; })).length"
    )
    assert outside == 0


def test_rows_that_look_mislabelled_say_where_they_are_counted_from(tmp_path, opened):
    y = np.repeat([[1], [0]], 40, axis=0)
    y[7] = 0
    X = np.repeat([[0.0, 0.0], [9.0, 9.0]], 40, axis=0) + np.random.default_rng(0).random((80, 2))
    profile(X, y).to_html(tmp_path / "page.html")
    page = opened(tmp_path / "page.html")
    heads = page.run("[...document.querySelectorAll('#suspects thead th')].map(h => h.innerText)")
    assert heads[1] == "row (from 0)"
    first = page.run("[...document.querySelectorAll('#suspects tbody td')].map(c => c.innerText)")
    assert first[:3] == ["7", "no", "5 of 5"]
    assert re.fullmatch(r"[\d,]+× better", first[3])


def test_no_name_becomes_markup(page_file, opened):
    page = opened(page_file)
    assert page.run("document.querySelectorAll('b').length") == 0
    assert page.run("document.scripts.length") == 2
    names = column(page, 0)
    for name in HOSTILE:
        assert " ".join(name.split()) in names


def test_the_rarest_come_first_and_a_click_sorts(page_file, opened):
    page = opened(page_file)
    rows = numbers(column(page, 1))
    assert rows == sorted(rows)
    page.click("#label-table thead th:nth-child(5) button")  # IRLbl
    ratios = numbers(column(page, 4))
    assert ratios == sorted(ratios)
    heading = "document.querySelector('#label-table thead th:nth-child(5)')"
    assert page.run(f"{heading}.getAttribute('aria-sort')") == "ascending"
    page.click("#label-table thead th:nth-child(5) button")
    assert page.run(f"{heading}.getAttribute('aria-sort')") == "descending"
    ratios = numbers(column(page, 4))
    assert ratios == sorted(ratios, reverse=True)
    assert page.run("document.querySelectorAll('#label-table [aria-sort]').length") == 1


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_the_keyboard_sorts_and_searches(page_file, opened, key):
    page = opened(page_file)
    page.run("document.querySelector('#search').focus()")
    page.press("zeb")
    assert column(page, 0) == ["zebra"]
    assert page.run("document.querySelector('#found').textContent") == "1 of 8 labels"
    page.run("document.querySelector('#search').select()")
    page.press("a")
    page.run("document.querySelector('#only-rare').focus()")
    page.press("Tab", "Tab")  # past the table's own box to its first heading
    assert page.run("document.activeElement.textContent") == "label"
    page.press(key)
    found = column(page, 0)
    assert len(found) > 1
    assert found == page.run(
        f"{found!r}.sort((a, b) => a.localeCompare(b, 'en', {{ numeric: true }}))"
    )
    assert page.errors == []


def test_too_rare_labels_can_be_singled_out(page_file, opened):
    page = opened(page_file)
    page.run(
        "(() => { const folds = document.querySelector('#folds'); folds.value = '10'; "
        "folds.dispatchEvent(new Event('change')); })()"
    )
    rows = numbers(column(page, 1))
    flags = column(
        page, len(page.run("[...document.querySelectorAll('#label-table th button')]")) - 1
    )
    assert [flag == "too rare for 10" for flag in flags] == [
        0 < min(count, 150 - count) < 10 for count in rows
    ]
    page.click("#only-rare")
    assert len(column(page, 0)) == sum(0 < min(count, 150 - count) < 10 for count in rows)


def test_many_labels_come_a_hundred_at_a_time(many_labels, opened):
    page = opened(many_labels, width=360)
    assert len(column(page, 0)) == 100
    page.click("#more")
    page.click("#more")
    assert len(column(page, 0)) == 250
    assert page.run("document.querySelector('#more').hidden")
    assert page.run("document.querySelectorAll('#together tbody')[0].rows.length") == 30
    assert page.errors == []


def test_on_a_phone_a_wide_table_says_so_and_keeps_its_first_column(page_file, opened):
    page = opened(page_file, width=360)
    box, hint = (
        "document.querySelector('#labels .scroll')",
        "document.querySelector('#labels .hint')",
    )
    name = "document.querySelector('#label-table tbody th').getBoundingClientRect().left"
    before = page.run(name)
    for _ in range(20):
        if page.run(f"{hint}.hidden"):
            break
        page.run(f"{hint}.focus()")
        page.press("Enter")
        page.run("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")
    assert page.run(f"{hint}.hidden")
    assert page.run(f"{box}.scrollLeft") > 0
    assert page.run(name) == pytest.approx(before, abs=1)


def test_the_map_shows_the_chosen_label(page_file, opened):
    page = opened(page_file)
    drawn = (
        "(() => { const c = document.querySelector('canvas'); const pen = c.getContext('2d'); "
        "return [...pen.getImageData(0, 0, c.width, c.height).data].reduce((a, b) => a + b); })()"
    )
    before, words = page.run(drawn), page.run("document.querySelector('canvas').ariaLabel")
    page.run("document.querySelector('#map-label').focus()")
    page.press("ArrowDown")
    assert page.run(drawn) != before
    assert page.run("document.querySelector('canvas').ariaLabel") != words


def test_before_and_after_stand_side_by_side(tmp_path, opened):
    X, y = make_multilabel_imbalanced(150, n_labels=8, random_state=0)
    after = profile(*MLSOL(sampling_ratio=0.5, random_state=0).fit_resample(X, y))
    path = tmp_path / "both.html"
    profile(X, y).to_html(path, after=after)
    for width in WIDTHS:
        page = opened(path, width=width)
        assert page.errors == []
        assert page.overflow <= 0
        assert page.run("document.querySelectorAll('canvas').length") == 2
        heads = page.run(
            "[...document.querySelectorAll('#label-table thead th')].map(h => h.innerText)"
        )
        assert {"label", "rows", "types", "IRLbl", "AUC of neighbors"} <= set(heads)
        assert all(re.fullmatch(r"[\d,]+ → [\d,]+", text) for text in column(page, 1))
        assert page.run("document.querySelector('#label-table tbody th').offsetWidth") >= 100
        if width == 1400:
            assert page.run("document.querySelector('#labels .hint').hidden"), (
                "no column is cut off"
            )


def test_without_features_or_neighbors_there_is_still_a_page(tmp_path, opened):
    y = np.eye(6, dtype=int)
    for name, found in {
        "labels": profile(None, y),
        "none": profile(np.random.default_rng(0).random((6, 2)), y, n_neighbors=None),
        "constant": profile(None, np.zeros((3, 2), dtype=int)),
    }.items():
        path = tmp_path / f"{name}.html"
        found.to_html(path)
        page = opened(path)
        assert page.errors == [], name
        assert page.run("document.querySelector('#map').hidden") == (name != "none")
