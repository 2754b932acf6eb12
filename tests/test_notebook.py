"""What notebooks show of results: laws that hold for every one of them."""

import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from labelance import MLSOL, profile
from labelance._utils._notebook import MEANINGS, MOST_ROWS, draw_result, format_cell
from labelance.datasets import MultiLabelDataset, list_datasets
from labelance.decisions import (
    decide_within_budget,
    find_calibration,
    find_thresholds,
    guarantee_recall,
)
from labelance.imbalance import labelsets, local_distribution
from labelance.metrics import imbalance_report
from labelance.neighbors import find_neighbors
from labelance.study import import_results
from labelance.study.statistics import compare

N_LABELS = 30
HOSTILE = ["<b>bold</b>", "</table><script>", "a & b", '"quoted"']
NAMES = HOSTILE + [f"label {j}" for j in range(N_LABELS - len(HOSTILE))]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
# Hostile names are the rarest, so that they are shown.
Y = pd.DataFrame(RNG.random((200, N_LABELS)) < np.linspace(0.05, 0.6, N_LABELS), columns=NAMES)
Y = Y.astype(int)
SCORES = pd.DataFrame(np.clip(0.4 * Y + 0.6 * RNG.random(Y.shape), 0, 1), columns=NAMES)
# Heads that need no words.
PLAIN = {"label", "labels", "rows", "method", "name", "domain", "reason", "before", "gained",
         "lost", "after", "in paper", "bundled", "dataset", "learner", "done",
         "failed", "missing", "recall", "precision", "macro_f1"}  # fmt: skip


def explain():
    return MLSOL(sampling_ratio=0.2, random_state=0).explain(X, Y)


RESULTS = {
    "profile": lambda: profile(X, Y),
    "explain": explain,
    "dataset": lambda: MultiLabelDataset(X, Y, label_names=NAMES, name="<i>", description="<u>"),
    "catalogue": list_datasets,
    "labelsets": lambda: labelsets(Y),
    "local": lambda: local_distribution(Y, find_neighbors(X, 5)),
    "report": lambda: imbalance_report(Y, SCORES > 0.5, y_score=SCORES),
    "thresholds": lambda: find_thresholds(Y, SCORES),
    "guarantees": lambda: guarantee_recall(Y, SCORES, too_few="never"),
    "calibration": lambda: find_calibration(Y, SCORES),
    "budget": lambda: decide_within_budget(SCORES, per_row=2, random_state=0),
    "compare": lambda: compare(RNG.normal(size=(20, 12)), methods=NAMES[:12], correction="holm"),
}  # fmt: skip
BY_LABEL = ["profile", "explain", "dataset", "report", "thresholds", "guarantees", "calibration"]


class Reader(HTMLParser):
    """Collect tags, cells by row, and whether every tag is closed in order."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.open, self.rows = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if {"th", "td"} & set(self.open):
            self.rows[-1][-1] += text


@pytest.fixture(scope="module", params=RESULTS)
def shown(request):
    return request.param, RESULTS[request.param]()._repr_html_()


def test_the_verdict_is_first_and_at_most_ten_rows_follow(shown):
    _, page = shown
    assert page.startswith("<div><p")
    assert page.index("<strong>") < page.index("<table>")
    read = Reader(page)
    assert read.open == []
    assert 1 < len(read.rows) <= 1 + MOST_ROWS
    assert len({len(row) for row in read.rows}) == 1
    assert re.search("… [0-9,]+ more", page)


def test_no_name_becomes_markup(shown):
    name, page = shown
    allowed = {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "details",
               "summary", "ul", "li", "b"}  # fmt: skip
    assert set(Reader(page).tags) <= allowed
    assert page.count("<b>") == page.count("<li>"), "only what is explained is bold"
    if name in BY_LABEL:
        cells = [row[0] for row in Reader(page).rows[1:]]
        assert {"<b>bold</b>", "</table><script>", "a & b", '"quoted"'} <= set(cells)


@pytest.mark.parametrize("name", BY_LABEL)
def test_the_rarest_labels_come_first(name):
    counts = dict(zip(NAMES, Y.sum()))
    rows = Reader(RESULTS[name]()._repr_html_()).rows[1:]
    found = [counts[unescape(row[0])] for row in rows]
    assert found == sorted(counts.values())[:MOST_ROWS]


def test_every_head_is_explained(shown):
    _, page = shown
    for head in Reader(page).rows[0]:
        assert head in PLAIN or f"<li><b>{head}</b>: " in page
        assert head in PLAIN or MEANINGS[head]


def test_it_is_light_or_dark_as_the_notebook_is(shown):
    _, page = shown
    styles = " ".join(re.findall(r'style="([^"]*)"', page))
    assert not re.search("color|background|#[0-9a-f]{3}", styles)
    assert "<style" not in page
    assert len(page) < 10_000


def test_names_that_are_no_text_are_written_as_far_as_they_are():
    assert "tree?" in draw_result("One.", {"label": ["tree\udce9"], "count": [1]})


def test_nothing_has_a_table_without_rows():
    read = Reader(draw_result("Nothing.", {"label": [], "count": []}))
    assert read.rows == [["label", "count"]]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.00012, "0.00012"), (0.0, "0.000"), (999.95, "1,000.0"), (-1e6, "-1,000,000"),
     (np.float32(0.5), "0.500"), (np.inf, "inf"), (np.int8(3), "3"), (False, "")],
)  # fmt: skip
def test_numbers_are_short(value, text):
    assert format_cell(value) == text


def test_results_of_a_study_count_their_cells():
    results = import_results(next(Path(__file__).parent.glob("saved/*/results")))
    rows = Reader(results._repr_html_()).rows
    assert rows[0] == ["dataset", "done", "failed", "missing"]
    assert sum(int(row[1]) for row in rows[1:]) == len(results.done)
