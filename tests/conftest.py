"""Shared fixtures: the folder of real datasets, a browser, and hypothesis settings."""

import os

# Threads of BLAS that wait for the next product of a few numbers cost several times the work. They
# are counted when numpy is imported, here and in processes that tests start. Whoever sets these
# variables has the say; searches have threads of their own, and tests of threads ask for some.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
# The same for OpenMP's threads, which sleep while they wait: boosted trees on sixty rows took three
# times the processor seconds. Their number stays, since searches take it for their own.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings

import labelance
from labelance.datasets import fetch_dataset, get_data_home

settings.register_profile("labelance", deadline=None, print_blob=True, max_examples=30)
# The same examples every time, so that a red build means a change and not a new example.
settings.register_profile("ci", settings.get_profile("labelance"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "labelance")


def pytest_configure() -> None:
    """Stop where a kernel was changed, and not built since."""
    from importlib.machinery import EXTENSION_SUFFIXES

    for source in Path(labelance.__file__).parent.rglob("*.pyx"):
        built = [source.with_suffix(suffix) for suffix in EXTENSION_SUFFIXES]
        if max((one.stat().st_mtime for one in built if one.exists()), default=0) < (
            source.stat().st_mtime
        ):
            pytest.exit(f"{source.name} of {source.parent} is not built: python tools/build.py", 4)


def _skip_missing(source, *, by_hand):
    """Stand in for a download: tests are offline, and skip what is not on this machine."""
    pytest.skip(
        f"{source.path} is not at hand; set LABELANCE_DATA to a folder that has the dataset"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Let tests of real data run on the datasets at hand, and skip the others by name."""
    if item.get_closest_marker("data") is None:
        return (yield)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("labelance.datasets._download.download", _skip_missing)
        return (yield)


@pytest.fixture
def case():
    """Name the case of a loop in the failure of its test."""

    @contextmanager
    def case(*names):
        try:
            yield
        except BaseException as error:
            error.add_note(f"in the case {', '.join(map(repr, names))}")
            raise

    return case


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder that LABELANCE_DATA names, or else the one that downloads went to."""
    return Path(os.environ.get("LABELANCE_DATA") or get_data_home())


@pytest.fixture(scope="session")
def data_file(data_dir: Path) -> Callable[[str], Path]:
    """A function from the name of a dataset to its ARFF file."""
    return lambda name: fetch_dataset(name, data_home=data_dir).arff


@pytest.fixture(scope="session")
def reference(data_dir: Path) -> Callable[[str], Path]:
    """A function from the name of a file of figures of the authors' program to the file.

    Figures are in a folder beside the datasets, and here for the dataset that is bundled.
    """

    def find(name: str) -> Path:
        for folder in (data_dir.parent / "reference", Path(__file__).parent / "reference"):
            if (folder / name).is_file():
                return folder / name
        pytest.skip(f"{name} is not at hand; it belongs into a folder 'reference' beside datasets")

    return find


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Chromium, started once and for all tests that open pages."""
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


@pytest.fixture(scope="module")
def few_steps():
    """Let parts of the default learn in fewer steps: laws hold for the same reasons, sooner."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    def make(part):
        return HistGradientBoostingClassifier(max_iter=5, early_stopping=False, random_state=0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("labelance.ensemble._parts.Boosting.make", make)
        patch.setattr("labelance.ensemble._network._STEPS", 50)
        yield
