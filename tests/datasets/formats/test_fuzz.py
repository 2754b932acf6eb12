"""Whatever the bytes are, a file is read or refused: no crash, no other error."""

import gzip

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from labelance.datasets import MultiLabelDataset, read_multilabel, write_multilabel
from labelance.exceptions import InputError

NAN = np.nan
X = np.array([[0.5, 0, 1], [NAN, 2, 0], [-1e300, NAN, 1], [0, 1, 0], [1 / 3, 2, NAN]])
DATA = MultiLabelDataset(
    X,
    np.eye(5, 2),
    feature_names=("n", "it's", "two words"),
    categories=(None, ("a b", 'c"d', "\\"), ("0", "1")),
)
SPARSE = MultiLabelDataset(csr_array(X), DATA.Y, categories=DATA.categories)
NUMBERS = MultiLabelDataset(csr_array(np.nan_to_num(X)), DATA.Y)

FILES = {"dense.arff": DATA, "sparse.arff": SPARSE, "a.csv": DATA, "a.tsv": DATA,
         "a.libsvm": NUMBERS, "a.npz": DATA, "a.parquet": DATA}  # fmt: skip

SPECIAL = [b"", b"\n", b"\r", b",", b"{", b"}", b"'", b'"', b"\\", b"%", b"?", b":", b" ", b"\t",
           b"@data\n", b"@attribute", b"-C 9", b"1e999", b"9" * 30, b"\0", b"\xff"]  # fmt: skip

edits = st.lists(
    st.tuples(
        st.floats(0, 1), st.integers(0, 12), st.sampled_from(SPECIAL) | st.binary(max_size=4)
    ),
    min_size=1,
    max_size=4,
)


def change(content, edits):
    """Replace, at some places, some bytes by others."""
    for where, length, new in edits:
        at = int(where * len(content))
        content = content[:at] + new + content[at + length :]
    return content


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
@given(edits=edits, zipped=st.booleans())
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_changed_bytes_are_read_or_refused(tmp_path, name, edits, zipped):
    path = tmp_path / name
    if not path.exists():
        write_multilabel(FILES[name], path, label_file=False)
        (tmp_path / "whole").write_bytes(path.read_bytes())
    content = change((tmp_path / "whole").read_bytes(), edits)
    labels = -2 if name.endswith((".csv", ".tsv")) else None
    text = name.endswith((".arff", ".csv", ".tsv", ".libsvm"))
    path.write_bytes(gzip.compress(content, mtime=0) if zipped and text else content)
    try:
        data = read_multilabel(path, labels=labels, max_size=10_000_000)
    except InputError:
        return
    assert data.values.shape[0] == data.Y.shape[0]
