"""MLSMOTE against loops over labels, bags and neighbors, by example and by distribution."""

import json
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.stats import chisquare, kstest

from labelance.datasets import load_dataset
from labelance.exceptions import ConstantLabelWarning
from labelance.sampling import MLSMOTE, _base, _mlsmote
from labelance.testing import sampler_data

# Options that make ours do what the authors' program does.
PROGRAM = {"variant": "mulan", "scale": "range"}


def minority_labels_slowly(Y, at_least_mean):
    counts = [int(np.nansum(column)) for column in Y.T]
    ratios = [Fraction(max(counts), count) if count else None for count in counts]
    defined = [ratio for ratio in ratios if ratio is not None]
    mean = sum(defined, Fraction(0)) / len(defined) if defined else np.inf
    above = [r is not None and (r > mean or (at_least_mean and r == mean)) for r in ratios]
    return [j for j in range(len(counts)) if above[j]]


def gap_slowly(a, b, known, nominal, scale):
    """The difference of two values of a feature, of which ``known`` are the bag's."""
    if nominal:
        return float(a != b)  # NaN differs from everything
    if not known:
        return 0.0
    low, high = min(known), max(known)
    if np.isnan(a) and np.isnan(b):
        gap = high - low
    elif np.isnan(a) or np.isnan(b):
        value = b if np.isnan(a) else a
        gap = max(high - value, value - low)
    else:
        gap = a - b
    if scale == "range":
        return gap / (high - low) if high > low else 0.0
    return gap


def neighbors_slowly(X, bag, k, nominal, scale, *, all_ties=False):
    """For each row of a bag the k nearest in it, ties by row number; or all that tie at the end."""
    rows = X[bag].tolist()
    known = [[value for value in column if not np.isnan(value)] for column in zip(*rows)]
    found = []
    for i, seed in enumerate(rows):
        distances = []
        for j, row in enumerate(rows):
            gaps = [gap_slowly(*about, scale) for about in zip(seed, row, known, nominal)]
            if i != j:
                distances.append((sum(gap * gap for gap in gaps), bag[j]))
        distances.sort()
        last = distances[min(k, len(distances)) - 1][0]
        tied = [row for distance, row in distances if distance <= last]
        found.append(tied if all_ties else tied[:k])
    return found


def labels_slowly(Y, rows, strategy):
    out = []
    for column in Y[rows].T:
        known = column[~np.isnan(column)]
        ones, m = int(known.sum()), len(known)
        enough = {
            "union": ones >= 1,
            "intersection": ones == m,
            "ranking": 2 * ones >= m,
            "majority": 2 * ones > m,
        }
        out.append(int(enough[strategy]) if m else np.nan)
    return out


def vote_slowly(values):
    votes = Counter(value for value in values if not np.isnan(value))
    return min(votes, key=lambda value: (-votes[value], value)) if votes else np.nan


def assert_rows_follow_the_paper(X, Y, X_out, Y_out, sampler, nominal):
    """Go through the labels as the paper does, and check every row that was made.

    Chance may choose the reference among the neighbors, and the numbers between the parents.
    """
    n, made, mulan = len(X), len(X), sampler.variant == "mulan"
    seeds, references = sampler.seed_indices_, sampler.reference_indices_
    for label in minority_labels_slowly(Y, at_least_mean=mulan):
        bag = [i for i in range(n) if Y[i, label] == 1]
        if mulan:
            bag += [i for i in range(n, made) if Y_out[i, label] == 1]
        if len(bag) == 1:
            continue
        found = neighbors_slowly(X_out, bag, sampler.k_neighbors, nominal, sampler.scale)
        for seed, around in zip(bag, found):
            reference, row = references[made - n], X_out[made]
            assert seeds[made - n] == seed
            assert reference in around
            assert sampler.label_indices_[made - n] == label
            wanted = labels_slowly(Y_out, [seed, *around], sampler.labelset_strategy)
            assert_array_equal(Y_out[made], wanted)
            assert wanted[label] == 1
            voters = [seed, *around] if mulan else around
            for f in range(X.shape[1]):
                ends = X_out[seed, f], X_out[reference, f]
                if nominal[f]:
                    assert_array_equal(row[f], vote_slowly(X_out[voters, f]))
                elif np.isnan(ends).any():
                    assert np.isnan(row[f])
                else:
                    assert min(ends) <= row[f] <= max(ends)
            made += 1
    assert made == len(X_out) == len(Y_out)


@st.composite
def tables(draw):
    """Small data full of ties, with nominal features and missing values."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, q = draw(st.integers(2, 18)), draw(st.integers(1, 4)), draw(st.integers(1, 5))
    X = rng.integers(0, 4, size=(n, d)).astype(float)
    missing = rng.random((n, d)) < draw(st.sampled_from([0.0, 0.2]))
    X[1:][missing[1:]] = np.nan
    Y = (rng.random((n, q)) < rng.choice([0.1, 0.3, 0.6], size=q)).astype(int)
    for j in range(q - 1 if draw(st.booleans()) else 0):
        Y[:, j] &= Y[:, j + 1]  # rare labels within less rare ones, so that bags do grow
    return X, Y, rng.random(d) < draw(st.sampled_from([0.0, 0.5, 1.0]))


options = st.fixed_dictionaries(
    {
        "k_neighbors": st.integers(1, 6),
        "labelset_strategy": st.sampled_from(["ranking", "majority", "union", "intersection"]),
        "variant": st.sampled_from(["paper", "mulan"]),
        "scale": st.sampled_from([None, "range"]),
    }
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::labelance.exceptions.ConstantLabelWarning")
@settings(max_examples=25)
@given(tables(), options, st.booleans())
def test_every_row_is_as_the_paper_makes_it(data, options, sparse):
    X, Y, nominal = data
    sampler = MLSMOTE(
        **options, categorical_features=nominal, missing="distance", random_state=len(X)
    )
    X_out, Y_out = sampler.fit_resample(sp.csr_array(X) if sparse else X, Y)
    X_out = X_out.toarray() if sparse else X_out
    assert_array_equal(X_out[: len(X)], X)
    assert_array_equal(Y_out[: len(X)], Y)
    assert_rows_follow_the_paper(X, Y, X_out, Y_out, sampler, nominal)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::labelance.exceptions.ConstantLabelWarning")
@given(tables(), options, st.integers(0, 100))
def test_rows_vote_on_labels_that_they_know(data, options, seed):
    X, Y, nominal = data
    Y = np.where(np.random.default_rng(seed).random(Y.shape) < 0.4, np.nan, Y)
    sampler = MLSMOTE(**options, categorical_features=nominal, missing="distance", random_state=0)
    X_out, Y_out = sampler.fit_resample(X, Y)
    assert_array_equal(Y_out[: len(X)], Y)
    assert_rows_follow_the_paper(X, Y, X_out, Y_out, sampler, nominal)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::labelance.exceptions.ConstantLabelWarning")
@settings(max_examples=25)
@given(tables(), options, st.sampled_from([None, 7]))
def test_dense_and_sparse_agree(data, options, n_synthetic):
    X, Y, nominal = data
    sampler = MLSMOTE(
        **options,
        categorical_features=nominal,
        missing="distance",
        n_synthetic=n_synthetic,
        random_state=3,
    )
    X_dense, Y_dense = sampler.fit_resample(X, Y)
    X_sparse, Y_sparse = sampler.fit_resample(sp.csr_array(X), sp.csr_array(Y))
    assert_array_equal(X_sparse.toarray(), X_dense)
    assert_array_equal(Y_sparse.toarray(), Y_dense)


# Five rows of the rare label 0 on a line; the other labels are there to be voted on.
X_LINE = np.array([0.0, 1, 2, 3, 4, 20, 21, 22, 23, 24, 25])[:, np.newaxis]
Y_LINE = np.zeros((11, 4), dtype=int)
Y_LINE[:5, 0] = 1
Y_LINE[[0, 2, 5, 6, 7, 8, 9, 10], 1] = 1
Y_LINE[[0, 1, 2, 5, 6, 7, 8, 9], 2] = 1
Y_LINE[[3, 5, 6, 7, 8, 9, 10], 3] = 1


@pytest.mark.parametrize(
    ("options", "of_row_0"),
    [  # the neighbors of row 0 are rows 1 to 3: label 1 has 2 of 4 votes, label 2 has 3
        ({}, [1, 1, 1, 0]),
        ({"labelset_strategy": "majority"}, [1, 0, 1, 0]),
        ({"labelset_strategy": "union"}, [1, 1, 1, 1]),
        ({"labelset_strategy": "intersection"}, [1, 0, 0, 0]),
    ],
)
def test_labels_by_strategy(options, of_row_0):
    sampler = MLSMOTE(k_neighbors=3, random_state=0, **options)
    _, Y_new = sampler.fit_resample(X_LINE, Y_LINE)
    assert_array_equal(sampler.seed_indices_, range(5))
    assert_array_equal(Y_new[11], of_row_0)


def test_nothing_is_added_where_nothing_is_rare():
    X, Y = sampler_data()
    for labels in (Y[:, :1], np.column_stack([Y[:, 1], 1 - Y[:, 1]])[Y[:, 1].argsort()][-24:]):
        sampler = MLSMOTE(random_state=0)
        X_new, Y_new = sampler.fit_resample(X[: len(labels)], labels)
        assert_array_equal(X_new, X[: len(labels)])
        assert_array_equal(Y_new, labels)
        assert len(sampler.seed_indices_) == len(sampler.label_indices_) == 0
    assert len(MLSMOTE(variant="mulan").fit_resample(X, Y[:, :1])[0]) == len(X) + Y[:, 0].sum()


@pytest.mark.parametrize("variant", ["paper", "mulan"])
@pytest.mark.parametrize("n_synthetic", [None, 10])
def test_a_bag_of_one_row_makes_nothing(variant, n_synthetic):
    X = np.arange(10.0)[:, np.newaxis]
    Y = np.zeros((10, 2), dtype=int)
    Y[:8, 0], Y[9, 1] = 1, 1
    sampler = MLSMOTE(variant=variant, n_synthetic=n_synthetic)
    assert len(sampler.fit_resample(X, Y)[0]) == 10
    with pytest.warns(ConstantLabelWarning):
        assert len(sampler.fit_resample(X, np.zeros_like(Y))[0]) == 10


@pytest.mark.slow
def test_references_are_drawn_evenly_from_the_neighbors():
    sampler = MLSMOTE(k_neighbors=3)
    plan = sampler.plan(X_LINE, Y_LINE)
    draws = [plan.draw(seed).provenance["reference_indices_"] for seed in range(1500)]
    for seed, around in enumerate([[1, 2, 3], [0, 2, 3], [0, 1, 3], [1, 2, 4], [1, 2, 3]]):
        rows, counts = np.unique([draw[seed] for draw in draws], return_counts=True)
        assert rows.tolist() == around
        assert chisquare(counts).pvalue > 1e-4


def test_each_feature_has_a_uniform_share_of_its_own():
    X, Y = sampler_data()
    sampler = MLSMOTE(n_synthetic=3_000, random_state=0)
    X_new, _ = sampler.fit_resample(X, Y)
    seeds, references = X[sampler.seed_indices_], X[sampler.reference_indices_]
    moved = (seeds != references)[:, :2].all(axis=1)
    shares = (X_new[len(X) :] - seeds)[moved, :2] / (references - seeds)[moved, :2]
    assert kstest(shares[:, 0], "uniform").pvalue > 1e-4
    assert abs(np.corrcoef(shares.T)[0, 1]) < 0.1


@pytest.mark.parametrize("variant", ["paper", "mulan"])
def test_seeds_are_drawn_evenly_from_all_bags(variant):
    X, Y = sampler_data()
    plain = MLSMOTE(random_state=0)
    plain.fit_resample(X, Y)
    members = list(zip(plain.label_indices_.tolist(), plain.seed_indices_.tolist()))
    sampler = MLSMOTE(n_synthetic=8_000, variant=variant, random_state=0)
    X_new, _ = sampler.fit_resample(X, Y)
    assert len(X_new) == len(X) + 8_000
    drawn = Counter(zip(sampler.label_indices_.tolist(), sampler.seed_indices_.tolist()))
    assert set(drawn) == set(members)
    assert chisquare([drawn[member] for member in members]).pvalue > 1e-4
    assert len(MLSMOTE(n_synthetic=0, variant=variant).fit_resample(X, Y)[0]) == len(X)


def test_grown_bags_have_synthetic_parents_from_earlier_labels():
    rng = np.random.default_rng(0)
    X, Y = rng.random((80, 3)), np.zeros((80, 4), dtype=int)
    Y[:60, 0], Y[70:78, 1], Y[72:78, 2], Y[:, 3] = 1, 1, 1, 1
    sampler = MLSMOTE(variant="mulan", random_state=0)
    with pytest.warns(ConstantLabelWarning):
        X_new, _ = sampler.fit_resample(X, Y)
    assert set(sampler.label_indices_) == {1, 2}
    synthetic = sampler.seed_indices_ >= len(X)
    assert synthetic.any()
    assert (sampler.label_indices_[synthetic] == 2).all()
    assert (sampler.seed_indices_ < len(X) + np.arange(len(synthetic))).all()
    seeds, references = X_new[sampler.seed_indices_], X_new[sampler.reference_indices_]
    made = X_new[len(X) :]
    assert (np.minimum(seeds, references) <= made).all()
    assert (made <= np.maximum(seeds, references)).all()


def test_grown_bags_read_their_rows_and_drawn_seeds_alone(monkeypatch):
    """No label copies all rows again, and only seeds that were drawn ask for votes."""
    X, Y = sampler_data(n=300)
    copied, voted = [], []

    def watch(module, name, note):
        real = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *args: note(args) or real(*args))

    plan = MLSMOTE(variant="mulan", n_synthetic=7).plan(X, Y)
    watch(_base, "stack_rows", lambda args: copied.append(args[0].shape[0]))
    watch(_mlsmote, "vote_labels", lambda args: voted.append(len(args[1])))
    plan.sampler._draw(plan.data, plan.details, np.random.default_rng(0))
    assert max(copied) <= max(7, *map(len, plan.details.bags)) < len(X)
    assert sum(voted) == 7


def test_all_rows_stay_in_the_box_of_their_bag():
    X, Y = sampler_data(n=200)
    sampler = MLSMOTE(random_state=0, scale="range")
    X_new, _ = sampler.fit_resample(X, Y)
    for label in np.unique(sampler.label_indices_):
        bag = X[Y[:, label] == 1]
        made = X_new[len(X) :][sampler.label_indices_ == label]
        assert ((bag.min(axis=0) <= made) & (made <= bag.max(axis=0))).all()


def test_nominal_data_alone_leave_nothing_to_chance():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(60, 5))
    _, Y = sampler_data()
    one, two = (
        MLSMOTE(categorical_features=range(5), random_state=seed).fit_resample(X, Y)
        for seed in (0, 1)
    )
    assert len(one[0]) > 60
    assert_array_equal(one[0], two[0])
    assert_array_equal(one[1], two[1])


def test_words_are_voted_on_and_come_back():
    pd = pytest.importorskip("pandas")
    words = ["red", "blue", "red", "red", "blue", *["gray"] * 6]
    frame = pd.DataFrame({"place": X_LINE[:, 0], "color": pd.Categorical(words)})
    X_new, _ = MLSMOTE(k_neighbors=4, random_state=0).fit_resample(frame, Y_LINE)
    # Of row 0's four neighbors two are red and two are blue; blue is the lower category.
    assert X_new["color"].iloc[11] == "blue"
    assert list(X_new.dtypes) == list(frame.dtypes)
    sampler = MLSMOTE(k_neighbors=4, variant="mulan", random_state=0)
    assert sampler.fit_resample(frame, Y_LINE)[0]["color"].iloc[11] == "red"


@pytest.mark.slow
def test_many_labels_stay_sparse():
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 50_000), density=1e-3, rng=rng, format="csr")
    Y = sp.random_array((300, 10_000), density=1e-3, rng=rng, format="csr")
    Y.data[:] = 1
    with pytest.warns(ConstantLabelWarning):
        X_new, Y_new = MLSMOTE(variant="mulan", random_state=0).fit_resample(X, Y)
    assert sp.issparse(X_new)
    assert sp.issparse(Y_new)
    assert X_new.shape[0] == Y_new.shape[0]


def load(name):
    if name.endswith("-exp"):
        return load_dataset(name.removesuffix("-exp"), protocol="paper")
    data = load_dataset(name.removesuffix("-train"))
    return data.take(np.arange(1211)) if name.endswith("-train") else data


@pytest.mark.data
@pytest.mark.parametrize(
    "name",
    [
        "flags",
        "emotions",
        "yeast",
        "medical",
        "scene-train",
        pytest.param("cal500", marks=pytest.mark.slow),
    ],
)
def test_the_authors_program_is_within_the_spread_of_ours(name, reference):
    told = json.loads(reference(f"dumps/stats_{name}.json").read_text())["mlsmote"]["runs"]
    data = load(name)
    plan = MLSMOTE(**PROGRAM, categorical_features=data.categorical_features).plan(
        data.values, data.Y
    )
    draws = [plan.draw(seed).y for seed in range(40)]
    ours = np.array([[Y.shape[0] - data.n_samples, *Y.sum(axis=0)] for Y in draws])
    for run in told:
        theirs = np.array([run["n_synthetic"], *run["positives_after"]])
        apart = np.abs(theirs - ours.mean(axis=0))
        assert (apart <= 4.5 * ours.std(axis=0, ddof=1) + 1).all()
        if name != "cal500":  # chance has no say in the number
            assert (ours[:, 0] == theirs[0]).all()


@pytest.mark.data
def test_on_nominal_data_the_program_differs_by_ties_alone(reference):
    """There, all that tie for the last neighbor vote; with that, loops give its very numbers."""
    told = json.loads(reference("dumps/stats_enron-exp.json").read_text())["mlsmote"]
    data = load("enron-exp")
    X, Y = data.values.toarray(), data.Y.toarray().astype(int)
    everything = np.ones(X.shape[1], dtype=bool)
    for label in minority_labels_slowly(Y, at_least_mean=True):
        bag = np.flatnonzero(Y[:, label]).tolist()
        found = neighbors_slowly(X, bag, 5, everything, "range", all_ties=True)
        voters = [[seed, *around] for seed, around in zip(bag, found)]
        X_new = [[vote_slowly(column) for column in X[rows].T] for rows in voters]
        Y_new = [labels_slowly(Y, rows, "ranking") for rows in voters]
        X, Y = np.vstack([X, X_new]), np.vstack([Y, Y_new])
    run = told["runs"][0]
    assert len(Y) == run["n_after"]
    assert Y.sum(axis=0).tolist() == run["positives_after"]
    Y_ours = MLSMOTE(**PROGRAM, categorical_features=everything).fit_resample(data.values, data.Y)[
        1
    ]
    assert Y_ours.shape[0] == run["n_after"]
    assert np.abs(Y_ours.sum(axis=0) - run["positives_after"]).max() <= 4


@pytest.mark.parametrize("counts", [(66, 60, 55), (63, 45, 35)])
def test_a_label_exactly_at_the_mean_is_not_above_it(counts):
    Y = (np.arange(70)[:, None] < counts).astype(int)
    X = np.random.default_rng(0).random((70, 2))
    for variant, labels in [("paper", [2]), ("mulan", [1, 2])]:
        sampler = MLSMOTE(variant=variant, random_state=0)
        sampler.fit_resample(X, Y)
        assert np.unique(sampler.label_indices_).tolist() == labels
