"""Results are a promise: each equals its line in the golden file, however it is computed."""

import subprocess
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from golden_cases import (
    CASES,
    DATA,
    NOT_RESULTS,
    PACKAGES,
    PUBLISHED,
    MissingDataset,
    learn,
    new_estimator,
    public_names,
    quietly,
    resample,
)
from golden_file import GOLDEN_FILE, fingerprint, read_golden, same
from threadpoolctl import threadpool_limits

GOLDEN = read_golden()
ROOT = Path(__file__).parents[2]
UPDATE = "run `python tests/golden/update.py`, look at what it tells, and commit golden.json"


def find(compute):
    try:
        return fingerprint(quietly(compute))
    except MissingDataset as name:
        pytest.skip(f"the dataset {name} is not at hand")


def check_case(name):
    assert name in GOLDEN, f"{name!r} has no line in the golden file: {UPDATE}"
    assert same(find(CASES[name]), GOLDEN[name]), (
        f"The result of {name!r} is not the one promised. If it has to change, say so in "
        f'CHANGELOG.md under "### Changed results" and {UPDATE}'
    )


def cases_on(dataset):
    return [name for name in CASES if dataset in name.replace(",", "").split()]


ON_PUBLISHED = {*chain(*map(cases_on, PUBLISHED))}


def is_slow(name):
    """Say which cases are slow."""
    if name.startswith(("ensemble.MLSOLBagging", "learners.MCE")):
        return True
    if name.startswith("ensemble.RareLabelClassifier"):  # six models inside
        return not name.endswith((" on dense", " on mixed"))
    return name.endswith("on missing")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if is_slow(name) else ())
        for name in CASES
        if name not in ON_PUBLISHED
    ],
)
def test_the_result_is_the_golden_one(name):
    check_case(name)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("dataset", PUBLISHED)
def test_the_results_on_a_published_dataset_are_the_golden_ones(dataset):
    for name in cases_on(dataset):
        check_case(name)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_has_a_golden_line(package):
    held = {line.partition(".")[2].split(" ")[0].rstrip(",") for line in GOLDEN}
    lacking = set(public_names(package)) - held - NOT_RESULTS
    assert not lacking, (
        f"{sorted(lacking)} of labelance.{package} have no line in the golden file. Samplers, "
        "learners and ensembles are found by themselves (arguments go into OPTIONS of "
        "golden_cases.py); give a function a case in function_cases, or name what has no result "
        f"in NOT_RESULTS. Then {UPDATE}"
    )


def test_every_golden_line_has_a_case():
    assert not GOLDEN.keys() - CASES.keys(), f"golden lines of nothing: {UPDATE}"


# ------------------------------------------------------------------------------- other ways to run

KINDS = {"sampling": resample, "learners": learn, "ensemble": learn}
# One of each family: neighbors, bags, deletion; trees, pairs, chains, labelsets, forests.
SOME = {
    "sampling": ["MLSOL", "MLSMOTE", "MLUL", "MLeNN", "RHwHUS"],
    "learners": ["BinaryRelevance", "CalibratedLabelRanking", "ECCRU3", "MLkNN", "RAkEL", "SOSHF"],
    "ensemble": ["EMLSOL"],
}
ESTIMATORS = [(package, name) for package, names in SOME.items() for name in names]


def as_pandas(values):
    return pd.DataFrame(values)


def as_polars(values):
    polars = pytest.importorskip("polars")
    return polars.DataFrame(values, schema=[f"c{j}" for j in range(values.shape[1])])


def check(package, name, data, **how):
    new = partial(new_estimator, package, name)
    found = find(partial(KINDS[package], new, data, **how))
    assert same(found, GOLDEN[f"{package}.{name} on {data}"])


@pytest.mark.parametrize(("package", "name"), ESTIMATORS)
def test_two_jobs_give_the_golden_result(package, name, case):
    for data in ["dense", "sparse"]:
        with case(data):
            check(package, name, data, n_jobs=2)


@pytest.mark.parametrize(("package", "name"), ESTIMATORS)
def test_frames_give_the_golden_result(package, name, case):
    for container in [as_pandas, as_polars]:
        with case(container):
            check(package, name, "dense", container=container)


@pytest.mark.parametrize(("package", "name"), ESTIMATORS)
def test_other_sparse_containers_give_the_golden_result(package, name, case):
    for container in [sp.csc_array, sp.csr_matrix, sp.coo_array]:
        with case(container):
            check(package, name, "sparse", container=container)


@pytest.mark.parametrize(("package", "name"), ESTIMATORS)
def test_any_number_of_threads_gives_the_golden_result(package, name, case):
    for threads in [1, 2]:
        with case(threads), threadpool_limits(threads):
            check(package, name, "digits")


# --------------------------------------------------------------------------- the golden file itself


@pytest.mark.slow
def test_a_fingerprint_tells_results_apart_but_not_processors():
    values = np.random.default_rng(0).random((150, 60))
    golden = fingerprint(values)
    assert same(fingerprint(values * (1 + 2**-51)), golden)
    for other in (values[::-1], values.astype(np.float32), values.ravel(), values.tolist()):
        assert not same(fingerprint(other), golden)
    for change in (1e-6, np.nan, np.inf):
        changed = values.copy()
        changed[70, 7] += change
        assert not same(fingerprint(changed), golden)


def test_a_fingerprint_tells_labels_apart_but_not_containers():
    Y = DATA["dense"]().Y
    golden = fingerprint(Y)
    assert same(fingerprint(pd.DataFrame(Y.astype(np.int8))), golden)
    assert not same(fingerprint(1 - Y), golden)
    kept = fingerprint(sp.csr_array(Y))
    assert same(fingerprint(sp.csc_array(Y)), kept)
    assert not same(fingerprint(sp.csr_array(1 - Y)), kept)


def git(*args):
    done = subprocess.run(["git", *args], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def last_promise():
    """The golden file of the last release; before the first one, as it was when it came."""
    path = GOLDEN_FILE.relative_to(ROOT).as_posix()
    tag = git("describe", "--tags", "--abbrev=0").strip()
    first = git("log", "--diff-filter=A", "--format=%H", "--", path).split()[-1:]
    for commit in filter(None, [tag, *first]):
        if text := git("show", f"{commit}:{path}"):
            return read_golden(text)
    pytest.skip("no history of the golden file at hand")


def unreleased_changes():
    text = (ROOT / "CHANGELOG.md").read_text()
    unreleased = text.partition("## [Unreleased]")[2].partition("\n## ")[0]
    return unreleased.partition("### Changed results")[2].partition("\n### ")[0]


def test_changed_results_are_told_in_the_changelog():
    before, told = last_promise(), unreleased_changes()
    changed = [name for name in GOLDEN.keys() & before.keys() if GOLDEN[name] != before[name]]
    untold = [
        name for name in changed if name.partition(".")[2].split(" ")[0].rstrip(",") not in told
    ]
    assert not untold, (
        f'CHANGELOG.md has under "### Changed results" of [Unreleased] no word of {sorted(untold)}'
    )
