"""Profiles of texts, vectors and tables together: each counts alike, and ids do not count."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist, squareform

from labelance import profile
from labelance._validation._column_groups import ColumnGroups

N = 60
rng = np.random.default_rng(0)
WORDS = ["sun", "rain", "wind", "snow", "hail", "fog", "frost", "storm"]
SEEN = rng.random((N, len(WORDS))) < 0.4
TEXTS = [" ".join(np.array(WORDS)[row]) + f" day {i}" for i, row in enumerate(SEEN)]
Y = SEEN[:, :3].astype(int)
VECTORS = rng.normal(size=(N, 5))
FRAME = pd.DataFrame({
    "post": TEXTS,
    "vector": list(VECTORS),
    "size": rng.normal(size=N) * 1000,
    "color": ["red", "blue", None] * 20,
})  # fmt: skip


@pytest.mark.parametrize("X", [np.array(TEXTS), pd.Series(TEXTS), pl.DataFrame({"post": TEXTS})])
def test_texts_have_the_same_profile_in_any_container(X):
    expected, found = profile(TEXTS, Y), profile(X, Y)
    assert_array_equal(found.type_counts, expected.type_counts)
    assert found.n_features == expected.n_features
    assert "1 or 2 words" in str(found)
    assert "1 or 2 words" in found.to_dict()["read_as"]


def test_ids_and_dates_do_not_count():
    plain = profile(FRAME, Y)
    more = FRAME.assign(key=[f"k{i}" for i in range(N)], day=pd.date_range("2026-01-01", periods=N))
    found = profile(more, Y)
    assert_array_equal(found.type_counts, plain.type_counts)
    assert "left out: key" in str(found)
    nothing = profile(more[["key", "day"]], Y)
    assert nothing.type_counts is None
    assert "left out: 'key'" in str(nothing)


def test_every_block_has_the_same_mean_distance():
    groups, blocks = ColumnGroups.fit(FRAME, caller="test")
    assert len(blocks) == 3
    widths = []
    for block in blocks:
        joined, names = groups.join([block], caller="test")
        rows = joined.toarray() if block.kind == "text" else joined
        assert len(names) == rows.shape[1]
        widths.append((pdist(rows.astype(float)) ** 2).mean() * (N - 1) / N)
    assert_allclose(widths[1:], 2, rtol=1e-3)
    assert 1 < widths[0] < 2  # texts that share words are nearer


def test_the_scale_of_numbers_does_not_matter_next_to_texts():
    wide = FRAME.assign(size=FRAME["size"] * 2.0**10)
    assert_array_equal(profile(wide, Y).type_counts, profile(FRAME, Y).type_counts)


def test_a_profile_of_texts_has_a_page_with_their_words():
    page = profile(FRAME, Y).to_html()
    assert "post: rain" in page


def test_texts_without_a_term_are_near_to_each_other_only():
    texts = [*TEXTS, None, "?!"]
    groups, blocks = ColumnGroups.fit(texts, caller="test")
    joined, names = groups.join(blocks, caller="test")
    assert joined.shape[1] == len(names)
    far = squareform(pdist(joined.toarray().astype(float)))
    assert far[-1, -2] == 0
    assert_allclose(far[-1, :-2], 2**0.5, rtol=1e-6)
    assert far[:-2, :-2].max() < 2**0.5 + 1e-6
