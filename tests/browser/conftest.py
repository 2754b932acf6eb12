"""A browser for the whole session, and pages in it that are closed after each test."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    chromium = pytest.importorskip("chromium", reason="the driver needs pipes as in Unix")
    if chromium.PROGRAM is None:
        pytest.skip("no chromium; .ci/install_browser installs it")
    found = chromium.Chromium(tmp_path_factory.mktemp("chromium"))
    yield found
    found.close()


@pytest.fixture
def open_page(browser):
    """Open a file or an address in a window of some width; return the page."""
    from chromium import Page

    pages = []

    def open_page(address, *, width=1400, height=900, dark=False):
        address = address.as_uri() if isinstance(address, Path) else address
        pages.append(Page(browser, address, width=width, height=height, dark=dark))
        return pages[-1]

    yield open_page
    for page in pages:
        page.close()
