"""What the catalogue makes of published files: joined ones, and objects of R."""

import bz2
import gzip
import hashlib
import lzma
import re

import numpy as np
import pytest
from scipy.sparse import csr_array, hstack

from labelance.datasets import (
    MultiLabelDataset,
    dataset_info,
    fetch_dataset,
    list_datasets,
    load_dataset,
    read_multilabel,
    write_multilabel,
)
from labelance.datasets._download import convert_mldr, git_blob_id, join_arff
from labelance.datasets.formats._rda import RObject, SparseVector, read_rda
from labelance.exceptions import DataFileError, InputError

HEADER = b"@relation r\n@attribute a numeric\n@attribute l {0,1}\n"
LABELS = b'<labels xmlns="http://mulan.sourceforge.net/labels"><label name="l"></label></labels>'


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\n\n"])
def test_training_rows_are_followed_by_test_rows(end: bytes) -> None:
    train = HEADER + b"@data\n1,0\n2,1" + end
    test = b"@relation other\n\n@attribute a numeric\n@DATA \n\n3,1\n4,0" + end
    assert join_arff(train, test) == HEADER + b"@data\n1,0\n2,1\n3,1\n4,0\n"


def test_joined_files_go_through_the_catalogue(publisher, tmp_path) -> None:
    files = {
        "train.arff": HEADER + b"@data\n1,0\n",
        "test.arff": HEADER + b"@data\n2,1\n",
        "l.xml": LABELS,
    }
    joined = HEADER + b"@data\n1,0\n2,1\n"
    publisher.publish(files, recipe="join", arff=joined, xml=LABELS)
    data = load_dataset("tiny", data_home=tmp_path)
    np.testing.assert_array_equal(data.values, [[1], [2]])


def mldr_file(writer, X, Y, feature_names, label_names, **kind) -> bytes:
    """An mldr object as its package stores it, with the two columns that it adds."""
    columns = dict(zip(feature_names, map(writer.reals, X.T)))
    columns |= dict(zip(label_names, map(writer.integers, Y.T)))
    columns |= {".labelcount": writer.integers(Y.sum(axis=1)), ".SCUMBLE": writer.reals(X[:, 0])}
    index = range(X.shape[1] + 1, X.shape[1] + Y.shape[1] + 1)
    parts = {
        "name": writer.strings(["thing"]),
        "dataset": writer.named_list(columns, **{"class": writer.strings(["data.frame"])}),
        "attributesIndexes": writer.integers(range(1, X.shape[1] + 1)),
        "labels": writer.named_list(
            {"index": writer.integers(index)}, **{"row.names": writer.strings(label_names)}
        ),
    }
    return writer.file(thing=writer.named_list(parts), **kind)


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("version", [2, 3])
def test_an_mldr_object_becomes_sparse_arff(publisher, r_writer, compress, version) -> None:
    X, Y = np.array([[0, 2, 0.25], [0, 0, 0], [1e-5, 0, 3]]), np.array([[1, 0], [0, 1], [1, 1]])
    rda = compress(mldr_file(r_writer, X, Y, ["A1", "A2", "A3"], ["L1", "L2"], version=version))
    info = publisher.publish({"thing.rda": rda}, recipe="mldr")
    arff, xml = convert_mldr(info, rda)
    assert arff.decode().splitlines() == [
        f"% Converted from owner/project thing.rda @ {'0' * 40} "
        f"(git blob {info.sources[0].git_blob})",
        "@relation tiny",
        "",
        *(f"@attribute A{j} numeric" for j in (1, 2, 3)),
        *(f"@attribute L{j} {{0,1}}" for j in (1, 2)),
        "",
        "@data",
        "{1 2,2 0.25,3 1}",
        "{4 1}",
        "{0 1e-05,2 3,3 1,4 1}",
    ]
    assert xml.count(b"<label name=") == 2


def test_an_mldr_object_goes_through_the_catalogue(publisher, r_writer, tmp_path) -> None:
    X, Y = np.eye(4) * 1.5, np.eye(4, 3, dtype=int)
    rda = gzip.compress(mldr_file(r_writer, X, Y, "abcd", "xyz"), mtime=0)
    arff, xml = convert_mldr(publisher.publish({"thing.rda": rda}, recipe="mldr"), rda)
    publisher.publish({"thing.rda": rda}, recipe="mldr", arff=arff, xml=xml)
    fetch_dataset("tiny", data_home=tmp_path)
    data = load_dataset("tiny", data_home=tmp_path)
    np.testing.assert_array_equal(data.values.toarray(), X)
    np.testing.assert_array_equal(data.Y.toarray(), Y)
    assert data.label_names == ("x", "y", "z")


@pytest.mark.parametrize(
    "content", [b"", b"junk", b"RDX2\nX\n", gzip.compress(b"RDX2\nA\n", mtime=0), b"\x1f\x8bcut"]
)
def test_what_is_no_file_of_R_is_refused(content: bytes) -> None:
    with pytest.raises(DataFileError, match=r"x\.rda is not a readable file of R objects"):
        read_rda(content, "x.rda")


def test_files_cut_anywhere_are_refused(r_writer) -> None:
    whole = mldr_file(r_writer, np.eye(2), np.eye(2, dtype=int), "ab", "xy")
    for end in range(0, len(whole), 7):
        with pytest.raises(DataFileError):
            read_rda(whole[:end], "x.rda")


@pytest.mark.slow  # whole datasets are converted, 10 to 90 CPU seconds each
@pytest.mark.data
@pytest.mark.parametrize("name", [i.name for i in list_datasets() if i.recipe == "mldr"])
def test_the_registered_conversion_is_repeated_byte_for_byte(
    name, data_dir, data_file, monkeypatch
) -> None:
    data, info = load_dataset(name, data_home=data_dir), dataset_info(name)
    names = [*data.feature_names, *data.label_names]
    header = gzip.decompress(data_file(name).read_bytes()).partition(b"@data\n")[0].decode()
    in_file = re.findall(r"(?m)^@attribute (\S+) ", header)  # labels come first or last
    order = [names.index(found) for found in in_file]
    table = hstack([data.values, csr_array(data.Y, dtype=float)]).tocsc()[:, order]
    table.sort_indices()
    columns = [
        RObject(SparseVector(table.shape[0], places, values), {})
        for places, values in zip(
            np.split(table.indices, table.indptr[1:-1]), np.split(table.data, table.indptr[1:-1])
        )
    ]
    index = np.flatnonzero(np.array(order) >= data.n_features) + 1
    labels = r_list({"index": RObject(SparseVector(len(index), np.arange(len(index)), index), {})})
    frame = r_list(dict(zip(in_file, columns)))
    whole = {"x": r_list({"dataset": frame, "labels": labels})}
    monkeypatch.setattr("labelance.datasets._download.read_rda", lambda content, path: whole)
    arff, xml = convert_mldr(info, b"")
    assert hashlib.sha256(arff).hexdigest() == info.sha256_arff
    assert hashlib.sha256(xml).hexdigest() == info.sha256_xml


@pytest.mark.data
@pytest.mark.parametrize(("name", "n_train"), [("scene", 1211), ("birds", 322)])
def test_joining_the_published_parts_gives_the_registered_file(name, n_train, data_file) -> None:
    info = dataset_info(name)
    whole = gzip.decompress(data_file(name).read_bytes())
    head, mark, body = whole.partition(b"@data\n")
    rows = body.splitlines(keepends=True)
    train, test = (head + mark + b"".join(part) for part in (rows[:n_train], rows[n_train:]))
    assert git_blob_id(train) == info.sources[0].git_blob
    if name == "scene":  # the header of birds-test differs from that of birds-train
        assert git_blob_id(test) == info.sources[1].git_blob
    assert hashlib.sha256(join_arff(train, test)).hexdigest() == info.sha256_arff


def r_list(entries: dict) -> RObject:
    return RObject(list(entries.values()), {"names": RObject(list(entries), {})})


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_an_mldr_object_of_a_user_is_read(r_writer, tmp_path, compress) -> None:
    """The two columns that mldr adds are left out."""
    rng = np.random.default_rng(0)
    X, Y = rng.random((6, 2)), rng.integers(0, 2, (6, 3))
    path = tmp_path / "mine.rda"
    path.write_bytes(compress(mldr_file(r_writer, X, Y, ["a", "b"], ["p", "q", "r"])))
    data = read_multilabel(path)
    assert data.same_as(MultiLabelDataset(X, Y, ["a", "b"], ["p", "q", "r"]))
    assert data.name == "thing"
    assert read_multilabel(path, ignore=["a"], labels=["q"]).feature_names == ("b", "p", "r")
    sparse = mldr_file(r_writer, np.eye(6) * 2, Y, list("abcdef"), ["p", "q", "r"])
    path.write_bytes(sparse)
    assert read_multilabel(path).is_sparse
    with pytest.raises(InputError, match="can be read, not written"):
        write_multilabel(data, path, overwrite=True)


def test_factors_texts_and_missing_cells_of_mldr_objects(r_writer, tmp_path) -> None:
    levels = {"levels": r_writer.strings(["red", "blue"])}
    columns = {
        "color": r_writer.integers([1, 2, -(2**31)], **levels),
        "count": r_writer.integers([5, -(2**31), 0]),
        "word": r_writer.strings(["b", "a", "b"]),
        "l": r_writer.integers([1, 2, 1], levels=r_writer.strings(["0", "1"])),
    }
    parts = {
        "dataset": r_writer.named_list(columns),
        "labels": r_writer.named_list({"index": r_writer.integers([4])}),
    }
    path = tmp_path / "mine.rda"
    path.write_bytes(r_writer.file(mine=r_writer.named_list(parts)))
    data = read_multilabel(path)
    assert data.categories == (("red", "blue"), None, ("a", "b"))
    nan = np.nan
    np.testing.assert_array_equal(data.values, [[0, 5, 1], [1, nan, 0], [nan, 0, 1]])
    np.testing.assert_array_equal(data.Y.toarray(), [[0], [1], [0]])


def test_r_files_of_other_things_are_refused(r_writer, tmp_path) -> None:
    path = tmp_path / "mine.RData"
    path.write_bytes(r_writer.file(a=r_writer.strings(["x"]), b=r_writer.reals(np.ones(2))))
    with pytest.raises(DataFileError, match=r"one mldr object. It holds a, b\. .*save\(\)"):
        read_multilabel(path)
