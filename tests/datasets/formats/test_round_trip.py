"""Write, read, and it is the same, bit for bit, in every format."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse

from labelance.datasets import MultiLabelDataset, read_multilabel, write_multilabel

ODD_NAMES = [
    "plain", "two words", "it's", 'say "hi"', r"back\slash", r"\'", "50%", "{brace}", "a,b", "a;b",
    "?", "", " lead", "trail ", "tab\tbed", "line\nbreak", "é", "数", "🙂", "@data", "%comment",
    "0", "-1", "nan", "NA", "null", "1e5", r"\n", r"C:\new", "&amp;", "<x>", "'", '"', "\\", "#",
    "a:b", "_", "xml", "]]>", "x" * 300, "\u2028", "\x85", "\x7f",
]  # fmt: skip

# XML has no place for control characters, CSV none for carriage returns.
odd_words = st.sampled_from(ODD_NAMES) | st.text(
    st.characters(codec="utf-8", exclude_characters="\r\ufffe\uffff", min_codepoint=32), max_size=8
)

numbers = (
    st.floats(allow_nan=True, allow_infinity=True, width=64)
    | st.sampled_from([0.0, 1.0, -1.0, 0.1, 1 / 3, 5e-324, 1.7976931348623157e308, 2.0**53 + 2])
    | st.integers(-1000, 1000).map(float)
)


@st.composite
def datasets(draw, *, sparse=None, nominal=True, names=True):
    """Small datasets with everything that files find hard."""
    n, d, q = draw(st.integers(1, 5)), draw(st.integers(1, 5)), draw(st.integers(1, 4))
    sparse = draw(st.booleans()) if sparse is None else sparse
    words = st.lists(odd_words, min_size=1, max_size=4, unique=True).map(tuple)
    lists = st.none() | words if nominal else st.none()
    categories = tuple(draw(lists) for _ in range(d))
    X = np.empty((n, d))
    for j, values in enumerate(categories):
        codes = numbers if values is None else st.sampled_from([*range(len(values)), np.nan])
        X[:, j] = draw(st.lists(codes, min_size=n, max_size=n))
    if sparse:
        X[draw(st.lists(st.booleans(), min_size=n, max_size=n)), :] = 0
    Y = np.array(draw(st.lists(st.integers(0, 1), min_size=n * q, max_size=n * q))).reshape(n, q)
    columns = draw(st.lists(odd_words, min_size=d + q, max_size=d + q, unique=True))
    return MultiLabelDataset(
        csr_array(X) if sparse else X,
        Y,
        feature_names=columns[:d] if names else None,
        label_names=columns[d:] if names else None,
        categories=categories,
        name=draw(odd_words),
    )


quick = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["arff", "arff.gz", "parquet", "npz"])
@given(data=datasets())
@quick
def test_everything_comes_back(tmp_path, ending, data):
    path = tmp_path / f"data.{ending}"
    write_multilabel(data, path, overwrite=True)
    assert read_multilabel(path).same_as(data)


@pytest.mark.slow
@given(data=datasets())
@quick
def test_arff_without_a_label_file_comes_back(tmp_path, data):
    path = write_multilabel(data, tmp_path / "a.arff", overwrite=True, label_file=False)
    assert not path.with_suffix(".xml").exists()
    assert read_multilabel(path).same_as(data)


@pytest.mark.slow
@given(data=datasets(sparse=True, nominal=False, names=False))
@quick
def test_libsvm_text_comes_back(tmp_path, data):
    path = write_multilabel(data, tmp_path / "a.libsvm", overwrite=True)
    assert read_multilabel(path).same_as(data)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz"])
@given(data=datasets(sparse=False))
@quick
def test_separated_values_come_back_the_second_time(tmp_path, ending, data):
    """Declared categories have no place in CSV, so the law is read, write, read."""
    path = tmp_path / f"a.{ending}"
    write_multilabel(data, path, overwrite=True)
    once = read_multilabel(path)
    write_multilabel(once, path, overwrite=True)
    assert read_multilabel(path).same_as(once)


@pytest.mark.slow
@given(data=datasets(sparse=False, nominal=False))
@quick
def test_separated_numbers_come_back_at_once(tmp_path, data):
    path = write_multilabel(data, tmp_path / "a.csv", overwrite=True)
    assert read_multilabel(path).same_as(data)


@pytest.mark.slow
@given(data=datasets(sparse=False))
@quick
def test_separated_words_come_back_as_words(tmp_path, data):
    path = write_multilabel(data, tmp_path / "a.csv", overwrite=True)
    nominal = [n for n, values in zip(data.feature_names, data.categories) if values]
    back = read_multilabel(path, categorical=nominal)
    for j, values in enumerate(data.categories):
        if values is None:
            continue
        before = [None if np.isnan(c) else values[int(c)] for c in data.values[:, j]]
        after = [None if np.isnan(c) else back.categories[j][int(c)] for c in back.values[:, j]]
        assert after == before


def test_codes_that_look_like_numbers_stay_as_they_are_written(tmp_path):
    (tmp_path / "a.csv").write_text("code,size,rare\n007,1,0\n1e5,2,1\n1.50,3,1\n")
    back = read_multilabel(tmp_path / "a.csv", labels=["rare"], categorical=["code"])
    assert back.categories == (("007", "1.50", "1e5"), None)


@pytest.mark.slow
@given(data=datasets(sparse=False))
@quick
def test_frames_come_back(data):
    X, Y = data.to_frame()
    assert MultiLabelDataset.from_data(X, Y).same_as(data)


@pytest.mark.parametrize("ending", ["arff.gz", "npz", "csv", "parquet"])
def test_same_data_gives_same_bytes(tmp_path, ending):
    data = MultiLabelDataset(np.eye(4), np.eye(4, 2))
    first = write_multilabel(data, tmp_path / f"a.{ending}").read_bytes()
    assert write_multilabel(data, tmp_path / f"b.{ending}").read_bytes() == first


@pytest.mark.parametrize("ending", ["arff", "libsvm", "npz", "parquet"])
def test_sparse_stays_sparse(tmp_path, ending):
    data = MultiLabelDataset(csr_array(np.eye(3)), np.eye(3, 2))
    assert issparse(read_multilabel(write_multilabel(data, tmp_path / f"a.{ending}")).X)


@pytest.mark.data
@pytest.mark.parametrize("name", ["flags", "verbframes", "birds", "enron", "genbase", "emotions"])
def test_real_data_comes_back(tmp_path, data_file, name):
    data = read_multilabel(data_file(name))
    for ending in ("arff", "npz", "parquet"):
        assert read_multilabel(write_multilabel(data, tmp_path / f"{name}.{ending}")).same_as(data)
