"""Small studies on made data."""

import json

import pytest

from labelance.study import Component, DataSource, load_study, read_results, run_study
from labelance.study._store import _write


def _source(name, n_samples, seed):
    options = {"n_samples": n_samples, "n_features": 6, "n_labels": 4, "random_state": seed}
    return DataSource(
        name, make=Component("labelance.datasets.make_multilabel_imbalanced", options)
    )


@pytest.fixture(scope="session")
def tiny():
    """Two datasets, MLkNN and BR, all seven methods, one repetition: 56 cells."""
    from dataclasses import replace

    sources = (_source("one", 80, 0), _source("two", 60, 1))
    return replace(load_study("quick"), name="tiny", datasets=sources, repeats=1)


@pytest.fixture(scope="session")
def tiny_store(tiny, tmp_path_factory):
    """The tiny study, run in this process without any disturbance."""
    path = tmp_path_factory.mktemp("study") / "tiny.store"
    outcome = run_study(tiny, path, executor="serial")
    assert (outcome.done, outcome.failed, outcome.left) == (56, 0, 0)
    return path


FIGURES = ["dataset", "learner", "method", "repeat", "fold", "status", "macro_f1", "macro_auc_roc"]
FIGURES += ["macro_auc_pr", "n_undefined", "n_train", "n_resampled", "member_disagreement"]


@pytest.fixture(scope="session")
def figures():
    """All of a table of results that must not depend on how it was computed."""
    return lambda study, store: read_results(study, store)[FIGURES]


@pytest.fixture(scope="session")
def change_rows():
    """Edit the rows of a store, each by a function; where that returns False, the row goes."""

    def change(store, edit):
        for path in (store / "folds").glob("*.json"):
            rows = json.loads(path.read_text().partition("\n")[2])
            _write(path, [row for row in rows if edit(row) is not False])

    return change


@pytest.fixture(scope="session")
def change_plan():
    """Edit the plans of a store as an attacker would, with a hash that is right."""

    def change(store, edit):
        for path in (store / "plans").glob("*.json"):
            kept = json.loads(path.read_text().partition("\n")[2])
            edit(kept["plan"])
            _write(path, kept)

    return change
