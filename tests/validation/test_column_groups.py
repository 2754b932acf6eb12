"""Texts, vectors, ids and dates in X: told from tables, and the same numbers in any form."""

import datetime
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.feature_extraction.text import TfidfVectorizer

from labelance._arrays._words import find_kind
from labelance._validation._column_groups import ColumnGroups
from labelance.exceptions import InputError

N = 60
rng = np.random.default_rng(0)
WORDS = [f"word{i}" for i in range(40)]
TEXTS = [" ".join(rng.choice(WORDS, 8)) for _ in range(N)]
OTHER = ["word1 word2 and more", "", "quite unknown", "word3"]
VECTORS = rng.normal(size=(N, 4)).astype(np.float32)
CHINESE = ["今天天气很好我们去公园", "这部电影真的很无聊", "我喜欢这首歌的旋律"] * 20


def fit(X):
    return ColumnGroups.fit(X, caller="fit")


def transform(groups, X):
    return groups.transform(X, caller="predict")


def dense(block):
    return block.native.toarray() if sp.issparse(block.native) else np.asarray(block.native)


def check_same(blocks, others):
    assert [(b.name, b.kind) for b in blocks] == [(b.name, b.kind) for b in others]
    for one, other in zip(blocks, others):
        assert_array_equal(dense(one).astype(str), dense(other).astype(str))  # NaN is NaN


def mixed(library=pd.DataFrame):
    """Return a frame with a column of every kind."""
    return library({
        "key": [f"u-{i * 7919}" for i in range(N)],
        "post": TEXTS,
        "row": list(range(N)),
        "when": [datetime.datetime(2026, 1, 1) + datetime.timedelta(hours=i) for i in range(N)],
        "day": [f"2026-01-{1 + i % 28:02d} 10:00" for i in range(N)],
        "vector": list(VECTORS.tolist()),
        "size": VECTORS[:, 0].tolist(),
        "color": [("red", "blue", None)[i % 3] for i in range(N)],
        "nothing": [None] * N,
    })  # fmt: skip


LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}

# -------------------------------------------------------------------------- what goes through as is


@pytest.mark.parametrize(
    "X",
    [
        VECTORS,
        VECTORS.tolist(),
        sp.csr_array(VECTORS),
        pd.DataFrame(VECTORS),
        pd.DataFrame({"a": VECTORS[:, 0], "b": ["red", "blue"] * 30}),
        pl.DataFrame({"a": list(range(N))}),  # nothing else tells more
        pd.DataFrame({"a": pd.Categorical(TEXTS)}),  # declared
        "songs.csv",
        None,
        [1.0, 2.0],
    ],
    ids=lambda X: type(X).__name__,
)
def test_tables_and_what_others_refuse_go_through_untouched(X):
    groups, (block,) = fit(X)
    assert block.native is X
    assert block.kind == "table"
    assert not groups.omitted
    assert transform(groups, X)[0].native is X


# -------------------------------------------------------------------------------------------- texts

FORMS = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "objects": lambda texts: np.array(texts, dtype=object),
    "column": lambda texts: np.array(texts, dtype=object)[:, None],
    "rows": lambda texts: [[text] for text in texts],
    "series": pd.Series,
    "named": lambda texts: pd.Series(texts, name="post", index=[7] * len(texts)),
    "polars": lambda texts: pl.Series("post", texts),
    "arrow": lambda texts: pa.chunked_array([texts]),
}


@pytest.mark.parametrize("form", FORMS)
def test_texts_are_the_same_in_any_container(form):
    groups, blocks = fit(TEXTS)
    assert_array_equal(
        dense(blocks[0]),
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, dtype=np.float32)
        .fit_transform(TEXTS)
        .toarray(),
    )
    other_groups, others = fit(FORMS[form](TEXTS))
    check_same(blocks, others)
    check_same(transform(groups, OTHER), transform(other_groups, FORMS[form](OTHER)))


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_frame_of_one_text_column_is_a_list_of_texts(library):
    frame = LIBRARIES[library]
    groups, blocks = fit(frame({"post": TEXTS}))
    assert_array_equal(dense(blocks[0]), dense(fit(TEXTS)[1][0]))
    assert_array_equal(
        dense(transform(groups, OTHER)[0]), dense(transform(groups, frame({"post": OTHER}))[0])
    )
    assert_array_equal(
        dense(transform(fit(TEXTS)[0], frame({"other": OTHER}))[0]),
        dense(transform(groups, OTHER)[0]),
    )


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, ""])
def test_missing_texts_are_empty_ones(missing):
    gaps = [missing if i % 5 == 0 else text for i, text in enumerate(TEXTS)]
    empty = ["" if i % 5 == 0 else text for i, text in enumerate(TEXTS)]
    groups, blocks = fit(gaps)
    check_same(blocks, fit(empty)[1])
    check_same(transform(groups, [missing]), transform(groups, [""]))
    frame = pd.DataFrame({"post": pd.Series(gaps, dtype=object), "size": 1.0})
    groups, blocks = fit(frame)
    assert [block.name for block in blocks] == ["post", "table"]
    nothing = pd.DataFrame({"post": [np.nan, np.nan], "size": [1.0, 2.0]})
    assert transform(groups, nothing)[0].native.nnz == 0


def test_permuted_rows_have_the_same_groups():
    order = rng.permutation(N)
    groups, blocks = fit(mixed())
    permuted, others = fit(mixed().iloc[order])
    assert groups.omitted == permuted.omitted
    assert groups.table == permuted.table
    for block, other in zip(blocks, others):
        if block.kind != "table":
            assert_array_equal(dense(block)[order], dense(other))


def test_scripts_without_blanks_become_characters():
    chinese = [text + str(i) for i, text in enumerate(CHINESE)]
    groups, _ = fit(chinese)
    assert groups.columns["text"].characters
    assert not fit(TEXTS)[0].columns["text"].characters
    assert "2 to 4 characters" in groups.summary()
    assert transform(groups, ["天气很好"])[0].native.nnz > 0


@pytest.mark.parametrize(("n", "least"), [(99, 1), (100, 2), (999, 2), (1000, 3)])
def test_terms_of_large_data_are_in_several_rows(n, least):
    texts = [f"common{i % 7} rare{i}" for i in range(n)]
    assert len(fit(texts)[0].columns["text"].rarity) == 7 + (2 * n if least == 1 else 0)


# ----------------------------------------------------------------------------- all kinds in a frame


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_kind_of_column_is_told_from_the_others(library):
    frame = mixed(LIBRARIES[library])
    groups, blocks = fit(frame)
    assert [(block.name, block.kind) for block in blocks] == [
        ("post", "text"),
        ("vector", "embedding"),
        ("table", "table"),
    ]
    assert set(groups.omitted) == {"key", "row", "when", "day", "nothing"}
    assert all(name in groups.summary() for name in groups.omitted)
    assert_array_equal(blocks[1].native, VECTORS)
    assert type(blocks[2].native) is type(frame)
    names = blocks[2].native.column_names if library == "pyarrow" else blocks[2].native.columns
    assert list(names) == ["size", "color"]
    check_same(transform(groups, frame)[:2], blocks[:2])


@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_are_found_by_name_and_left_out_ones_need_not_be_there(library):
    frame = mixed(LIBRARIES[library])
    groups, blocks = fit(frame)
    names = ["color", "vector", "size", "post"]
    check_same(
        transform(groups, frame.select(names) if library != "pandas" else frame[names]), blocks
    )


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(list(VECTORS)),
        pd.Series(VECTORS.tolist()),
        pd.Series(VECTORS.tolist(), dtype=pd.ArrowDtype(pa.list_(pa.float32()))),
        pl.Series(VECTORS.tolist()),
        pl.Series(VECTORS, dtype=pl.Array(pl.Float32, 4)),
        pa.chunked_array([pa.array(VECTORS.tolist())]),
        pa.chunked_array([pa.FixedSizeListArray.from_arrays(VECTORS.ravel(), 4)]),
    ],
    ids=lambda column: f"{type(column).__module__}-{getattr(column, 'dtype', None)}",
)
def test_columns_of_vectors_become_an_array(column):
    module = type(column).__module__.partition(".")[0]
    frame = LIBRARIES[module]({"size": [1.0, 2.0] * 30, "vector": column})
    for X in (frame, column):
        _, blocks = fit(X)
        assert blocks[0].kind == "embedding"
        assert blocks[0].native.dtype == np.float32
        assert_array_equal(blocks[0].native, VECTORS)


def test_a_part_of_a_table_keeps_its_ids():
    part = pd.DataFrame({"row": rng.permutation(1000)[:200], "x": rng.normal(size=200)})
    assert set(fit(part)[0].omitted) == {"row"}
    counts = part.assign(row=rng.poisson(50, 200))
    assert not fit(counts)[0].omitted


@pytest.mark.parametrize(
    ("kind", "strings", "n"),
    [
        ("text", [f"post {i} says this" for i in range(5)], 5),
        ("category", ["a", "b", "c"], 5),
        ("category", ["a very long answer", "quite another answer here"], 1000),
        ("text", [f"the plot of film {i}" for i in range(500)], 20_000),
        ("text", [f"Film {i}" for i in range(500)], 600),
        ("id", [f"https://example.org/{i}" for i in range(500)], 600),
        ("id", [f"4e5f-{i:04x}-aa" for i in range(500)], 600),
        ("number", [f"{i}.5" for i in range(500)], 600),
        ("number", [f"{i},5" for i in range(500)], 600),
        ("date", [f"{i}/12/2025" for i in range(1, 29)], 600),
        ("text", [f"今天天气很好{i}" for i in range(500)], 600),
        ("category", [], 600),
    ],
)
def test_strings_say_what_they_are(kind, strings, n):
    assert find_kind(strings, n) == kind


def test_a_column_of_texts_may_be_called_as_the_table_is():
    frame = pd.DataFrame({"post": TEXTS, "size": VECTORS[:, 0]})
    for X in (frame, frame.rename(columns={"post": "table"})):
        groups, blocks = fit(X)
        joined, names = groups.join(blocks, caller="fit")
        assert joined.shape == (N, len(groups.columns[X.columns[0]].rarity) + 1)
        assert names[-1] == "size"


# -------------------------------------------------------------------------------------------- saved


@pytest.mark.parametrize("X", [TEXTS, mixed(), VECTORS], ids=["texts", "mixed", "array"])
def test_groups_are_saved_without_foreign_types(X):
    skops_io = pytest.importorskip("skops.io")
    groups, _ = fit(X)
    blocks = transform(groups, X)
    check_same(blocks, transform(pickle.loads(pickle.dumps(groups)), X))
    saved = skops_io.dumps(groups)
    named = skops_io.get_untrusted_types(data=saved)
    assert all(name.startswith("labelance.") for name in named)
    check_same(blocks, transform(skops_io.loads(saved, trusted=named), X))


def test_a_saved_vocabulary_takes_about_its_letters():
    groups, _ = fit([f"term{i % 1000} term{(i + 1) % 1000}" for i in range(5000)])
    column = groups.columns["text"]
    letters = len(column.terms.encode()) + column.rarity.nbytes
    assert len(pickle.dumps(groups)) < letters + 1000


# --------------------------------------------------------------------------------------- bad input

BAD = {
    "all texts equal": ["the same text"] * 30,
    "empty texts": ["", None] * 30,
    "one row": ["only one"],
    "no word in two rows": [f"unique{i}" for i in range(200)],
    "ids alone": pd.DataFrame({"key": [f"u-{i}" for i in range(N)]}),
    "dates alone": pd.DataFrame({"day": pd.date_range("2026-01-01", periods=N)}),
    "no rows": pd.DataFrame({"post": []}),
    "vectors of two lengths": pd.Series([[1.0, 2.0], [1.0, 2.0, 3.0]]),
    "a vector that is missing": pd.Series([[1.0, 2.0], None]),
    "a vector with NaN": pd.Series([[1.0, 2.0], [1.0, np.nan]]),
    "a vector beyond float32": pd.Series([[1.0, 2.0], [1.0, 1e300]]),
    "empty vectors": pl.Series([[1.0][:0], [1.0][:0]]),
}


@pytest.mark.parametrize("case", BAD)
def test_nothing_to_learn_from_is_an_error_in_three_parts(case):
    with pytest.raises(InputError) as caught:
        fit(BAD[case])
    assert caught.value.problem
    assert caught.value.found


@pytest.mark.parametrize(
    "texts", [["the same text"] * N, [""] * N, [f"u{i}" * 5 for i in range(N)]]
)
def test_a_column_of_nothing_is_left_out_where_others_are(texts):
    groups, blocks = fit(pd.DataFrame({"x": VECTORS[:, 0], "empty": texts, "post": TEXTS}))
    assert blocks[0].name == "post"
    assert "empty" in groups.omitted or "empty" in groups.table


def changed(**columns):
    return mixed().assign(**columns)


CHANGED = {
    "a text column for a list": (TEXTS, mixed(), "single column"),
    "numbers for texts": (TEXTS, VECTORS, "single column of texts"),
    "a list for a frame": (mixed(), TEXTS, "columns 'post'"),
    "an array for a frame": (mixed(), VECTORS, "columns 'post'"),
    "texts for a table": (VECTORS, TEXTS, "fitted with a table"),
    "texts for a frame of numbers": (pd.DataFrame(VECTORS), pd.Series(TEXTS), "with a table"),
    "a text column for numbers": (
        pd.DataFrame({"a": [1.0, 2.0] * 30}),
        pd.DataFrame({"a": TEXTS}),
        "numbers in column 'a'",
    ),
    "a new text column": (
        pd.DataFrame({"a": [1.0, 2.0] * 30}),
        pd.DataFrame({"a": [1.0, 2.0] * 30, "post": TEXTS}),
        "without a column 'post'",
    ),
    "numbers in the text column": (mixed(), changed(post=1.0), "strings in column 'post'"),
    "dates in the text column": (mixed(), changed(post=mixed()["when"]), "in column 'post'"),
    "texts in the vector column": (mixed(), changed(vector=TEXTS), "vectors in column 'vector'"),
    "texts in a column of numbers": (mixed(), changed(size=TEXTS), "numbers in column 'size'"),
    "other lengths": (mixed(), changed(vector=[[1.0, 2.0]] * N), "4 numbers in column 'vector'"),
    "a missing column": (mixed(), mixed().drop(columns="post"), "does not have: 'post'"),
    "a column too many": (mixed(), changed(more=1.0), "without columns that X has: 'more'"),
}


@pytest.mark.parametrize("case", CHANGED)
def test_other_columns_than_in_fit_are_an_error_in_three_parts(case):
    before, after, words = CHANGED[case]
    groups, _ = fit(before)
    with pytest.raises(InputError, match=words) as caught:
        transform(groups, after)
    assert caught.value.problem
    assert caught.value.found
