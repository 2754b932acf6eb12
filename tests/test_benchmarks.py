"""The entry of the benchmarks: what it runs, keeps and compares."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("the benchmarks are not beside the tests", allow_module_level=True)


pytestmark = pytest.mark.slow  # every call is a process of its own


def benchmarks(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *map(str, arguments)],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
    )


def kept(path, commit, *lines):
    path.write_text(json.dumps({"benchmark": "mlsol", "commit": commit, "output": list(lines)}))
    return path


def test_every_benchmark_is_listed_with_a_line():
    listed = benchmarks("list").stdout.splitlines()
    names = {path.stem for path in (ROOT / "benchmarks").glob("[!_]*.py")}
    assert {line.split()[0] for line in listed} == names
    assert all(len(line.split()) > 3 for line in listed)


def test_two_runs_are_compared_figure_by_figure(tmp_path):
    before = kept(tmp_path / "a.json", "old", "yeast dense 2.0 1,000", "scene dense 4", "words")
    after = kept(tmp_path / "b.json", "new", "yeast dense 1.0 1,500", "birds dense 3")
    shown = benchmarks("compare", before, after).stdout.splitlines()
    assert shown == [
        "mlsol: old -> new",
        "yeast dense: 2 -> 1 (0.50), 1000 -> 1500 (1.50)",
        "birds dense: only in one of the two",
    ]


def test_rounds_are_compared_by_their_medians():
    outputs = [["MLSOL 3.0 s"], ["MLSOL 1.0 s"], ["MLSOL 9 s"], ["MLSOL failed"]]
    told = f"from benchmarks.__main__ import median_rows; print(median_rows({outputs}))"
    done = subprocess.run([sys.executable, "-c", told], cwd=ROOT, text=True, capture_output=True)
    assert (done.stdout, done.stderr) == ("[('MLSOL s', [3.0])]\n", "")


def test_a_run_is_kept_whole(tmp_path):
    out = tmp_path / "kept.json"
    # One that imports little.
    done = benchmarks("run", "--out", out, "suite", "--help")
    assert done.returncode == 0, done.stderr
    result = json.loads(out.read_text())
    assert result["benchmark"] == "suite"
    assert result["arguments"] == ["--help"]
    assert result["exit_code"] == 0
    assert "\n".join(result["output"]) in done.stdout
    assert "numpy" in json.dumps(result["versions"])


def test_texts_that_are_not_there_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setenv("LABELANCE_DATA", str(tmp_path))
    script = ROOT / "results" / "practice-text" / "practice_text.py"
    if not script.is_file():
        pytest.skip("results/ is not in this copy")
    done = subprocess.run([sys.executable, script], text=True, capture_output=True, check=True)
    assert "nothing to do" in done.stdout


def test_explained_mutants_are_those_of_the_code_at_hand():
    """An explanation whose line has gone or changed may hide another mutant; write it anew."""
    stale = """
from mutants import PACKAGES, ROOT, all_mutants, explained
there = {mutant.change for mutant in all_mutants(PACKAGES, ROOT / "src" / "labelance")}
print(*sorted(explained() - there), sep="\\n", end="")
"""
    done = subprocess.run(
        [sys.executable, "-c", stale], cwd=ROOT / "benchmarks", text=True, capture_output=True
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_a_name_that_is_none_is_refused():
    done = benchmarks("run", "nothing")
    assert done.returncode == 2
    assert "mlsol" in done.stderr


def test_long_tail_compares_candidates_on_data_without_rare_labels(tmp_path):
    """The gaps in the tail are not known there, and must not rule every candidate out."""
    path = tmp_path / "tail.csv"
    today, better = "boot 0.7,plain step6 train", "boot 0.7,none train"
    lines = [f"emotions,BR,0,{one},{f},{f},{f},,,,0" for one, f in ((today, 0.5), (better, 0.6))]
    lines += [f"emotions,BR,0,{one},,0.4,0.4,0.4,,,,0" for one in ("EMLSOL", "Bagging")]
    head = "data,learner,fold,ensemble,rest,auc,aucpr,f,tail auc,tail aucpr,tail f,n tail"
    path.write_text("\n".join([head, *lines]) + "\n")
    done = subprocess.run(
        [sys.executable, "long_tail.py", "--keep", path, "--table"],
        cwd=ROOT / "benchmarks", text=True, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "admissible: 2 of 2 winner: boot 0.7 none train" in done.stdout
