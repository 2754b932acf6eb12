"""Samplers give the rows that they give in memory, bit for bit, for any blocks and kind."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from dask_tables import as_dask, assert_same_table
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from labelance.exceptions import ContainerError, MissingValuesError
from labelance.sampling import (
    LPROS,
    LPRUS,
    MLROS,
    MLRUS,
    MLSMOTE,
    MLSOL,
    MLTL,
    MLUL,
    REMEDIAL,
    MLeNN,
    SamplerSequence,
    all_samplers,
)
from labelance.testing._data import seeded

pytest.importorskip("dask", reason="dask is not installed: pip install 'labelance[dask]'")

N, Q = 80, 5
ROW_SAMPLERS = [
    MLROS(sampling_ratio=0.6),
    MLRUS(),
    LPROS(sampling_ratio=0.5),
    LPRUS(sampling_ratio=0.5),
]
SAMPLERS = [
    *ROW_SAMPLERS,
    MLSOL(),
    MLSOL(interpolation="line", scale="standard", k_neighbors=3),
    MLSOL(metric="manhattan", n_synthetic=70),
    MLSOL(sampling_ratio=0),
    MLSMOTE(),
    MLSMOTE(scale="range", n_synthetic=30, labelset_strategy="union"),
    MLUL(),
    MLeNN(),
    MLTL(mode="clean", label_distance_threshold=0.3),
    REMEDIAL(),
    SamplerSequence([MLRUS(), MLSOL()]),
]
NUMBERS = np.random.default_rng(7).normal(size=(N, 4)).round(1)
Y = (np.random.default_rng(8).random((N, Q)) < [0.5, 0.4, 0.1, 0.15, 0.2]).astype(int)


def frame(n=N):
    """Numbers of several types, a category, and an index of its own."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "a": rng.normal(size=n).astype(np.float32),
            "b": rng.integers(0, 50, n),
            "color": pd.Categorical(rng.choice(["red", "green", "blue"], n)),
            "c": rng.normal(size=n),
            "d": rng.random(n) < 0.5,
        },
        index=np.arange(n) * 3,
    )
    table["e"] = table["b"].astype("Int16")
    return table


TABLES = {
    "float64": NUMBERS,
    "float32": NUMBERS.astype(np.float32),
    "int64": (10 * NUMBERS).astype(int),
    "csr_array": sp.csr_array(np.where(np.abs(NUMBERS) < 1, 0, NUMBERS)),
    "csr_matrix": sp.csr_matrix(np.where(np.abs(NUMBERS) < 1, 0, NUMBERS)),
    "frame": frame(),
}
LABELS = {
    "float64": Y,
    "float32": Y.astype(np.float32),
    "int64": Y.astype(bool),
    "csr_array": sp.csr_array(Y.astype(np.int8)),
    "csr_matrix": sp.csr_matrix(Y),
    "frame": pd.DataFrame(Y, columns=list("vwxyz"), index=np.arange(N) * 3),
}


def cuts(n):
    """Any way to cut n rows into blocks, some of them of one row or of none."""
    places = st.lists(st.integers(0, n), max_size=5)
    return places.map(lambda at: np.diff([0, *sorted(at), n]).tolist())


def resample(sampler, X, y, seed=0):
    """Return the result, and what the sampler says about it."""
    sampler = seeded(clone(sampler), seed)
    result = sampler.fit_resample(X, y)
    told = {name: value for name, value in vars(sampler).items() if name.endswith("_indices_")}
    return result, {**told, "positions_": getattr(sampler, "positions_", None)}, sampler


def assert_same(sampler, X, y, lengths, y_lengths=None, seed=0):
    expected, told, fitted = resample(sampler, X, y, seed)
    dy = as_dask(y, lengths if y_lengths is None else y_lengths)
    found, also_told, also_fitted = resample(sampler, as_dask(X, lengths), dy, seed)
    for one, other in zip(found, expected, strict=True):
        assert_same_table(one, other)
    for name, value in told.items():
        np.testing.assert_array_equal(also_told[name], value)
    assert also_fitted.n_features_in_ == fitted.n_features_in_
    assert hasattr(also_fitted, "feature_names_in_") == hasattr(fitted, "feature_names_in_")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(TABLES))
@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
def test_every_sampler_and_container(sampler, kind):
    if kind == "frame" and sampler.get_params().get("metric", "euclidean") != "euclidean":
        pytest.skip("only the Euclidean distance knows nominal features")
    assert_same(sampler, TABLES[kind], LABELS[kind], [30, 1, 20, 29])


@pytest.mark.slow
@settings(max_examples=8)
@given(lengths=cuts(N), y_lengths=cuts(N), seed=st.integers(0, 99))
@pytest.mark.parametrize("sampler", [MLSOL(), MLSMOTE(), MLROS(sampling_ratio=1), MLRUS()], ids=str)
def test_blocks_do_not_matter(sampler, lengths, y_lengths, seed):
    assert_same(sampler, NUMBERS, Y, lengths, y_lengths, seed)


@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
def test_x_and_y_of_the_same_blocks_come_back_in_the_same_blocks(sampler):
    X, y = assert_same(sampler, NUMBERS, Y, [30, 1, 20, 29])
    assert X.chunks[0] == y.chunks[0]
    assert not np.isnan(X.shape[0])


def test_labels_in_memory_are_welcome_and_stay_there():
    expected = MLSOL(random_state=0).fit_resample(NUMBERS, sp.csr_array(Y))
    X, y = MLSOL(random_state=0).fit_resample(as_dask(NUMBERS, [40, 40]), sp.csr_array(Y))
    assert_same_table(X, expected[0])
    assert (y != expected[1]).nnz == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "sampler", [MLSOL(missing="distance"), MLSMOTE(missing="distance")], ids=str
)
def test_missing_values_and_nominal_numbers(sampler):
    X = NUMBERS.copy()
    X[:, 2] = np.random.default_rng(1).choice([2.0, 7.5, 9.0], N)
    X[5, 0] = X[60, 0] = X[7, 2] = np.nan
    for options in ({"categorical_features": [2]}, {"categorical_features": [0, 1, 2, 3]}, {}):
        assert_same(sampler.set_params(**options), X, Y, [30, 1, 20, 29])
    table = frame()
    table.loc[[9, 60], "a"] = np.nan
    table.loc[12, "color"] = None
    table.loc[30, "e"] = pd.NA
    assert_same(sampler.set_params(categorical_features=None), table, LABELS["frame"], [50, 30])


@pytest.mark.slow
def test_sparse_rows_with_nominal_columns():
    X = sp.csr_array((np.random.default_rng(0).random((N, 12)) < 0.3) * np.arange(1.0, 13))
    for sampler in (MLSOL(categorical_features=[1, 2]), MLSMOTE(categorical_features=[1, 2])):
        assert_same(sampler, X, Y, [33, 47])


def _freeze(key, result, *_):
    """Make what a task returned read-only."""
    for name in ("data", "indices", "indptr") if sp.issparse(result) else ():
        getattr(result, name).flags.writeable = False
    if isinstance(result, np.ndarray):
        result.flags.writeable = False


@pytest.mark.parametrize("kind", ["float64", "csr_array"])
@pytest.mark.parametrize(
    "sampler", [MLSOL(), MLSMOTE(), MLUL(), SamplerSequence([MLRUS(), MLSMOTE()])], ids=str
)
def test_a_task_leaves_what_it_is_given_as_it_is(sampler, kind):
    from dask.callbacks import Callback

    if "categorical_features" in sampler.get_params():
        sampler = clone(sampler).set_params(categorical_features=[1, 2])
    with Callback(posttask=_freeze):
        assert_same(sampler, TABLES[kind], LABELS[kind], [30, 1, 20, 29])


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState, None])
@pytest.mark.parametrize("sampler", [MLSOL(), MLSMOTE(), MLROS()], ids=str)
def test_a_generator_is_left_where_it_would_be_in_memory(sampler, make):
    make = make or (lambda seed: np.random.Generator(np.random.MT19937(seed)))
    sources = make(3), make(3)
    for source, cut in zip(sources, (np.asarray, partial(as_dask, lengths=[30, 50]))):
        sampler.set_params(random_state=source).fit_resample(cut(NUMBERS), cut(Y))
    ends = [
        source.integers(100, size=5) if hasattr(source, "integers") else source.randint(100, size=5)
        for source in sources
    ]
    np.testing.assert_array_equal(*ends)


def test_rows_that_are_made_later_are_always_the_same():
    X, _ = MLSOL(random_state=0).fit_resample(as_dask(NUMBERS, [30, 50]), Y)
    np.testing.assert_array_equal(X.compute(), X.compute())


def test_one_plan_many_draws():
    plan = MLSOL().plan(as_dask(NUMBERS, [30, 50]), as_dask(Y, [30, 50]))
    in_memory = MLSOL().plan(NUMBERS, Y)
    for seed in (0, 1):
        assert_same_table(plan.draw(seed).X, in_memory.draw(seed).X)


def test_a_neighborhood_found_before_saves_the_search():
    from labelance.neighbors import find_neighbors

    dX = as_dask(NUMBERS, [30, 50])
    around = find_neighbors(NUMBERS, 5)
    X, _ = MLSOL(random_state=0).fit_resample(dX, Y, neighborhood=around)
    assert_same_table(X, MLSOL(random_state=0).fit_resample(NUMBERS, Y)[0])


@pytest.mark.slow
def test_an_explanation_is_that_of_rows_in_memory():
    found = MLROS(random_state=0).explain(as_dask(NUMBERS, [30, 50]), as_dask(Y, [30, 50]))
    assert str(found) == str(MLROS(random_state=0).explain(NUMBERS, Y))


@pytest.mark.slow
def test_random_samplers_do_not_look_at_x():
    words = pd.DataFrame({"text": [f"word {i}" for i in range(N)], "n": np.arange(N)})
    for sampler in ROW_SAMPLERS:
        X, _ = sampler.set_params(random_state=0).fit_resample(as_dask(words, [70, 10]), Y)
        expected, _ = sampler.set_params(random_state=0).fit_resample(words, Y)
        assert X.compute().astype(object).equals(expected.astype(object))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # what a newer pandas says of what an older Dask calls
def test_parquet_files_that_dask_reads(tmp_path):
    import dask.dataframe as dd

    table, labels = TABLES["frame"].reset_index(drop=True), LABELS["frame"].reset_index(drop=True)
    names = []
    for number, (start, stop) in enumerate([(0, 30), (30, 80)]):
        names.append(tmp_path / f"{number}.parquet")
        table.drop(columns="color").iloc[start:stop].join(labels).to_parquet(names[-1], index=False)
    whole = dd.read_parquet([str(name) for name in names])
    dX, dy = whole[["a", "b", "c"]], whole[list(labels)]
    X, y = MLSOL(random_state=0).fit_resample(dX, dy)
    expected = MLSOL(random_state=0).fit_resample(table[["a", "b", "c"]], labels)
    assert_same_table(X, expected[0])
    assert_same_table(y, expected[1])


def test_arrays_of_zarr_that_dask_reads(tmp_path):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed: pip install zarr")
    import dask.array as da

    stored = zarr.open_array(
        str(tmp_path / "rows.zarr"), mode="w", shape=NUMBERS.shape, chunks=(30, 4), dtype="float64"
    )
    stored[:] = NUMBERS
    dX = da.from_zarr(str(tmp_path / "rows.zarr"))
    X, y = MLSOL(random_state=0).fit_resample(dX, Y)
    expected = MLSOL(random_state=0).fit_resample(NUMBERS, Y)
    assert_same_table(X, expected[0])
    np.testing.assert_array_equal(y, expected[1])


def test_samplers_that_work_in_memory_alone_say_so():
    samplers = [kind() for kind in all_samplers().values()]
    refusing = [sampler for sampler in samplers if not sampler.traits.in_blocks]
    assert refusing
    for sampler in refusing:
        with pytest.raises(ContainerError, match=r"X\.compute\(\)"):
            sampler.fit_resample(as_dask(NUMBERS, [40, 40]), as_dask(Y, [40, 40]))
    with pytest.raises(ContainerError, match=r"X\.compute\(\)"):
        MLSMOTE(variant="mulan").fit_resample(as_dask(NUMBERS, [40, 40]), Y)


def test_missing_values_are_refused_by_column():
    X = NUMBERS.copy()
    X[70, 1] = np.nan
    with pytest.raises(MissingValuesError, match="columns 1"):
        MLSOL().fit_resample(as_dask(X, [40, 40]), Y)


def tasks_of(collection):
    """Return what each task of a collection waits for, after Dask has optimised the graph."""
    import dask
    from dask.core import get_dependencies

    is_frame = hasattr(collection, "partitions") and not hasattr(collection, "chunks")
    optimised = collection.optimize() if is_frame else dask.optimize(collection)[0]
    graph = dict(optimised.__dask_graph__())
    return {key: get_dependencies(graph, key) for key in graph}


def parts_of(result):
    """Return the blocks of a result by themselves, and all but the first."""
    parts = result.blocks if hasattr(result, "chunks") else result.partitions
    return [*(parts[b] for b in range(result.npartitions)), parts[1:]]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["array", "frame"])
@pytest.mark.parametrize("sampler", [MLSOL(), MLRUS(), MLROS()], ids=str)
def test_a_part_of_a_result_has_the_tasks_that_the_whole_has(sampler, kind):
    # A scheduler that still knows a task by its name must not meet another one of that name.
    if kind == "array":
        X, y = as_dask(NUMBERS, [30, 1, 20, 29]), as_dask(Y, [30, 1, 20, 29])
        X = X.map_blocks(np.negative).map_blocks(np.abs)
    else:
        X, y = as_dask(TABLES["frame"][["a", "b"]], [30, 50]), as_dask(LABELS["frame"], [30, 50])
        X = X.map_partitions(pd.DataFrame.copy)
    for result in sampler.fit_resample(X, y):
        known = {}
        for part in (result, *parts_of(result), *parts_of(result + 1)):
            tasks = tasks_of(part)
            assert {key: known.get(key, task) for key, task in tasks.items()} == tasks
            known |= tasks


def test_a_part_of_a_result_does_not_make_the_rest():
    from dask.callbacks import Callback

    def count_tasks(collection):
        ran = []
        with Callback(posttask=lambda key, *_: ran.append(key)):
            collection.compute(scheduler="sync")
        return len(ran)

    X, _ = MLSOL(random_state=0).fit_resample(as_dask(NUMBERS, [30, 1, 20, 29]), Y)
    assert 0 < count_tasks(X.blocks[0]) < count_tasks(X) / 4
