"""A corpus of broken files: each is refused with the file, the line and what to do."""

import contextlib
import gzip
import io
import re
import struct
import zipfile

import numpy as np
import pytest

from labelance.datasets import MultiLabelDataset, read_multilabel, write_multilabel
from labelance.exceptions import DataFileError, InputError

HEAD = "@relation 'r: -C -1'\n@attribute a numeric\n@attribute b {x,y}\n@attribute l {0,1}\n@data\n"
XML = '<?xml version="1.0"?>\n<labels><label name="l"/></labels>'


def arff(rows):
    return (HEAD + rows).encode()


# Name, file, expected line (None if there is no line to name), what the message says.
BROKEN_ARFF = {
    "row cut short": (arff("1,x,0\n2,y"), 7, "3 values.*This one has 2.*Write \\? for"),
    "row too long": (arff("1,x,0\n2,y,0,9"), 7, "3 values.*This one has 4.*quote values"),
    "value with a blank": (arff("1,new york,0"), 6, "This one has 4.*quote values"),
    "unknown nominal value": (arff("1,x,0\n2,z,1"), 7, "'b'.*Got 'z'.*Declare this value"),
    "not a number": (arff("1,x,0\n\n% note\none,x,1"), 9, "'a' must be numeric.*'one'.*nominal"),
    "empty value": (arff("1,,0"), 6, "has 1, and then ',0'.*Write \\?"),
    "unclosed quote": (arff("1,'x,0"), 6, "has 1, and then .*Close the quote"),
    "weight": (arff("1,x,0,{5}"), 6, "has 3, and then '.5.'. End the row.*weights"),
    "sparse weight": (arff("{0 1}\n{1 y}, {5}"), 7, "Found '}, .5.'. End the row.*weights"),
    "sparse among dense": (arff("1,x,0\n{0 1}"), 7, "has 0, and then '{0 1}'. Write all rows"),
    "dense among sparse": (arff("{0 1}\n1,x,0"), 7, "Found '1,x,0'. Write all rows dense"),
    "sparse quote left open": (arff("{1 'x, 2 1}"), 6, "Found .*close quotes"),
    "sparse row cut short": (arff("{0 1}\n{0 1,1 "), 7, "Found '1'.*file is complete"),
    "sparse row left open": (arff("{0 1}\n{0 1,"), 7, "has no end.*file is complete"),
    "sparse column too large": (arff("{3 1}"), 6, "below 3. Column 3 does not"),
    "sparse column not a number": (arff("{a 1}"), 6, "columns with their values.*'a 1}'"),
    "sparse columns unsorted": (arff("{1 y,0 1}"), 6, "increase.*Column 0"),
    "sparse column twice": (arff("{1 y,1 y}"), 6, "increase.*Column 1"),
    "sparse cells without comma": (arff("{0 1 1 y}"), 6, "Found '0 1 1 y}'.*Quote values"),
    "text after a sparse row": (arff("{0 1} x"), 6, "Found '} x'. End the row"),
    "missing label": (arff("1,x,?"), 6, "Label 'l' must be 0 or 1. A value is missing"),
    "no data": (HEAD.replace("@data\n", "").encode(), 5, "end with @data.*file is complete"),
    "no attributes": (b"@relation r\n@data\n1,2\n", None, "declare attributes.*Add @attribute"),
    "attribute without type": (b"@attribute a\n@data\n", 1, "a name and a type.*numeric"),
    "unknown type": (b"@attribute a float\n@data\n", 1, "real.*date with.*'a' is of type 'float'"),
    "relational": (b"@attribute a relational\n@data\n", 1, "'a' is of type 'relational'"),
    "string": (b"\n@attribute a string\n@data\n", 2, "'a' is of type 'string'.*text='drop'"),
    "date": (b"@attribute a date 'yyyy'\n@data\n", 1, "'a' is of type .date.*text='nominal'"),
    "brace left open": (b"@attribute a {x,y\n@data\n", 1, "in braces.*Close the brace"),
    "value declared twice": (b"@attribute a {x,x}\n@data\n", 1, "distinct.*repeated"),
    "name twice": (b"@attribute a real\n@attribute a real\n@data\n", 2, "'a' is repeated"),
    "not ARFF": (b"a,b,c\n1,2,3\n@data\n", 1, "@relation.*Found 'a,b,c'.*is an ARFF file"),
    "binary junk": (b"@relation \x00\x01\x02\xff", 1, "zero byte.*Check the path"),
    "UTF-16": (HEAD.encode("utf-16"), 1, "(zero byte|byte 0xff).*(UTF-8|encoding)"),
    "wrong encoding": (arff("1,x,0\n2,") + b"\xe9t\xe9,0\n", 7, "0xe9.*encoding='cp1252'"),
    "too many MEKA labels": (
        HEAD.replace("-C -1", "-C 9").encode() + b"1,x,0\n",
        None,
        "-C in the relation name.*Got 9",
    ),
    "labels unknown": (
        HEAD.replace(": -C -1", "").encode(),
        None,
        "label columns are unknown.*labels=-14",
    ),
    "label of three values": (
        HEAD.replace("{0,1}", "{a,b,c}").encode() + b"1,x,a\n",
        None,
        "'l' must have two values.*{a, b, c}.*present=",
    ),
    "numeric label": (
        HEAD.replace("{0,1}", "numeric").encode() + b"1,x,0\n1,x,2\n",
        7,
        "'l' must be 0 or 1. Got 2",
    ),
    "sparse numeric label": (
        HEAD.replace("{0,1}", "numeric").encode() + b"{}\n{2 2}\n",
        7,
        "'l' must be 0 or 1. Got 2",
    ),
}  # fmt: skip


def refuse(path, line, message, **options):
    with pytest.raises(DataFileError) as caught:
        read_multilabel(path, **options)
    said = str(caught.value)
    assert said.startswith(f"{path}: " if line is None else f"{path}, line {line}: ")
    assert re.search(message, said, re.S), said


@pytest.mark.parametrize("name", BROKEN_ARFF)
def test_broken_arff_is_refused(tmp_path, name):
    content, line, message = BROKEN_ARFF[name]
    path = tmp_path / "broken.arff"
    path.write_bytes(content)
    refuse(path, line, message)


BROKEN_XML = {
    "doctype": (f"<!DOCTYPE x>\n{XML[22:]}", 1, "document type.*nothing was expanded"),
    "entity": ('<!DOCTYPE x [\n<!ENTITY a "b">]>\n<labels/>', 1, "document type"),
    "external entity": (
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><labels>&a;</labels>',
        1,
        "document type",
    ),
    "unknown entity": ('<labels>\n<label name="&a;"/></labels>', 2, "well-formed"),
    "cut short": ('<labels>\n<label name="l">\n', 3, "well-formed"),
    "unknown encoding": (XML.replace("?>", " encoding='x-none'?>"), 1, "encoding.*as UTF-8"),
    "encoding of many bytes": (XML.replace("?>", " encoding='gbk'?>"), 1, "encoding.*as UTF-8"),
    "too deep": ("<a>" * 5000, 1, "well-formed.*labels="),
    "not XML": ("a,b\n1,2", 1, "well-formed.*name the labels with labels="),
    "no labels": ("<labels/>", None, "no <label> element"),
    "label without name": ("<labels>\n<label/></labels>", None, "Every label must have a name"),
    "label twice": (
        '<labels><label name="l"/><label name="l"/></labels>', None, "'l' is repeated"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN_XML)
def test_broken_label_file_is_refused(tmp_path, name):
    content, line, message = BROKEN_XML[name]
    (tmp_path / "data.arff").write_bytes(arff("1,x,0\n"))
    labels = tmp_path / "data.xml"
    labels.write_text(content)
    with pytest.raises(DataFileError) as caught:
        read_multilabel(tmp_path / "data.arff")
    said = str(caught.value)
    assert said.startswith(f"{labels}: " if line is None else f"{labels}, line {line}: ")
    assert re.search(message, said, re.S), said


def test_label_file_of_other_data_is_refused(tmp_path):
    (tmp_path / "data.arff").write_bytes(arff("1,x,0\n"))
    (tmp_path / "data.xml").write_text(XML.replace('"l"', '"other"'))
    message = "data.xml must be a column. There is no column 'other'.*belong together"
    refuse(tmp_path / "data.arff", None, message)


BROKEN_CSV = {
    "row too short": (b"a,b,l\n1,2,0\n1,2\n", 3, "3 cells.*This one has 2"),
    "row too long": (b"a,b,l\n1,2,0\n1,2,0,4\n", 3, "3 cells.*This one has 4.*quote cells"),
    "unclosed quote": (
        b'a,b,l\n1,2,0\n"1,2,0\n',
        3,
        "quoted cell must end.*never ends.*Close the quote",
    ),
    "text after a quote": (
        b'a,b,l\n"1"x,2,0\n',
        2,
        "quoted cell must end.*cell 1.*double the quotes",
    ),
    "name twice": (b"a,a,l\n1,2,0\n", 1, "'a' is repeated"),
    "empty": (b"", 1, "column names.*It is empty"),
    "missing label": (b"a,b,l\n1,2,\n", 2, "'l' must be 0 or 1. A value is missing"),
    "other number as label": (b'a,b,l\n"x\ny",2,1\n1,2,5\n', 4, "'l' must be 0 or 1. Got 5"),
    "binary": (b"a,b,l\n\0\1\2", 2, "zero byte"),
    "wrong encoding": (b"a,b,l\n\xe9t\xe9,1,1", 2, "0xe9.*cp1252"),
}


@pytest.mark.parametrize("name", BROKEN_CSV)
def test_broken_csv_is_refused(tmp_path, name):
    content, line, message = BROKEN_CSV[name]
    path = tmp_path / "broken.csv"
    path.write_bytes(content)
    refuse(path, line, message, labels=["l"])


BROKEN_LIBSVM = {
    "label not a number": (b"1,x 0:1\n", 1, "must be label numbers.*'1,x'"),
    "label list ends with a comma": (b"0 1:1\n1, 0:1\n", 2, "must be label numbers.*'1,'"),
    "negative label": (b"-1 1:2\n", 1, "must be label numbers.*'-1'"),
    "no colon": (b"1 5 3:1\n", 1, "number:value.*'5'"),
    "no value": (b"1 5:\n", 1, "number:value.*'5:'"),
    "value not a number": (b"0 1:1\n\n1 5:x\n", 3, "number:value.*'5:x'"),
    "query": (b"1 qid:1 5:2\n", 1, "number:value.*'qid:1'"),
    "fewer rows than told": (b"3 5 2\n0 1:1\n1 1:1\n", 1, "3 rows.*The file has 2.*complete"),
    "feature outside": (b"1 5 2\n0 5:1\n", 2, "Feature numbers must be from 0 to 4.*n_features"),
    "label outside": (b"2 5 2\n0 1:1\n2 1:1\n", 3, "Label numbers must be from 0 to 1.*n_labels"),
    "feature twice": (b"1 5 2\n0 1:1 1:2\n", 2, "feature only once.*Feature 1 is repeated"),
    "label twice": (b"0 1:1\n2,2 1:1\n", 2, "label only once.*Label 2 is repeated"),
    "billions of features": (
        b"1 999999999999 2\n0 1:1\n",
        None,
        "max_size.*999999999999 features",
    ),
}


@pytest.mark.parametrize("name", BROKEN_LIBSVM)
def test_broken_libsvm_is_refused(tmp_path, name):
    content, line, message = BROKEN_LIBSVM[name]
    path = tmp_path / "broken.libsvm"
    path.write_bytes(content)
    refuse(path, line, message)


def small():
    return MultiLabelDataset(np.arange(200.0).reshape(50, 4), np.arange(100).reshape(50, 2) % 2)


@pytest.mark.parametrize("ending", ["arff", "csv", "libsvm"])
def test_truncated_gzip_is_refused(tmp_path, ending):
    path = write_multilabel(small(), tmp_path / f"a.{ending}.gz")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(
        DataFileError, match=r"not a complete gzip file.*ends in the middle.*again"
    ) as caught:
        read_multilabel(path, labels=-1 if ending == "csv" else None)
    line = int(re.search(r"line (\d+):", str(caught.value))[1])
    assert 30 < line < 65  # near the end of the file


def test_damaged_gzip_is_refused(tmp_path):
    path = write_multilabel(small(), tmp_path / "a.arff.gz")
    content = bytearray(path.read_bytes())
    content[60:90] = bytes(30)
    path.write_bytes(content)
    refuse(path, 1, "complete gzip file.*damaged")


@pytest.mark.parametrize("ending", ["arff", "csv", "libsvm"])
def test_gzip_bomb_is_refused(tmp_path, ending):
    path = tmp_path / f"bomb.{ending}.gz"
    path.write_bytes(gzip.compress(b"%" * 5_000_000, mtime=0))
    refuse(path, None, "max_size='1 MB'.*unzipped.*max_size='4GB'", max_size=1_000_000)


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_bomb_in_other_formats_is_refused(tmp_path, ending):
    path = write_multilabel(small(), tmp_path / f"bomb.{ending}")
    refuse(path, None, "max_size='100 B'.*would take.*max_size='4GB'", max_size=100)


@pytest.mark.parametrize("ending", ["npz", "parquet"])
@pytest.mark.parametrize("break_it", [lambda b: b"junk", lambda b: b[:-30], lambda b: b""])
def test_broken_binary_file_is_refused(tmp_path, ending, break_it):
    path = write_multilabel(small(), tmp_path / f"a.{ending}")
    path.write_bytes(break_it(path.read_bytes()))
    refuse(path, None, "complete (NPZ|Parquet) file")


def npz(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def test_npz_of_another_program_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(npz(X=np.eye(3)))
    refuse(path, None, "X and y, or be written by labelance.*It has X.*np.savez")


def test_npz_with_objects_is_not_unpickled(tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(npz(about=np.array([{}], dtype=object), X=np.eye(2)))
    refuse(path, None, "written by labelance.*allow_pickle=False")


def run_off(indptr):
    """Begin and end well, and run off in between."""
    return np.r_[0, 10**6, indptr[2:]]


@pytest.mark.parametrize(
    ("array", "change"),
    {
        "index too large": ("Y_indices", lambda a: a + 1000),
        "index negative": ("Y_indices", lambda a: a - 1000),
        "indices of floats": ("Y_indices", lambda a: a.astype(float)),
        "indices in a table": ("Y_indices", lambda a: a.reshape(1, -1)),
        "indptr runs off": ("Y_indptr", run_off),
        "indptr negative": ("Y_indptr", lambda a: np.r_[a[:-1], -1]),
        "indptr too short": ("Y_indptr", lambda a: a[:-1]),
        "shape with three entries": ("Y_shape", lambda a: np.r_[a, 1]),
        "shape negative": ("Y_shape", lambda a: -a),
    }.values(),
)
def test_npz_with_indices_that_do_not_fit_is_refused(tmp_path, array, change):
    path = write_multilabel(small(), tmp_path / "a.npz")
    with np.load(path) as arrays:
        changed = dict(arrays)
    changed[array] = change(changed[array])
    path.write_bytes(npz(**changed))
    refuse(path, None, "written by labelance")


def test_zip_that_is_no_npz_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("about.npy", struct.pack("10s", b"x"))
    refuse(path, None, "written by labelance")


@pytest.mark.parametrize("ending", ["arff", "csv", "libsvm", "npz", "parquet"])
def test_absent_file_is_named(tmp_path, ending):
    refuse(tmp_path / f"absent.{ending}", None, "The file cannot be opened.*Check the path")


def test_parquet_of_dates_is_refused(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    days = pa.array([1, 2], type=pa.date32())
    parquet.write_table(pa.table({"day": days, "l": pa.array([0, 1])}), path)
    refuse(path, None, "'day' is of type date32", labels=["l"])


@pytest.mark.parametrize("seed", range(60))
def test_damaged_parquet_is_read_or_refused(tmp_path, seed):
    """Whatever pyarrow throws at damaged bytes, names and metadata, the error is ours."""
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(seed)
    data = MultiLabelDataset(
        [[0.5, 0], [1, 1]], np.eye(2), feature_names=("é", "b"), categories=(None, ("x", "ö"))
    )
    path = write_multilabel(data, tmp_path / "a.parquet")
    content = np.frombuffer(path.read_bytes(), np.uint8).copy()
    places = rng.integers(len(content) - 8, size=3)
    content[places] = rng.integers(256, size=3)
    path.write_bytes(content.tobytes())
    with contextlib.suppress(DataFileError):
        assert read_multilabel(path).n_samples >= 0


@pytest.mark.parametrize("encoding", ["none such", "hex", "utf-16", "utf-7", "idna", "", "a\0b"])
@pytest.mark.parametrize("ending", ["arff", "csv", "libsvm", "npz", "parquet"])
def test_encoding_that_cannot_be_read_is_refused(tmp_path, ending, encoding):
    path = write_multilabel(small(), tmp_path / f"a.{ending}")
    with pytest.raises(InputError, match=r"encoding=.*Try 'utf-8'"):
        read_multilabel(path, encoding=encoding)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_values_that_the_encoding_lacks_come_from_escapes(tmp_path, encoding):
    path = tmp_path / "a.arff"
    path.write_bytes(
        b"@relation 'r: -C 1'\n@attribute l {0,1}\n@attribute x {'\\u20ac','\\ud800',b}\n"
        b"@data\n0,'\\u20ac'\n1,b\n1,'\\ud800'\n"
    )
    data = read_multilabel(path, encoding=encoding)
    assert data.categories == (("\u20ac", "\ud800", "b"),)
    assert data.values.ravel().tolist() == [0, 2, 1]
