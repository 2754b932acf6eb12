"""Every python block of the README and the site runs; the reference lists every public name."""

import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import matplotlib
import pytest

import labelance

ROOT = Path(__file__).parents[1]
# A block, and the comment directly before it if that asks to leave the block out.
BLOCK = re.compile(
    r"(?P<skip><!-- skip: [^>]+ -->\n+)?^```(?P<info>[^\n]*)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def python_blocks(text):
    """Line number and code of every block that is to run."""
    return [
        (text.count("\n", 0, block.start("code")), block["code"])
        for block in BLOCK.finditer(text)
        if block["info"].strip() == "python" and not block["skip"]
    ]


def run_page(path):
    """Run the blocks of a page in one namespace; tracebacks carry the page's line numbers."""
    page = ModuleType("page")  # a module, so that what a page defines can be pickled
    sys.modules[page.__name__] = page
    for line, code in python_blocks(path.read_text(encoding="utf-8")):
        exec(compile("\n" * line + code, str(path), "exec"), vars(page))


def pages():
    """The README, CONTRIBUTING and the pages of the site that have something to run."""
    for path in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "docs").glob("[!_]*/*.md"),
        *(ROOT / "docs").glob("*.md"),
    ]:
        if python_blocks(path.read_text(encoding="utf-8")):
            yield path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", sorted(pages()))
def test_page_runs(page, tmp_path, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)  # pages may write files
    monkeypatch.delitem(sys.modules, "page", raising=False)
    run_page(ROOT / page)


def test_blocks_are_found_and_skipped():
    page = (
        "text\n```python\na = 1\n```\n<!-- skip: slow -->\n```python\nb = 2\n```\n"
        "```bash\nls\n```\n\n```python\nc = 3\n```\n"
    )
    assert python_blocks(page) == [(2, "a = 1\n"), (13, "c = 3\n")]


def test_a_page_with_a_wrong_block_fails(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\n```\n```python\nassert x == 2\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError):
        run_page(page)


def test_the_reference_has_every_package():
    page = (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^   labelance\.([a-z_]+)$", page, re.MULTILINE)) == {
        *labelance._PACKAGES,
        "show_versions",
    }


@pytest.mark.parametrize("package", labelance._PACKAGES)
def test_every_public_name_of_a_package_has_a_docstring(package):
    module = import_module(f"labelance.{package}")
    for name in module.__all__:
        thing = getattr(module, name)
        assert not callable(thing) or thing.__doc__, name
