"""Plain English: the words of the list do not return, and commits have short subjects."""

import importlib.util
import json
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[1] / "tools" / "check_prose.py"
spec = importlib.util.spec_from_file_location("check_prose", TOOL)
check_prose = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_prose)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("docs/page.md", "The file lies beside the data.\n"),
        ("src/a.py", "x = 1  # nobody reads this\n"),
        ("src/a.py", 'raise ValueError(f"{1} came")\n'),
        ("src/a.py", 'def f():\n    """Compute the Whole numbers."""\n'),
    ],
)
def test_a_bad_sentence_fails(tmp_path, capsys, file, content):
    limits = tmp_path / "limits.json"
    path = tmp_path / file
    path.parent.mkdir()
    path.write_text("came = told = None\n" if path.suffix == ".py" else "Good.\n")
    arguments = ["--root", str(tmp_path), "--limits", str(limits)]
    assert check_prose.main(arguments) == 0
    path.write_text(content)
    assert check_prose.main(arguments) == 1
    assert f"{file}:" in capsys.readouterr().out


def test_limits_only_fall(tmp_path):
    limits = tmp_path / "limits.json"
    limits.write_text(json.dumps({"beside": 2, "anew": 0}))
    (tmp_path / "a.md").write_text("beside, anew\n")
    check_prose.main(["--root", str(tmp_path), "--limits", str(limits), "--update"])
    assert json.loads(limits.read_text())["beside"] == 1
    assert json.loads(limits.read_text())["anew"] == 0


def test_subjects_are_short():
    assert check_prose.subject_problem("Compile read-only kernels once") is None
    for wrong in ("x" * 73, "Add a check.", "add a check"):
        assert check_prose.subject_problem(wrong)
