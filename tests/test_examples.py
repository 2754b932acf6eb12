"""The gallery lists every example, and the first examples run cell by cell, as notebooks do."""

import ast
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*/plot_*.py"))
pytestmark = pytest.mark.skipif(not EXAMPLES, reason="not a checkout")


def test_the_gallery_lists_every_example_in_its_folder():
    conf = ast.parse((ROOT / "docs" / "conf.py").read_text(encoding="utf-8"))
    (listed,) = (
        ast.literal_eval(node.value)
        for node in conf.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_EXAMPLES"
    )
    names = [f"{folder}/plot_{name}" for folder in listed for name in listed[folder].split()]
    assert sorted(names) == [f"{path.parent.name}/{path.stem}" for path in EXAMPLES]
    assert all((ROOT / "examples" / folder / "GALLERY_HEADER.rst").is_file() for folder in listed)


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", [path for path in EXAMPLES if path.parent.name == "start"], ids=lambda path: path.stem
)
def test_first_examples_run_as_notebooks(path, tmp_path, monkeypatch):
    parser = pytest.importorskip("sphinx_gallery.py_source_parser")
    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    plt.close("all")
    space = {"__name__": "__main__"}
    for block in parser.split_code_and_text_blocks(str(path))[1]:
        if block.type == "code":
            exec(compile(block.content, str(path), "exec"), space)
    drawn = plt.get_fignums()
    plt.close("all")
    assert drawn, "the gallery would show a placeholder"
