"""Writing is whole or not at all, and says no in time."""

import errno
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelance.datasets import MultiLabelDataset, read_multilabel, write_multilabel
from labelance.exceptions import FileWriteError, InputError

ENDINGS = ["arff", "arff.gz", "csv", "tsv", "parquet", "libsvm", "npz"]


def small(**options):
    return MultiLabelDataset(np.arange(6.0).reshape(3, 2), [[1, 0], [0, 0], [1, 1]], **options)


@pytest.mark.parametrize("ending", ENDINGS)
def test_files_are_kept_unless_told(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    path.write_text("precious")
    with pytest.raises(InputError, match=r"exists.*overwrite=True"):
        write_multilabel(small(), path)
    assert path.read_text() == "precious"
    write_multilabel(small(), path, overwrite=True)
    np.testing.assert_array_equal(read_multilabel(path).Y.toarray(), small().Y.toarray())


def test_another_label_file_is_kept_unless_told(tmp_path):
    (tmp_path / "a.xml").write_text("precious")
    with pytest.raises(InputError, match=r"a\.xml already exists"):
        write_multilabel(small(), tmp_path / "a.csv")
    assert [file.name for file in tmp_path.iterdir()] == ["a.xml"]
    write_multilabel(small(), tmp_path / "a.csv", label_file=False)
    assert (tmp_path / "a.xml").read_text() == "precious"


def test_a_label_file_of_the_same_labels_serves_several_files(tmp_path):
    write_multilabel(small(), tmp_path / "a.arff")
    before = (tmp_path / "a.xml").stat().st_mtime_ns
    write_multilabel(small(), tmp_path / "a.csv")
    assert (tmp_path / "a.xml").stat().st_mtime_ns == before


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_failure_leaves_nothing(tmp_path, ending):
    broken = small(feature_names=["fine", "lone \ud800 surrogate"], categories=[None, ("a",) * 9])
    if ending == "npz":  # JSON can hold it
        return
    with pytest.raises(InputError):
        write_multilabel(broken, tmp_path / f"a.{ending}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["arff", "csv", "parquet"])
def test_names_must_differ(tmp_path, ending):
    with pytest.raises(InputError, match="2 columns are called 'same'"):
        write_multilabel(
            small(feature_names=["same", "b"], label_names=["same", "d"]), tmp_path / f"a.{ending}"
        )


@pytest.mark.parametrize("code", [-1, 2, 0.5, np.inf])
def test_codes_must_have_values(tmp_path, code):
    data = MultiLabelDataset([[0.0], [code]], [[1], [0]], categories=[("a", "b")])
    with pytest.raises(InputError, match="codes 0, 1"):
        write_multilabel(data, tmp_path / "a.arff")


def test_libsvm_has_no_place_for_words(tmp_path):
    data = MultiLabelDataset([[0.0], [1]], [[1], [0]], categories=[("a", "b")])
    with pytest.raises(InputError, match="numeric features only"):
        write_multilabel(data, tmp_path / "a.libsvm")
    binary = MultiLabelDataset([[0.0], [1]], [[1], [0]], categories=[("0", "1")])
    back = read_multilabel(write_multilabel(binary, tmp_path / "a.libsvm"))
    np.testing.assert_array_equal(back.values.toarray(), binary.values)


@pytest.mark.parametrize("name", ["a\rb", "\x01"])
def test_names_that_a_format_cannot_hold(tmp_path, name):
    with pytest.raises(InputError, match=r"(carriage returns|control character)"):
        write_multilabel(small(label_names=["l", name]), tmp_path / "a.csv")


def test_a_wide_sparse_matrix_does_not_go_to_parquet(tmp_path):
    data = MultiLabelDataset(csr_array((10_000, 10_000)), np.ones((10_000, 1)))
    with pytest.raises(InputError, match="LibSVM or NPZ"):
        write_multilabel(data, tmp_path / "a.parquet")


@pytest.mark.parametrize("ending", ["npz.gz", "parquet.gz"])
def test_compressed_formats_are_not_gzipped(tmp_path, ending):
    with pytest.raises(InputError, match=r"Remove \.gz from"):
        write_multilabel(small(), tmp_path / f"a.{ending}")


def test_arrays_and_frames_are_written_as_they_are(tmp_path):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    X = {"n": [0.5, 2.0], "size": ["s", "l"]}
    Y = {"a": [1, 0], "b": [1, 1]}
    frames = [
        (pandas.DataFrame(X).astype({"size": "category"}), pandas.DataFrame(Y)),
        (polars.DataFrame(X).with_columns(polars.col("size").cast(polars.Enum(["l", "s"]))),
         polars.DataFrame(Y)),
    ]  # fmt: skip
    for i, pair in enumerate(frames):
        data = read_multilabel(write_multilabel(pair, tmp_path / f"{i}.arff"))
        assert data.feature_names == ("n", "size")
        assert data.categories == (None, ("l", "s"))
        np.testing.assert_array_equal(data.values, [[0.5, 1], [2, 0]])
        np.testing.assert_array_equal(data.Y.toarray(), [[1, 1], [0, 1]])
    arrays = np.eye(2), csr_array(np.eye(2))
    data = read_multilabel(write_multilabel(arrays, tmp_path / "arrays.csv"))
    assert data.feature_names == ("x0", "x1")
    assert data.label_names == ("y0", "y1")


@pytest.mark.parametrize("before", [None, "precious"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch, ending, before):
    path = tmp_path / f"a.{ending}"
    if before is not None:
        path.write_text(before)

    def fill_disk(data, out):
        out.write(b"half of it")
        raise OSError(errno.ENOSPC, "No space left on device")

    writers = {ending.removesuffix(".gz"): fill_disk}
    monkeypatch.setattr("labelance.datasets.formats._read_write._WRITERS", writers)
    with pytest.raises(FileWriteError, match=r"No space left.*Free disk space") as caught:
        write_multilabel(small(), path, overwrite=True)
    assert ("is as it was" in str(caught.value)) == (before is not None)
    assert [file.name for file in tmp_path.iterdir()] == ([path.name] if before else [])
    assert before is None or path.read_text() == before


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the size of files is limited on Unix")
def test_a_disk_that_takes_no_more_is_an_error_of_ours(tmp_path):
    code = """
import resource, sys
import numpy as np
from labelance.datasets import MultiLabelDataset, write_multilabel
from labelance.exceptions import FileWriteError
data = MultiLabelDataset(np.random.default_rng(0).random((500, 50)), np.eye(500, 2))
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
for path in sys.argv[1:]:
    try:
        write_multilabel(data, path)
    except FileWriteError as error:
        print(error.cure)
"""
    files = [tmp_path / f"a.{ending}" for ending in ("arff.gz", "csv", "parquet", "npz")]
    done = subprocess.run([sys.executable, "-c", code, *files], capture_output=True, text=True)
    told = done.stdout.splitlines()
    assert [line.startswith("Free disk space") for line in told] == [True] * 4, done.stderr
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path, monkeypatch):
    def refuse(**options):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    with pytest.raises(FileWriteError, match=r"Writing .*a\.csv failed\. Permission denied"):
        write_multilabel(small(), tmp_path / "a.csv")


def test_a_folder_that_is_a_file_is_named(tmp_path):
    (tmp_path / "file").write_text("precious")
    with pytest.raises(FileWriteError, match="choose a writable folder"):
        write_multilabel(small(), tmp_path / "file" / "a.csv")
    assert (tmp_path / "file").read_text() == "precious"
