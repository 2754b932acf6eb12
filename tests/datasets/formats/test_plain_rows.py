"""What pandas reads is what reading value by value gives, and numbers are those of Python."""

import struct

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import issparse

from labelance._arrays._cells import have_same_bits
from labelance.datasets import read_multilabel
from labelance.datasets.formats._arff import DROP, NOMINAL, NUMBER, TEXT, ArffRows, Columns
from labelance.datasets.formats._text_file import TextFile, is_number
from labelance.exceptions import DataFileError

digits = st.text("0123456789", max_size=22)
decimals = st.builds(
    lambda sign, a, b, e: f"{sign}{a}.{b}{e}",
    st.sampled_from(["", "+", "-"]),
    digits,
    digits,
    st.just("") | st.integers(-400, 400).map(lambda e: f"e{e:+d}"),
)
texts = (
    decimals
    | st.floats().map(repr)
    | st.integers().map(str)
    | st.floats(width=32).map(lambda value: f"{value:.20e}")
    # Half way between two doubles, where rounding is hardest.
    | st.integers(2**53, 2**62).map(lambda n: str(n | 1))
    | st.text("0123456789+-.eEinfatyINF_x", min_size=1, max_size=6)
)


@given(texts)
@example("9007199254740993")
@example("1.7976931348623157e308")
@example("2.2250738585072011e-308")
@example("8.5e-324")
@example("0x10")
@example("1_0")
@settings(max_examples=150, deadline=None)
def test_numbers_of_csv_agree_with_python(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "number.csv"
    path.write_text(f"x,l\n{text},1\n1,0\n")
    data = read_multilabel(path, labels=["l"])
    if not is_number(text):
        assert data.categories[0] in (tuple(sorted({"1", text})), None)
        assert data.categories[0] or text.lower() in ("nan", "null", "na")
        return
    expected = float(text)
    both_nan = np.isnan(expected) and np.isnan(data.values[0, 0])
    assert both_nan or struct.pack("d", data.values[0, 0]) == struct.pack("d", expected)


COLUMNS = {
    NUMBER: (None, ["1.5", "-2e3", "0", "?", "inf", "x", "", "0.1"]),
    NOMINAL: (("0", "1"), ["0", "1", "?", "2", "1.0"]),
    TEXT: (None, ["b", "a", "NA", "nan", "?", "1", "x y"]),
    DROP: (None, ["b", "2020-01-02", "?"]),
}
WORDS = ("red", "NA", "1")


@st.composite
def rows(draw):
    """Columns of all kinds, and rows most of which fit them."""
    kinds = draw(st.lists(st.sampled_from([*COLUMNS, 9]), min_size=1, max_size=5))
    columns = [(WORDS, [*WORDS, "?", "blue"]) if kind == 9 else COLUMNS[kind] for kind in kinds]
    n, sparse = draw(st.integers(1, 4)), draw(st.booleans())
    table = [[draw(st.sampled_from(values)) for _, values in columns] for _ in range(n)]
    if sparse:
        keep = st.lists(st.booleans(), min_size=len(kinds), max_size=len(kinds))
        pairs = [[f"{j} {v}" for j, (v, k) in enumerate(zip(r, draw(keep))) if k] for r in table]
        text = "\n".join("{" + ",".join(row) + "}" for row in pairs)
    else:
        text = "\n".join(map(",".join, table))
    kinds = np.array([NOMINAL if kind == 9 else kind for kind in kinds], dtype=np.uint8)
    names = tuple(f"a{j}" for j in range(len(kinds)))
    return Columns(names, kinds, tuple(c for c, _ in columns)), f"{text}\n".encode()


def read(rows, method):
    try:
        cells, categories = getattr(rows, method)()
    except (ValueError, DataFileError):
        return None
    return issparse(cells), categories, cells


@given(rows())
@settings(max_examples=150, deadline=None)
def test_plain_rows_are_read_as_any_others(tmp_path_factory, drawn):
    arff = ArffRows(TextFile(tmp_path_factory.getbasetemp()), *drawn, 1)
    plain = read(arff, "_read_plain_sparse" if arff.is_sparse else "_read_plain")
    if plain is None:  # value by value then, or refused
        return
    slow = read(arff, "_read_values")
    if b"1.0" in drawn[1] and slow is None:
        return  # pandas takes 1.0 for the declared 1
    assert plain[:2] == slow[:2]
    assert have_same_bits(plain[2], slow[2])


@pytest.mark.parametrize("text", ["1,2\n", "1,2,3\n1,2\n", "1,2,3,4\n", "1,,3\n", "1,z,3\n"])
def test_pandas_leaves_mistakes_to_be_named(tmp_path, text):
    columns = Columns(("a", "b", "c"), np.array([0, 1, 0]), (None, ("2", "y"), None))
    with pytest.raises(DataFileError, match=r"line [12]: "):
        ArffRows(TextFile(tmp_path), columns, text.encode(), 1).read()
