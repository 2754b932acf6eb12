"""The checker of the site's links finds each kind of broken one, and passes the others."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / ".ci" / "check_links.py"
pytestmark = pytest.mark.skipif(not SCRIPT.is_file(), reason="not a checkout")


@pytest.fixture
def links():
    """The script as a module."""
    spec = spec_from_file_location("check_links", SCRIPT)
    links = module_from_spec(spec)
    spec.loader.exec_module(links)
    return links


@pytest.fixture
def check(tmp_path, links):
    """A function that writes a site of two pages and returns what is wrong with the first."""
    (tmp_path / "site" / "guide").mkdir(parents=True)
    (tmp_path / "site" / "guide" / "a b.html").write_text('<h1 id="top">x</h1>')
    (tmp_path / "secret.txt").write_text("x")

    def check(body):
        (tmp_path / "site" / "index.html").write_text(f'<p id="here">{body}</p>')
        return list(links.broken_links(tmp_path / "site"))

    return check


@pytest.mark.parametrize(
    "link",
    [
        "guide/a%20b.html", "guide/a%20b.html#top", "#here", "/guide/a%20b.html", "", "?q=1",
        "https://example.org/x#y", "mailto:a@example.org",
    ],
)  # fmt: skip
def test_links_that_lead_somewhere(check, link):
    assert check(f'<a href="{link}">x</a>') == []


@pytest.mark.parametrize(
    ("link", "problem"),
    [
        ("guide/b.html", "no file"),
        ("guide", "no file"),
        ("guide/a%20b.html#bottom", "no anchor"),
        ("#there", "no anchor"),
        ("../secret.txt", "out of the site"),
        ("http://example.org", "https://"),
        ("https://example", "https://"),
        ("//example.org/x", "https://"),
    ],
)
def test_links_that_lead_nowhere(check, link, problem):
    (found,) = check(f'<a href="{link}">x</a>')
    assert problem in found
    assert link in found


def test_pictures_count(check):
    assert check('<img src="no.png">') == ["index.html: no.png leads to no file"]


def test_a_placeholder_among_thumbnails_is_found(tmp_path, links):
    (tmp_path / "_images").mkdir()
    for name, picture in (("a", b"1"), ("b", b"2"), ("c", b"1")):
        (tmp_path / "_images" / f"sphx_glr_plot_{name}_thumb.png").write_bytes(picture)
    (found,) = links.repeated_thumbnails(tmp_path)
    assert "plot_c_thumb.png" in found
    assert "plot_a_thumb.png" in found
