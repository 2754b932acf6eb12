"""Every python block of the README and the site runs and shows what it prints; all names are there.

What a block prints stands in a ``text`` block right after it. ``python tests/test_docs.py PAGE``
writes those of a page anew.
"""

import builtins
import contextlib
import doctest
import io
import re
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import matplotlib
import pytest

import labelance

ROOT = Path(__file__).parents[1]
# Pages that run where packages are installed.
NEEDED = {
    "docs/user_guide/dask.md": ["dask"],
    "docs/user_guide/losses.md": ["torch"],
    "docs/user_guide/saving.md": ["skops", "skl2onnx", "onnxruntime"],
}
# A block, the comment directly before it if that asks to leave the block out, and what it prints.
BLOCK = re.compile(
    r"(?P<skip><!-- skip: [^>]+ -->\n+)?^```(?P<info>[^\n]*)\n(?P<code>.*?)^```$"
    r"(?P<output>\n+^```text\n(?P<printed>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
LOOSELY = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    """A block that is to run: its line, its code, what it should print, and where it ends."""

    line: int
    code: str
    printed: str
    code_end: int
    end: int


def python_blocks(text):
    """Return the blocks that are to run."""
    return [
        Block(
            text.count("\n", 0, block.start("code")),
            block["code"],
            block["printed"] or "",
            block.end("code") + 3,
            block.end(),
        )
        for block in BLOCK.finditer(text)
        if block["info"].strip() == "python" and not block["skip"]
    ]


def run_page(path):
    """Run the blocks of a page in one namespace, and yield each with what it printed.

    Tracebacks carry the page's line numbers.
    """
    page = ModuleType("page")  # a module, so that what a page defines can be pickled
    sys.modules[page.__name__] = page
    for block in python_blocks(path.read_text(encoding="utf-8")):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile("\n" * block.line + block.code, str(path), "exec"), vars(page))
        yield block, "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines())


def check_page(path):
    """Run a page, and compare what its blocks print with what it says they print."""
    for block, printed in run_page(path):
        shown = doctest.OutputChecker().check_output(block.printed, printed, LOOSELY)
        assert shown, (
            f"{path}, the block at line {block.line + 1} prints\n{printed}\nand the page says\n"
            f"{block.printed}\npython tests/test_docs.py {path} writes it anew"
        )


def write_outputs(path):
    """Put what the blocks of a page print right after them, unless it stands there already."""
    found = list(run_page(path))
    text = path.read_text(encoding="utf-8")
    for block, printed in reversed(found):
        if not doctest.OutputChecker().check_output(block.printed, printed, LOOSELY):
            output = f"\n\n```text\n{printed}```" if printed else ""
            text = text[: block.code_end] + output + text[block.end :]
    path.write_text(text, encoding="utf-8")


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


@pytest.mark.parametrize(
    "page",
    # The pages of the site take minutes, the README half of one.
    [pytest.param(page, marks=pytest.mark.slow) for page in sorted(pages())],
)
def test_page_runs(page, tmp_path, monkeypatch):
    for package in NEEDED.get(page, ()):
        pytest.importorskip(package)
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)  # pages may write files
    monkeypatch.delitem(sys.modules, "page", raising=False)
    check_page(ROOT / page)


def test_blocks_are_found_and_skipped():
    page = (
        "text\n```python\na = 1\n```\n<!-- skip: slow -->\n```python\nb = 2\n```\n"
        "```bash\nls\n```\n\n```python\nprint(3)\n```\n\n```text\n3\n```\n"
    )
    blocks = [(block.line, block.code, block.printed) for block in python_blocks(page)]
    assert blocks == [(2, "a = 1\n", ""), (13, "print(3)\n", "3\n")]


@pytest.mark.parametrize(
    "last",
    [
        "```python\nassert x == 2\n```",
        "```python\nprint(x)\n```",
        "```python\nprint(x)\n```\n\n```text\n2\n```",
        "```python\nx\n```\n\n```text\n1\n```",
    ],
    ids=["wrong", "output not shown", "other output", "no output"],
)
def test_a_page_with_a_wrong_block_fails(tmp_path, last):
    page = tmp_path / "page.md"
    page.write_text(f"```python\nx = 1\n```\n{last}\n", encoding="utf-8")
    with pytest.raises(AssertionError):
        check_page(page)


def test_outputs_are_written_where_they_lack(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1)\n```\nand\n```python\nx = 1\n```\n", encoding="utf-8")
    write_outputs(page)
    check_page(page)
    assert page.read_text(encoding="utf-8").count("```text") == 1


def test_every_page_of_the_guide_has_its_place_in_a_chapter():
    folder = ROOT / "docs" / "user_guide"
    index = (folder / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"^([a-z_]+)$", index, re.MULTILINE)
    assert sorted(listed) == sorted(
        path.stem for path in folder.glob("*.md") if path.stem != "index"
    )


def test_a_page_of_a_kind_of_data_is_short_and_leads_from_file_to_model():
    folder = ROOT / "docs" / "user_guide"
    index = (folder / "index.md").read_text(encoding="utf-8")
    listed = index.split(":caption: Your data is …\n")[1].split("```")[0]
    names = re.findall(r"^([a-z_]+)$", listed, re.MULTILINE)
    assert len(names) == 7
    decide = (folder / "decide.md").read_text(encoding="utf-8").split("## ")[0]
    for name in names:
        text = (folder / f"{name}.md").read_text(encoding="utf-8")
        assert len(text.split()) <= 600, name
        parts = ["## From ", "joblib.dump(", "costs", "## When resampling helps"]
        assert [part for part in parts if part not in text] == [], name
        assert f"({name}.md)" in decide


@pytest.mark.parametrize(
    "study", [path.stem for path in sorted((ROOT / "docs" / "studies").glob("[!i]*.md"))]
)
def test_a_study_has_question_answer_protocol_and_command(study):
    text = (ROOT / "docs" / "studies" / f"{study}.md").read_text(encoding="utf-8")
    parts = ["\n# ", "**Question.**", "**Answer.**", "## Protocol"]
    places = [f"\n{text}".find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)
    assert re.search(r"^```(console|bash)$", text, re.MULTILINE)
    index = (ROOT / "docs" / "studies" / "index.md").read_text(encoding="utf-8")
    assert f"{{doc}}`{study}`" in index
    assert re.search(rf"^{study}$", index, re.MULTILINE)


def test_pages_that_moved_lead_to_pages_and_headings_that_exist():
    conf = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    moved = re.findall(r'^    "(user_guide/\w+)": "([^"#]+)\.html#?([^"]*)",$', conf, re.MULTILINE)
    assert moved
    for old, new, heading in moved:
        page = ROOT / "docs" / "user_guide" / f"{new}.md"
        assert not (ROOT / "docs" / f"{old}.md").exists(), old
        titles = re.findall("^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        anchors = {re.sub(r"[^\w-]", "", title.lower().replace(" ", "-")) for title in titles}
        assert not heading or heading in anchors, old


def test_the_reference_has_every_package():
    page = (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^   labelance\.([a-z_]+)$", page, re.MULTILINE)) == {
        *labelance._PACKAGES,
        "torch",
        "show_versions",
    }


def test_programs_find_every_page_of_the_guide():
    """The chapters of llms.txt are those of the guide."""
    import published  # of docs/_ext, which only pytest has on its path

    folder = ROOT / "docs" / "user_guide"
    titles = {f"user_guide/{path.stem}": path.stem for path in folder.glob("*.md")}
    chapters = dict(published.list_chapters((folder / "index.md").read_text("utf-8"), titles))
    found = [name for pages in chapters.values() for name, _ in pages]
    assert sorted([*found, "user_guide/index"]) == sorted(titles)
    assert len(chapters) > 3


def test_every_public_name_of_a_package_has_a_docstring(case):
    for package in labelance._PACKAGES:
        with case(package):
            module = import_module(f"labelance.{package}")
            for name in module.__all__:
                thing = getattr(module, name)
                assert not callable(thing) or thing.__doc__, name


# Calls in sentences of the guide that are not ours.
FOREIGN = {
    "BCEWithLogitsLoss", "DataFrame", "DataLoader", "LGBMClassifier", "MLPClassifier", "as_tensor",
    "categorize", "compute", "cross_val_predict", "from_dlpack", "from_zarr", "join",
    "parallel_config", "persist", "reshape", "savez", "to", "to_parquet", "where", "write_dataset",
}  # fmt: skip


def public_names() -> set[str]:
    """Return the public names of all packages, and those of their classes."""
    things = [
        getattr(module, name)
        for package in (*labelance._PACKAGES, "study.statistics")
        for module in [import_module(f"labelance.{package}")]
        for name in module.__all__
    ]
    classes = [thing for thing in things if isinstance(thing, type)]
    found = {name for one in classes for name in (*dir(one), one.__name__)}
    # Read, since these need torch.
    losses = (Path(labelance.__file__).parent / "torch" / "_losses.py").read_text("utf-8")
    found |= set(re.findall(r"(?:class|def) (\w+)\(", losses))
    return found | {thing.__name__ for thing in things if hasattr(thing, "__name__")}


def test_what_sentences_of_the_guide_call_exists():
    """`rule.decide(scores)`, where the method is `predict`, is a dead end."""
    known = {*public_names(), *dir(builtins), *dir(labelance), *FOREIGN}
    pages = [ROOT / "README.md", *(ROOT / "docs" / "user_guide").glob("*.md")]
    unknown = {
        (page.name, name)
        for page in pages
        if page.name != "coming_from.md"  # other libraries
        for code in re.findall(r"`([^`\n]+)`", BLOCK.sub("", page.read_text("utf-8")))
        for name in re.findall(r"(?<![\w-])(?:\w+\.)*(\w+)\(", code)
        if name not in known
    }
    assert unknown == set()


if __name__ == "__main__":
    matplotlib.use("Agg")
    for name in sys.argv[1:]:
        page = Path(name).resolve()
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            write_outputs(page)
