"""The fuzzer of benchmarks/fuzz.py, in small: whatever the bytes are, a file is read or refused."""

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "fuzz.py"
if sys.platform == "win32" or not SCRIPT.exists():
    pytest.skip("the fuzzer is for Unix, from a checkout", allow_module_level=True)

spec = importlib.util.spec_from_file_location("fuzz", SCRIPT)
fuzz = importlib.util.module_from_spec(spec)
sys.modules["fuzz"] = fuzz
spec.loader.exec_module(fuzz)

CASES = 200
READERS = list(fuzz.TARGETS)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_changed_files_are_read_or_refused(tmp_path, name):
    target = fuzz.TARGETS[name]
    outcomes = {fuzz.run_case(target, 0, case, tmp_path) for case in range(CASES)}
    assert outcomes == {"read", "refused"}


@pytest.mark.parametrize("name", READERS)
def test_files_of_the_corpus_are_read_or_refused(tmp_path, name):
    target = fuzz.TARGETS[name]
    for source in target.seeds():
        path = tmp_path / source.name
        path.write_bytes(source.read_bytes())
        try:
            target.read(path, fuzz.random.Random(0))
        except fuzz.LabelanceError as error:
            assert error.cure  # noqa: PT017 - most are read


def test_a_case_depends_on_its_seed_and_number_alone():
    for target in fuzz.TARGETS.values():
        one, other = target.make(0, 1), target.make(0, 1)
        assert one[:2] == other[:2]
        assert len({target.make(0, case)[0] for case in range(20)}) > 10


@pytest.mark.slow
def test_findings_are_counted_and_saved(tmp_path):
    """A reader that dies or throws ends a child, and every case is accounted for."""

    def read(path, rng):
        first = path.read_bytes()[:1]
        if first == b"k":
            raise KeyError
        if first == b"d":
            fuzz.signal.raise_signal(fuzz.signal.SIGKILL)
        if first == b"r":
            raise fuzz.LabelanceError("problem", "found", "cure")

    target = fuzz.Target("csv", read, lambda content, rng: rng.choice([b"k", b"d", b"r", b"x"]))
    tally = fuzz.fuzz(target, 0, 20, tmp_path)
    assert tally.read + tally.refused + tally.findings.total() == 20
    assert set(tally.findings) == {"died with -9", "KeyError"}
    assert len(list(tmp_path.iterdir())) == 2
