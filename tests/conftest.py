"""Shared fixtures: the folder of real datasets, and hypothesis settings."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("labelance", deadline=None, print_blob=True)
# The same examples every time, so that a red build means a change and not a new example.
settings.register_profile("ci", settings.get_profile("labelance"), derandomize=True)
# Kernels that run as Python, for coverage and mutants, are a hundred times slower.
settings.register_profile("interpreted", settings.get_profile("ci"), max_examples=20)


def profile() -> str:
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return "interpreted"
    return "ci" if os.environ.get("CI") else "labelance"


settings.load_profile(profile())


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder that LABELANCE_DATA names; tests of real data are skipped without it."""
    folder = os.environ.get("LABELANCE_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("LABELANCE_DATA does not name a folder with the real datasets")
    return Path(folder)


@pytest.fixture(scope="session")
def reference_dir(data_dir: Path) -> Path:
    """The figures taken from the authors' program, beside the datasets."""
    folder = data_dir.parent / "reference"
    if not folder.is_dir():
        pytest.skip("no folder 'reference' beside the datasets")
    return folder
