"""Small files that stand for much memory are refused before it is taken."""

import gzip
import io
import json
import os
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pytest

from labelance.datasets import MultiLabelDataset, read_multilabel, write_multilabel
from labelance.datasets.formats._rda import read_rda
from labelance.datasets.formats._text_file import (
    DEFAULT_BUDGET,
    find_budget,
    format_amount,
    parse_amount,
)
from labelance.exceptions import DataFileError, InputError, LabelanceWarning

# Reads every file named with at most 25 MB, in a process that can have little more than that.
READ_ALL = """
import resource, sys
from pathlib import Path
from labelance.datasets import read_multilabel
from labelance.exceptions import DataFileError
small, *bombs = sys.argv[1:]
for path in Path(small).iterdir():
    if path.suffix != ".xml":
        read_multilabel(path)  # everything that is loaded, is so by now
virtual = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
limit = virtual + 300_000_000
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for path in bombs:
    try:
        read_multilabel(path, max_size="25MB", labels=-1 if ".csv" in path else None)
        print(path, "was read")
    except DataFileError as error:
        if "max_size='25 MB'" not in str(error) or "max_size='4GB'" not in str(error):
            print(path, error)
"""


def zipped(text):
    return gzip.compress(text, 1, mtime=0)


def arff(width, rows, kind=b"numeric"):
    head = b"".join(b"@attribute a%d %s\n" % (i, kind) for i in range(width))
    return b"@relation 'r: -C 1'\n@attribute l {0,1}\n" + head + b"@data\n" + rows


def npz(**arrays):
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def about(**words):
    return np.frombuffer(json.dumps({"version": 1, **words}).encode(), np.uint8)


def declared(shape):
    """Return an NPZ with an array that says it is of this shape."""
    out, array = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_1_0(
        array, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("about.npy", array.getvalue() + bytes(64))
    return out.getvalue()


EMPTY = {
    "Y_indices": np.empty(0, np.int32),
    "Y_indptr": np.zeros(3, np.int32),
    "X": np.zeros((2, 1)),
}
BOMBS = {
    "wide.npz": lambda: npz(about=about(), Y_shape=np.array([2, 2**40]), **EMPTY),
    "zeros.npz": lambda: npz(about=np.zeros(50_000_000, np.uint8)),
    "flags.npz": lambda: npz(about=about(), X=np.zeros((30, 250_000), np.int8)),
    "words.npz": lambda: npz(about=np.frombuffer(b"[" + b"[]," * 750_000, np.uint8)),
    "line.csv.gz": lambda: zipped(b'a,b\n"' + b"x" * 27_500_000),
    "wide.libsvm": lambda: b"0 9999999999:1\n",
}  # fmt: skip


def parquet(path):
    pa = pytest.importorskip("pyarrow")
    zeros = pa.array(np.zeros(500_000, np.int8))
    table = pa.table({f"c{i}": zeros for i in range(20)})
    pytest.importorskip("pyarrow.parquet").write_table(table, path)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the address space is limited on Linux")
def test_bombs_are_refused_before_they_take_memory(tmp_path):
    small = tmp_path / "small"
    data = MultiLabelDataset(np.eye(3), np.eye(3), categories=(None, ("0", "1"), None))
    for ending in ("arff.gz", "csv", "libsvm", "npz", "parquet"):
        write_multilabel(data, small / f"{ending.partition('.')[0]}.{ending}")
    bombs = [tmp_path / name for name in (*BOMBS, "rows.parquet")]
    for path in bombs[:-1]:
        path.write_bytes(BOMBS[path.name]())
    parquet(bombs[-1])
    assert max(path.stat().st_size for path in bombs) < 10_000_000
    command = [sys.executable, "-c", READ_ALL, small, *bombs]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_an_array_is_not_larger_than_its_bytes(tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(declared((2**40,)))
    with pytest.raises(DataFileError, match="too few for"):
        read_multilabel(path)


def test_r_objects_have_the_same_budget():
    vector = b"\0\0\4\2\0\0\0\1\0\4\0\x09\0\0\0\1a\0\0\0\x0e" + b"\x7f\xff\xff\xff"
    content = b"RDX2\nX\n" + bytes(12) + vector + bytes(100)
    with pytest.raises(DataFileError, match="more memory"):
        read_rda(content, "a.rda")


def test_the_budget_is_a_gibibyte_or_a_hundred_times_the_file(tmp_path, monkeypatch):
    monkeypatch.delenv("LABELANCE_MAX_SIZE", raising=False)
    path = tmp_path / "a.csv"
    assert find_budget(path) == DEFAULT_BUDGET == 2**30
    with path.open("wb") as out:
        out.truncate(100_000_000)
    assert find_budget(path) == 10_000_000_000
    assert find_budget(path, "4GB") == 4_000_000_000
    monkeypatch.setenv("LABELANCE_MAX_SIZE", "2 MiB")
    assert find_budget(path) == 2 << 20
    assert find_budget(path, 5) == 5


@pytest.mark.parametrize("amount", ["", "much", "-1", 0, -5, "0", True, "1e9", "1 XB", "٣GB"])
def test_amounts_that_are_none_are_refused(tmp_path, amount):
    with pytest.raises(InputError, match="max_size must be a number of bytes"):
        read_multilabel(tmp_path / "a.csv", max_size=amount)


def test_amounts_are_shown_as_they_are_given():
    for text in ("1 B", "999 B", "4 GB", "1.5 TB"):
        assert format_amount(parse_amount(text)) == text


def test_endless_names_are_shortened_in_messages(tmp_path):
    path = tmp_path / "long.arff"
    name = "n" * 900_000
    path.write_text(f"@relation 'r: -C 1'\n@attribute {name} {{a,b,c}}\n@data\na\n")
    for labels in (None, ["other"], [name + name]):
        with pytest.raises(DataFileError) as caught:
            read_multilabel(path, labels=labels)
        assert len(str(caught.value)) < 1_500
    with pytest.raises(InputError) as caught:
        raise InputError("a word " * 100_000, name, "fix")
    assert len(str(caught.value)) < 10_000
    with pytest.warns(LabelanceWarning) as warned:
        warnings.warn(f"The label {name} is odd.", LabelanceWarning, stacklevel=1)
    assert len(str(warned[0].message)) < 500


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in the file system")
@pytest.mark.parametrize("ending", ["csv", "arff", "parquet", "npz", "libsvm", "csv.gz"])
def test_a_pipe_is_refused_at_once(tmp_path, ending):
    path = tmp_path / f"data.{ending}"
    os.mkfifo(path)
    with pytest.raises(DataFileError, match="pipe or a device"):
        read_multilabel(path)
