"""What a release is checked for before anything is published."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import labelance

ROOT = Path(__file__).parent.parent


@pytest.fixture
def checkout(tmp_path):
    """A copy of what a release is judged by, with a section for today's version."""
    for name in (".ci/check_release.py", "src/labelance/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    changes = (
        f"# Changelog\n\n## [{labelance.__version__}] - 2026-01-01\n\n- Something.\n\n## [0.0.1] -"
    )
    (tmp_path / "CHANGELOG.md").write_text(changes)
    # Between releases the citation names the last one; tests/test_package.py compares.
    (tmp_path / "CITATION.cff").write_text(f"version: {labelance.__version__}\n")
    return tmp_path


def check(checkout, tag, *more):
    return subprocess.run(
        [sys.executable, ".ci/check_release.py", tag, *more],
        cwd=checkout,
        text=True,
        capture_output=True,
        check=False,
    )


def test_one_version_everywhere_gives_the_notes_of_the_release(checkout):
    done = check(checkout, f"v{labelance.__version__}", "notes.md")
    assert done.returncode == 0, done.stdout
    assert (checkout / "notes.md").read_text() == "- Something.\n"


def test_another_tag_is_refused_with_all_that_is_wrong(checkout):
    done = check(checkout, "v99.0")
    assert done.returncode == 1
    assert all(file in done.stdout for file in ("__init__.py", "CITATION.cff", "CHANGELOG.md"))


def test_a_citation_left_behind_is_refused(checkout):
    (checkout / "CITATION.cff").write_text("version: 0.0.1\n")
    done = check(checkout, f"v{labelance.__version__}")
    assert done.returncode == 1
    assert "CITATION.cff says 0.0.1" in done.stdout
