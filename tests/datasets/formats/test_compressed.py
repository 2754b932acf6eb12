"""Compressed files of every kind are read and written alike, and none can fill the memory."""

import bz2
import gzip
import lzma
import sys

import numpy as np
import pytest

from labelance.datasets import MultiLabelDataset, read_multilabel, write_multilabel
from labelance.exceptions import DataFileError, MissingDependencyError


def zstandard(content):
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.compress(content, codec="zstd", asbytes=True)


PACK = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstandard}

every_kind = pytest.mark.parametrize("kind", PACK)


def small():
    return MultiLabelDataset(np.arange(200.0).reshape(50, 4), np.arange(100).reshape(50, 2) % 2)


@every_kind
@pytest.mark.parametrize("ending", ["arff", "csv", "libsvm"])
def test_what_is_written_is_read(tmp_path, ending, kind):
    if kind == "zst":
        pytest.importorskip("pyarrow")
    plain = write_multilabel(small(), tmp_path / f"plain.{ending}")
    packed = write_multilabel(small(), tmp_path / f"packed.{ending}.{kind}")
    assert read_multilabel(packed).same_as(read_multilabel(plain))
    assert packed.read_bytes()[:2] == PACK[kind](b"")[:2]
    assert (tmp_path / "packed.xml").exists() == (ending != "libsvm")


@every_kind
def test_blocks_may_be_cut_anywhere_and_members_follow_each_other(tmp_path, kind, monkeypatch):
    plain = write_multilabel(small(), tmp_path / "a.csv")
    content = plain.read_bytes()
    parts = [content[:101], content[101:300], content[300:]]
    packed = tmp_path / f"a.csv.{kind}"
    packed.write_bytes(b"".join(map(PACK[kind], parts)))
    monkeypatch.setattr("labelance.datasets.formats._text_file.READ_SIZE", 11)
    assert read_multilabel(packed).same_as(small())


@every_kind
def test_a_truncated_file_is_refused(tmp_path, kind):
    path = tmp_path / f"a.csv.{kind}"
    write_multilabel(small(), tmp_path / "a.csv")
    path.write_bytes(PACK[kind]((tmp_path / "a.csv").read_bytes())[:-30])
    with pytest.raises(DataFileError, match=r"ends in the middle.*again"):
        read_multilabel(path)


@pytest.mark.slow
@every_kind
def test_a_bomb_is_refused(tmp_path, kind):
    path = tmp_path / f"bomb.csv.{kind}"
    path.write_bytes(PACK[kind](b"%" * 5_000_000))
    with pytest.raises(DataFileError, match=r"max_size='1 MB'.*unzipped"):
        read_multilabel(path, labels=-1, max_size=1_000_000)


def test_zstandard_says_what_to_install(tmp_path, monkeypatch):
    path = tmp_path / "a.csv.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd" + bytes(20))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"labelance\[data\]"):
        read_multilabel(path, labels=-1)


def test_arrays_that_numpy_saved_are_read(tmp_path):
    data, path = small(), tmp_path / "mine.npz"
    Y = data.Y.toarray()
    np.savez(path, X=data.values, y=Y)
    assert read_multilabel(path).same_as(data)
    np.savez_compressed(path, X=data.values.astype(np.float32), Y=Y.astype(bool))
    assert read_multilabel(path).same_as(data)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"features": np.ones((2, 2))}, r"It has features\. Write it with np.savez"),
        ({"X": np.ones((2, 2)), "y": np.array([[0, 2], [1, 1]])}, r"0 \(absent\) or 1"),
        ({"X": np.ones((2, 2)), "y": np.array([0, 1])}, "one dimension"),
        ({"X": np.array(3.0), "y": np.ones((2, 2))}, "X must have rows and columns.*single number"),
        ({"X": np.ones((2, 2)), "y": np.array([[{}], [{}]])}, "not a complete NPZ"),
    ],
)
def test_other_arrays_are_refused_with_the_cure(tmp_path, arrays, message):
    path = tmp_path / "mine.npz"
    np.savez(path, **arrays)
    with pytest.raises(DataFileError, match=message):
        read_multilabel(path)


def test_text_may_begin_with_the_letters_of_bzip2(tmp_path):
    path = tmp_path / "hours.csv"
    path.write_text("BZh1,late\n1,0\n2,1\n")
    assert read_multilabel(path, labels=-1).feature_names == ("BZh1",)


def test_an_empty_bzip2_file_is_one(tmp_path):
    path = tmp_path / "nothing.csv.bz2"
    path.write_bytes(bz2.compress(b""))
    with pytest.raises(DataFileError, match="Add a header"):
        read_multilabel(path, labels=-1)
