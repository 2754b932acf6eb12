"""From file to file the rows are those of the call in memory, also after a kill."""

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import tracemalloc
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from labelance.datasets import MultiLabelDataset, read_multilabel, write_multilabel
from labelance.exceptions import FileWriteError, InputError, LabelanceError, TooManyRowsError
from labelance.model_selection import multilabel_train_test_split
from labelance.outofcore import open_dataset, resample_file, split_file
from labelance.outofcore._resample import adapt_sampler
from labelance.sampling import (
    LPROS,
    LPRUS,
    MLROS,
    MLRUS,
    MLSMOTE,
    MLSOL,
    REMEDIAL,
    BlockwiseDraw,
    SamplerSequence,
)

pa = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

SAMPLERS = [
    MLROS(random_state=0),
    MLRUS(random_state=0),
    LPROS(random_state=0),
    LPRUS(random_state=0),
    MLSMOTE(random_state=0),
    MLSOL(random_state=0),
    MLSOL(algorithm="approx", interpolation="line", random_state=0),
    MLSOL(scale="range", sampling_strategy=["calm"], random_state=0),
]
LIMIT = "64kB"


def songs(n=400, *, nominal=False):
    """Return a dataset with rare labels."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(n, 6))
    categories = None
    if nominal:
        values[:, 2] = rng.integers(3, size=n)
        values[rng.random(n) < 0.1, 2] = np.nan
        categories = (None, None, ("high", "low", "none"), None, None, None)
    Y = rng.random((n, 3)) < [0.5, 0.2, 0.06]
    return MultiLabelDataset(
        values, Y, categories=categories, label_names=("loud", "sad", "calm"), name="songs"
    )


def write(dataset, path, rows=64):
    """Write a Parquet file of several row groups."""
    whole = write_multilabel(dataset, path.with_name("whole.parquet"), overwrite=True)
    parquet.write_table(parquet.read_table(whole), path, row_group_size=rows)
    return path


def in_memory(dataset, sampler):
    sampler = adapt_sampler(clone(sampler), dataset)
    X, Y = sampler.fit_resample(dataset.values, dataset.Y)
    return MultiLabelDataset(
        X, Y, dataset.feature_names, dataset.label_names, categories=dataset.categories
    )


@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
@pytest.mark.parametrize("nominal", [False, True])
def test_a_file_resampled_in_blocks_is_the_table_resampled_in_memory(tmp_path, sampler, nominal):
    dataset = songs(nominal=nominal)
    file, sampler = write(dataset, tmp_path / "songs.parquet"), clone(sampler)
    if nominal and hasattr(sampler, "missing"):
        sampler.set_params(missing="distance")
    done = resample_file(file, tmp_path / "more.parquet", sampler, memory=LIMIT)
    expected = in_memory(read_multilabel(file), sampler)
    assert read_multilabel(done.path).same_as(expected)
    assert (done.y != expected.Y).nnz == 0
    assert (done.rows_before, done.rows_after) == (dataset.n_samples, expected.n_samples)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "more.parquet",
        "songs.parquet",
        "whole.parquet",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("memory", ["30kB", "300kB", "30MB"])
@pytest.mark.parametrize("rows", [1, 50, 150])
def test_neither_the_limit_nor_row_groups_change_the_result(tmp_path, memory, rows):
    file = write(songs(150), tmp_path / "songs.parquet", rows)
    sampler = MLSMOTE(random_state=1)
    done = resample_file(file, tmp_path / "more.parquet", sampler, memory=memory)
    assert read_multilabel(done.path).same_as(in_memory(read_multilabel(file), sampler))


def test_words_and_labels_of_words_are_coded_as_in_memory(tmp_path):
    rng = np.random.default_rng(0)
    columns = {
        "x": rng.random(90),
        "genre": pa.array([None, "rock", *rng.choice(["jazz", "blues"], 88)]),
        "mood": pa.array(rng.choice(["up", "down"], 90)).dictionary_encode(),
        "sad": pa.array(rng.choice(["yes", "no", "no"], 90)),
        "calm": rng.random(90) < 0.1,
    }
    file = tmp_path / "words.parquet"
    parquet.write_table(pa.table(columns), file, row_group_size=7)
    with open_dataset(file, memory=LIMIT, labels=["sad", "calm"]) as data:
        assert data.same_as(read_multilabel(file, labels=["sad", "calm"]))


def dated_table(n=90):
    """Return a table with a date, times with and without a zone, and a missing one."""
    rng = np.random.default_rng(0)
    stamps = rng.integers(0, 2**50, n).tolist()
    stamps[3] = None
    days = pa.array(rng.integers(0, 20_000, n).astype(np.int32), type=pa.date32())
    return pa.table({
        "day": days,
        "x": rng.random(n),
        "at": pa.array(stamps, type=pa.timestamp("us")),
        "there": pa.array(stamps, type=pa.timestamp("us", tz="Europe/Athens")),
        "a": (rng.random(n) < 0.5).astype(int),
        "b": (rng.random(n) < 0.1).astype(int),
    })  # fmt: skip


@pytest.mark.parametrize("sampler", [MLROS(random_state=0), MLRUS(random_state=0), REMEDIAL()])
def test_dates_are_kept_by_samplers_that_only_copy_rows(tmp_path, sampler):
    table = dated_table()
    parquet.write_table(table, tmp_path / "in.parquet", row_group_size=40)
    done = resample_file(
        tmp_path / "in.parquet", tmp_path / "out.parquet", sampler, memory=LIMIT, labels=["a", "b"]
    )
    written = parquet.read_table(done.path)
    y = np.column_stack([table["a"], table["b"]])
    rows = clone(sampler).fit_resample(np.arange(90)[:, None], y)[0].ravel()
    names = ["day", "x", "at", "there"]
    assert written.column_names == [*names, "a", "b"]
    assert (
        written.select(names)
        .cast(table.select(names).schema)
        .equals(table.select(names).take(rows))
    )
    assert written.schema.field("there").type == table.schema.field("there").type
    with pytest.raises(InputError, match="'day' is of type date32"):
        resample_file(
            tmp_path / "in.parquet", tmp_path / "more.parquet", MLSOL(), labels=["a", "b"]
        )


def test_dates_that_no_float_holds_are_refused(tmp_path):
    stamps = pa.array([2**60 + t for t in range(90)], type=pa.timestamp("ns"))
    table = dated_table().set_column(2, "at", stamps)
    parquet.write_table(table, tmp_path / "in.parquet")
    with pytest.raises(InputError, match=r"'at' \(timestamp\[ns\]\) has longer ones\. Store it"):
        resample_file(tmp_path / "in.parquet", tmp_path / "out.parquet", MLROS(), labels=["a", "b"])


def parts(folder, table, edges):
    """Write some rows of a table to each file of a folder, as Dask names and Spark marks them."""
    folder.mkdir()
    (folder / "_SUCCESS").touch()
    for number, (start, stop) in enumerate(pairwise(edges)):
        parquet.write_table(table[start:stop], folder / f"part.{number}.parquet")
    return folder


def test_listed_labels_and_ignored_columns_are_those_in_memory(tmp_path):
    file = tmp_path / "tags.parquet"
    rng = np.random.default_rng(0)
    words = np.array(["rock", "pop", "jazz", "folk"])
    tags = [";".join(words[rng.random(4) < 0.4]) or None for _ in range(300)]
    days = [[i] for i in range(300)]
    table = pa.table({"x": rng.random(300), "days": days, "z": rng.random(300), "tags": tags})
    parquet.write_table(table, file, row_group_size=50)
    options = {"labels": ["tags"], "label_separator": ";", "ignore": ["days"]}
    with open_dataset(file, memory=LIMIT, **options) as data:
        expected = read_multilabel(file, **options)
        assert (data.label_names, data.feature_names) == (
            ("folk", "jazz", "pop", "rock"),
            ("x", "z"),
        )
        assert data.same_as(expected)
    with pytest.raises(InputError, match="label_separator=';'"):
        open_dataset(file, memory=LIMIT, labels=["tags"], ignore=["days"]).__enter__()


def test_a_folder_of_files_is_read_as_one_table(tmp_path):
    rng = np.random.default_rng(0)
    words = {"genre": rng.choice(["jazz", "blues", "rock"], 90), "calm": rng.random(90) < 0.1}
    table = pa.table({"x": rng.random(90), **words})
    parquet.write_table(table, tmp_path / "whole.parquet")
    folder = parts(tmp_path / "parts", table, [0, 1, *range(7, 70, 7), 90])  # part.10 is the last
    with open_dataset(folder, memory=LIMIT, labels=["calm"]) as data:
        assert data.same_as(read_multilabel(tmp_path / "whole.parquet", labels=["calm"]))
    n_rows = split_file(
        folder, [tmp_path / "a.parquet", tmp_path / "b.parquet"], memory=LIMIT, labels=["calm"]
    )
    assert sum(n_rows) == 90


def test_files_of_a_folder_that_do_not_fit_together_are_named(tmp_path):
    table = pa.table({"x": [0.5, 1.5], "calm": [1, 0]})
    folder = parts(tmp_path / "parts", table, [0, 1, 2])
    other = {
        "integers": table.set_column(0, "x", pa.array([1, 2])),
        "has 'y' where .* has 'x'": table.rename_columns(["y", "calm"]),
        "has no more where .* has 'calm'": table.drop_columns(["calm"]),
        "has 'more' where .* has no more": table.append_column("more", table["x"]),
        r"has 'x' \(string\) where .* has 'x'": table.set_column(0, "x", pa.array(["a", "b"])),
    }
    for found, odd in other.items():
        parquet.write_table(odd, folder / "part.1.parquet")
        if found == "integers":  # are numbers
            with open_dataset(folder, memory=LIMIT, labels=["calm"]) as data:
                np.testing.assert_array_equal(data.values, [[0.5], [1], [2]])
            continue
        match = rf"part\.1\.parquet: .* same columns, as in part\.0\.parquet\. .*{found}"
        with pytest.raises(InputError, match=match), open_dataset(folder, memory=LIMIT, labels=1):
            pass


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_numpy_files_give_the_rows_of_their_array(tmp_path, dtype):
    rng = np.random.default_rng(0)
    X, y = (9 * rng.random((300, 8))).astype(dtype), rng.random((300, 3)) < 0.2
    np.save(tmp_path / "X.npy", X)
    sampler = MLSOL(random_state=0)
    expected = sampler.fit_resample(X, y)
    out = tmp_path / "more.npy"
    for source in (tmp_path / "X.npy", X, np.load(tmp_path / "X.npy", mmap_mode="r")):
        done = resample_file(source, out, sampler, y=y, memory=LIMIT, overwrite=True)
        written = np.load(done.path)
        assert written.dtype == dtype
        np.testing.assert_array_equal(written, expected[0])
        np.testing.assert_array_equal(done.y.toarray(), expected[1])


def test_rows_changed_in_private_pages_of_a_file_stay_changed(tmp_path):
    np.save(tmp_path / "X.npy", np.zeros((300, 8)))
    X, y = (
        np.load(tmp_path / "X.npy", mmap_mode="c"),
        np.random.default_rng(0).random((300, 3)) < 0.2,
    )
    X[:] = np.arange(300.0)[:, np.newaxis]
    done = resample_file(X, tmp_path / "few.npy", MLRUS(random_state=0), y=y, memory=LIMIT)
    expected = MLRUS(random_state=0).fit_resample(np.array(X), y)[0]
    np.testing.assert_array_equal(np.load(done.path), expected)
    assert X[299, 7] == 299


def test_an_array_of_objects_is_refused(tmp_path):
    X, y = np.array([["a"], ["b"]], dtype=object), [[1, 0], [0, 1]]
    with pytest.raises(InputError, match=r"must be numbers\. Got dtype object"):
        resample_file(X, tmp_path / "out.npy", MLRUS(random_state=0), y=y, memory="1MB")


class Slices:
    """An array that gives slices of rows alone, and counts how many rows it gave at once."""

    def __init__(self, X):
        self.X, self.shape, self.dtype, self.most = X, X.shape, X.dtype, 0

    def __getitem__(self, rows):
        assert isinstance(rows, slice)
        block = self.X[rows]
        self.most = max(self.most, len(block))
        return block

    def __repr__(self):
        return "Slices"


def test_an_array_of_slices_is_never_read_at_once(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.random((300, 8)), rng.random((300, 3)) < 0.2
    source, sampler = Slices(X), MLRUS(random_state=0)
    done = resample_file(source, tmp_path / "few.npy", sampler, y=y, memory=LIMIT)
    np.testing.assert_array_equal(np.load(done.path), sampler.fit_resample(X, y)[0])
    assert source.most * X[0].nbytes <= 64_000 / 32


@pytest.mark.slow
@pytest.mark.parametrize("sampler", [MLROS(random_state=0), MLSOL(random_state=0)], ids=repr)
def test_what_numpy_holds_stays_below_a_limit_that_the_rows_exceed(tmp_path, sampler):
    rng = np.random.default_rng(0)
    X, Y = rng.random((3000, 500)), sp.csr_array(rng.random((3000, 5)) < 0.2)
    np.save(tmp_path / "X.npy", X)
    size = X.nbytes
    del X
    job = partial(resample_file, tmp_path / "X.npy", sampler=sampler, y=Y, memory=size // 2)
    job(tmp_path / "first.npy")  # compiles, which takes memory of its own
    tracemalloc.start()
    job(tmp_path / "more.npy")
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert held < size // 2


def test_arrays_of_zarr_are_read_in_blocks(tmp_path):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    rng = np.random.default_rng(0)
    X, y = rng.random((300, 8)), rng.random((300, 3)) < 0.2
    path, chunks = str(tmp_path / "X.zarr"), (50, 8)
    array = zarr.open_array(path, mode="w", shape=X.shape, chunks=chunks, dtype="f8")
    array[:] = X
    sampler = MLSOL(random_state=0)
    done = resample_file(array, tmp_path / "more.npy", sampler, y=y, memory=LIMIT)
    np.testing.assert_array_equal(np.load(done.path), sampler.fit_resample(X, y)[0])


def test_a_table_opened_on_disk_is_the_table(tmp_path):
    file = write(songs(nominal=True), tmp_path / "songs.parquet")
    with open_dataset(file, memory=LIMIT) as data:
        assert data.same_as(read_multilabel(file))
        assert len(list(tmp_path.iterdir())) == 3
    assert len(list(tmp_path.iterdir())) == 2


def test_parts_of_a_split_are_those_of_the_split_in_memory(tmp_path):
    dataset = songs()
    file = write(dataset, tmp_path / "songs.parquet")
    files = [tmp_path / f"{name}.parquet" for name in "abc"]
    sizes = (0.5, 0.3, 0.2)
    n_rows = split_file(file, files, sizes=sizes, random_state=3, memory=LIMIT)
    parts = multilabel_train_test_split(
        np.arange(400), dataset.Y, sizes=sizes, order=1, random_state=3
    )
    for path, rows, n in zip(files, parts, n_rows):
        assert read_multilabel(path).same_as(read_multilabel(file).take(rows))
        assert len(rows) == n


# --- a run that was ended ------------------------------------------------------------------------

# Ends itself without a word at the given call of the function that makes files whole. What every
# run needs is imported once, and each is a process of its own. Prints whether there is a result.
KILLED = textwrap.dedent("""
    import os, signal, sys
    from labelance._utils import _checksums, _files
    from contextlib import contextmanager

    left, kept = 0, _files.replace_when_done

    @contextmanager
    def replace_when_done(path):
        global left
        left -= 1
        with kept(path) as temporary:
            yield temporary
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    _files.replace_when_done = _checksums.replace_when_done = replace_when_done
    from labelance.outofcore import resample_file
    from labelance.sampling import MLSOL

    file, out, *lasts = sys.argv[1:]
    for left in map(int, lasts):
        run = os.fork()
        if run == 0:
            resample_file(file, out, MLSOL(random_state=5), memory="64kB")
            os._exit(0)
        _, status = os.waitpid(run, 0)
        print(os.waitstatus_to_exitcode(status), os.path.exists(out))
""")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="nobody is killed so elsewhere")
def test_a_killed_run_goes_on_and_writes_the_same_bytes(tmp_path):
    """Every run is killed one file later than the one before, until one gets through."""
    file = write(songs(), tmp_path / "songs.parquet", rows=200)
    at_once, out = tmp_path / "at_once.parquet", tmp_path / "more.parquet"
    resample_file(file, at_once, MLSOL(random_state=5), memory=LIMIT)
    command = [sys.executable, "-c", KILLED, file, out, "3", "5", "9", "10000"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    killed = f"{-signal.SIGKILL} False"
    assert done.stdout.splitlines() == [killed, killed, killed, "0 True"]
    assert out.read_bytes() == at_once.read_bytes()
    assert not (tmp_path / "more.parquet.partial").exists()


def begun(tmp_path, monkeypatch, sampler, *, steps):
    """Begin a run that is interrupted while its blocks are written; return its folder."""
    file, out = write(songs(), tmp_path / "songs.parquet"), tmp_path / "more.parquet"
    blocks = iter(range(steps))

    def block(self, start, stop):
        if next(blocks, None) is None:
            raise KeyboardInterrupt
        return original(self, start, stop)

    original = BlockwiseDraw.block
    with monkeypatch.context() as patch:
        patch.setattr(BlockwiseDraw, "block", block)
        with pytest.raises(KeyboardInterrupt):
            resample_file(file, out, sampler, memory=LIMIT)
    return file, out, tmp_path / "more.parquet.partial"


def test_files_of_others_in_a_folder_of_that_name_stay(tmp_path, monkeypatch):
    file, out, folder = begun(tmp_path, monkeypatch, MLSMOTE(random_state=0), steps=3)
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match=r"holds other files, such as 'thesis.txt'"):
        resample_file(file, out, MLSMOTE(random_state=0), memory=LIMIT)
    assert [path.name for path in folder.iterdir()] == ["thesis.txt"]


def test_blocks_that_were_written_are_not_made_again(tmp_path, monkeypatch):
    sampler = MLSMOTE(random_state=0)
    file, out, folder = begun(tmp_path, monkeypatch, sampler, steps=3)
    assert len(list(folder.glob("rows-*.arrow"))) == 3
    expected, made = in_memory(read_multilabel(file), sampler), []

    original = BlockwiseDraw.block
    monkeypatch.setattr(
        BlockwiseDraw, "block", lambda self, *edges: made.append(edges) or original(self, *edges)
    )
    monkeypatch.setattr("labelance.sampling._mlsmote.search_neighbors", refuse_to_search)
    done = resample_file(file, out, sampler, memory=LIMIT)
    assert len(made) == parquet.ParquetFile(done.path).num_row_groups - 3
    assert read_multilabel(done.path).same_as(expected)


def refuse_to_search(*arguments, **options):
    raise AssertionError("neighbors that were found are searched again")


def test_a_run_that_goes_on_draws_what_it_would_have_drawn(tmp_path, monkeypatch):
    file, out, folder = begun(tmp_path, monkeypatch, MLROS(), steps=2)
    seed = json.loads((folder / "run.json").read_text())["decided"]["random_state"]
    done = resample_file(file, out, MLROS(), memory="32kB")
    expected = in_memory(read_multilabel(file), MLROS(random_state=seed))
    assert read_multilabel(done.path).same_as(expected)


@pytest.mark.parametrize("change", ["data", "sampler", "options"])
def test_a_run_does_not_go_on_with_something_else(tmp_path, monkeypatch, change):
    sampler, options = MLROS(random_state=0), {}
    file, out, folder = begun(tmp_path, monkeypatch, sampler, steps=2)
    if change == "data":  # of the same size and time, which no file system tells apart
        replace_content(file)
    elif change == "sampler":
        sampler = MLROS(random_state=1)
    else:
        options = {"missing_labels": "negative"}
    match = rf"interrupted run in .*partial has other data or options\. Different: {change} "
    with pytest.raises(InputError, match=match):
        resample_file(file, out, sampler, memory=LIMIT, **options)
    assert folder.exists()
    done = resample_file(file, out, sampler, memory=LIMIT, overwrite=True, **options)
    assert read_multilabel(done.path).same_as(in_memory(read_multilabel(file), sampler))


def replace_content(file):
    """Write other features into a Parquet file of the same size and time."""
    before, table = file.stat(), parquet.read_table(file)
    other = table.set_column(0, table.column_names[0], table[0].combine_chunks()[::-1])
    parquet.write_table(other, file, row_group_size=64)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size


def test_an_array_of_other_rows_is_other_data(tmp_path, monkeypatch):
    X, y = np.zeros((2000, 4)), np.eye(3, dtype=int)[np.arange(2000) % 3]
    y[:9] = 1
    call = partial(resample_file, output=tmp_path / "more.npy", sampler=MLROS(random_state=0), y=y)
    with monkeypatch.context() as patch:
        patch.setattr(BlockwiseDraw, "block", interrupt)
        with pytest.raises(KeyboardInterrupt):
            call(X)
    X[1000] = 1  # printed arrays leave this row out
    with pytest.raises(InputError, match="data were changed after it began"):
        call(X)


def interrupt(*arguments, **options):
    raise KeyboardInterrupt


def test_a_touched_file_is_the_same_data(tmp_path, monkeypatch):
    file, out, _ = begun(tmp_path, monkeypatch, MLROS(random_state=0), steps=2)
    os.utime(file, (1, 1))
    monkeypatch.setattr(
        "labelance.datasets.formats._read_write.DatasetBlocks.read_group", refuse_to_read
    )
    assert resample_file(file, out, MLROS(random_state=0), memory=LIMIT).rows_after


DAMAGE = {
    "cut": lambda file: os.truncate(file, file.stat().st_size // 2),
    "changed": lambda file: file.write_bytes(flip(file.read_bytes())),
    "junk": lambda file: file.write_bytes(b"\xff 7 junk\n" * 40),
    "deleted": lambda file: file.unlink(),
}


def flip(content):
    """Change one bit in the middle."""
    middle = len(content) // 2
    return (
        content[:middle]
        + bytes(byte ^ 1 for byte in content[middle : middle + 1])
        + (content[middle + 1 :])
    )


def interrupted_runs(tmp_path, patch):
    """Yield calls that were interrupted in their second block: of a table, and of an array."""
    file = write(songs(80), tmp_path / "songs.parquet", rows=40)
    rng = np.random.default_rng(0)
    source, y = Slices(rng.random((80, 6))), (rng.random((80, 2)) < 0.2).astype(int)
    sampler = MLSMOTE(random_state=0)
    original = BlockwiseDraw.block
    for kind, call in {
        "parquet": partial(resample_file, file, sampler=sampler, memory="30kB"),
        "npy": partial(resample_file, source, sampler=sampler, y=y, memory="30kB"),
    }.items():
        expected = call(output=tmp_path / f"expected.{kind}").path.read_bytes()
        steps = iter([original, original])
        patch.setattr(BlockwiseDraw, "block", lambda *a, s=steps: next(s, interrupt)(*a))
        with pytest.raises(KeyboardInterrupt):
            call(output=tmp_path / f"more.{kind}")
        patch.setattr(BlockwiseDraw, "block", original)
        yield partial(call, output=tmp_path / f"more.{kind}"), expected


@pytest.mark.slow
def test_whatever_is_damaged_a_run_that_goes_on_writes_the_same(tmp_path, monkeypatch, capsys):
    n_cases = 0
    for call, expected in interrupted_runs(tmp_path, monkeypatch):
        output = call.keywords["output"]
        folder, whole = output.with_name(f"{output.name}.partial"), tmp_path / "whole"
        shutil.copytree(folder, whole)
        capsys.readouterr()
        for number, file in enumerate(sorted(whole.iterdir())):
            for turn in range(1 if file.suffix == ".sum" else 2):  # all of them take 128 cases
                name, damage = list(DAMAGE.items())[(number + turn) % len(DAMAGE)]
                shutil.rmtree(folder, ignore_errors=True)
                shutil.copytree(whole, folder)
                damage(folder / file.name)
                assert call().path.read_bytes() == expected, (file.name, name)
                output.unlink()
                said = capsys.readouterr().err
                assert (file.name == "lock") != ("starts again" in said), (file.name, name, said)
                n_cases += 1
        shutil.rmtree(whole)
    assert n_cases > 30


def test_blocks_of_another_split_are_not_taken(tmp_path, monkeypatch):
    file = write(songs(), tmp_path / "songs.parquet")
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    call = partial(split_file, file, files, memory=LIMIT, overwrite=True)
    joins = iter([list])  # blocks of the first part; the second part is interrupted
    with monkeypatch.context() as patch:
        patch.setattr(
            "labelance.outofcore._output.track", lambda parts, *a: next(joins, interrupt)(parts)
        )
        with pytest.raises(KeyboardInterrupt):
            call(random_state=1)
    assert (tmp_path / "b.parquet.partial").exists()
    call(random_state=2)
    expected = [path.read_bytes() for path in files]
    for path in files:
        path.unlink()
    call(random_state=2)
    assert [path.read_bytes() for path in files] == expected


def test_one_process_at_a_time_works_on_a_result(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl", reason="files are locked on POSIX systems alone")
    file, out, folder = begun(tmp_path, monkeypatch, MLROS(random_state=0), steps=2)
    before = sorted(folder.iterdir())
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for seed in (0, 1):  # the same run, and another that is to begin anew
            with pytest.raises(InputError, match="is in use"):
                resample_file(file, out, MLROS(random_state=seed), memory=LIMIT, overwrite=True)
    assert sorted(folder.iterdir()) == before


def test_a_run_that_a_full_disk_ended_goes_on_when_there_is_room(tmp_path, monkeypatch):
    file, out = write(songs(), tmp_path / "songs.parquet"), tmp_path / "more.parquet"
    sampler = MLROS(random_state=0)

    def fail(self, start, stop):
        raise OSError("1500 requested and 0 written")  # as NumPy says it

    with monkeypatch.context() as patch:
        patch.setattr(BlockwiseDraw, "block", fail)
        with pytest.raises(
            FileWriteError, match=r"1500 requested .* free\. Free disk space .* resumes"
        ):
            resample_file(file, out, sampler, memory=LIMIT)
    monkeypatch.setattr(
        "labelance.datasets.formats._read_write.DatasetBlocks.read_group", refuse_to_read
    )
    done = resample_file(file, out, sampler, memory=LIMIT)
    assert read_multilabel(done.path).n_samples == done.rows_after


def refuse_to_read(*arguments, **options):
    raise AssertionError("rows that were read are read again")


def test_a_disk_without_room_for_the_features_is_refused_before_they_are_read(
    tmp_path, monkeypatch
):
    file = write(songs(), tmp_path / "songs.parquet")
    room = shutil.disk_usage(tmp_path)._replace(free=400 * 6 * 8 - 1)
    monkeypatch.setattr("shutil.disk_usage", lambda path: room)
    monkeypatch.setattr(
        "labelance.datasets.formats._read_write.DatasetBlocks.read_group", refuse_to_read
    )
    with pytest.raises(FileWriteError, match=r"need 19\.2 KB more, and 19\.2 KB are free"):
        resample_file(file, tmp_path / "more.parquet", MLROS(), memory=LIMIT)


# --- errors, in three parts, before any work -----------------------------------------------------


def refused(call, *parts):
    with pytest.raises(LabelanceError) as caught:
        call()
    for told, part in zip((caught.value.problem, caught.value.found, caught.value.cure), parts):
        assert part in told


def test_what_cannot_be_done_is_said_and_leaves_nothing(tmp_path):
    file = write(songs(), tmp_path / "songs.parquet")
    out, sampler = tmp_path / "more.parquet", MLROS(random_state=0)
    before = sorted(tmp_path.iterdir())

    def call(source=file, output=out, kind=sampler, **options):
        return lambda: resample_file(source, output, kind, **{"memory": LIMIT, **options})

    refused(call(memory="2GBB"), "memory must be a number of bytes", "'2GBB'", "Try memory=")
    refused(call(memory="1kB"), "memory=… must hold the labels", "400 rows of", "Raise memory")
    refused(call(output=file), "already exists", "Existing files are kept", "overwrite=True")
    refused(call(output=tmp_path / "o.csv"), "ends in .parquet", "Got 'o.csv'", "convert")
    refused(call(source=tmp_path / "no.parquet"), "There is no file", "must be a file", "Check the")
    refused(call(source=[[1.0]]), "needs its labels as y", "y is None", "Pass y")
    refused(call(y=[[1]]), "holds its own labels", "Got y", "Omit y")
    array = {"y": np.ones((1, 1)), "output": tmp_path / "X.npy"}
    refused(call(source=[[1.0]], **array), "rows to slice", "Got a list", "Parquet or NumPy")
    refused(call(source=np.ones((1, 1)), labels=2, **array), "no options", "Got labels", "Remove")
    whole = SamplerSequence([sampler])
    refused(
        call(kind=whole), "A blockwise draw needs", "returns whole tables", "one after the other"
    )
    refused(call(labels=["glad"]), "labels", "'glad'", "Correct")
    refused(call(missing_labels="drop"), "keep all their rows", "'drop'", "negative")
    generator = MLROS(random_state=np.random.default_rng(0))
    refused(call(kind=generator), "can resume", "is a Generator", "Pass an int")
    unknown = MLROS(sampling_strategy=["glad"])
    refused(call(kind=unknown), "name labels", "no label 'glad'", "Correct the name")
    assert sorted(tmp_path.iterdir()) == before


class Unread:
    """A table of a million rows that nobody may read."""

    shape, dtype = (1_000_000, 4), np.dtype(np.float64)

    def __getitem__(self, rows):
        raise AssertionError("rows were read")


def test_a_limit_too_small_for_a_neighbor_search_is_refused_before_rows_are_read(tmp_path):
    y = sp.csr_array(([1], ([0], [0])), shape=(1_000_000, 1), dtype=np.int8)

    def call(sampler, memory):
        return resample_file(Unread(), tmp_path / "more.npy", sampler, y=y, memory=memory)

    for sampler in (MLSOL(algorithm="approx"), MLSOL()):
        refused(
            partial(call, sampler, "100MB"),
            "a neighbor search keeps",
            "1,000,000 rows of 32 B need at least 160 MB",
            "Raise memory",
        )
        assert not list(tmp_path.iterdir())
        with pytest.raises(AssertionError, match="rows were read"):
            call(sampler, "200MB")
        assert not list(tmp_path.iterdir())
    with pytest.raises(AssertionError, match="rows were read"):
        call(MLROS(), "100MB")


def test_files_of_other_formats_and_sparse_ones_are_refused(tmp_path):
    data = songs(20)
    write_multilabel(data, tmp_path / "songs.csv")
    sparse = MultiLabelDataset(sp.csr_array(data.values), data.Y)
    write_multilabel(sparse, tmp_path / "sparse.parquet")
    for name, found in (("songs.csv", "another format"), ("sparse.parquet", "sparse features")):

        def call(path=tmp_path / name):
            with open_dataset(path, memory=LIMIT):
                pass

        refused(call, "Data larger than memory", found, "")


def test_the_way_from_csv_to_parquet_that_an_error_names_is_a_way(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow.dataset", reason="this pyarrow has no datasets")
    monkeypatch.chdir(tmp_path)
    write_multilabel(songs(90), tmp_path / "songs.csv")
    out, sampler = tmp_path / "more.parquet", MLSMOTE(random_state=0)
    with pytest.raises(InputError, match="has another format") as caught:
        resample_file("songs.csv", out, sampler, labels=-3)
    code = caught.value.cure.partition("as ds: ")[2]
    exec(code, {"ds": pytest.importorskip("pyarrow.dataset")})
    done = resample_file("songs", out, sampler, labels=-3, memory=LIMIT)
    expected = in_memory(read_multilabel("songs.csv", labels=-3), sampler)
    assert read_multilabel(done.path).same_as(expected)


def test_labels_have_to_fit_into_memory(tmp_path):
    X, y = np.zeros((10_000, 2)), np.ones((10_000, 1), dtype=int)
    with pytest.raises(TooManyRowsError, match="10,000 rows of 16 B need at least 641 KB"):
        resample_file(X, tmp_path / "X.npy", MLROS(), y=y, memory="600kB")


def test_one_process_at_a_time_works_on_an_output(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl", reason="nobody locks so elsewhere")
    file, out, folder = begun(tmp_path, monkeypatch, MLROS(random_state=0), steps=2)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(InputError, match=r"is in use\. Another process"):
            resample_file(file, out, MLROS(random_state=0), memory=LIMIT)
    assert folder.exists()
    assert Path(resample_file(file, out, MLROS(random_state=0), memory=LIMIT).path).exists()


@pytest.mark.parametrize("share", [0, 0.001, 0.5])
def test_a_numpy_file_that_was_cut_is_refused(tmp_path, share):
    X, y = np.zeros((500, 4)), np.ones((500, 1), dtype=int)
    np.save(tmp_path / "X.npy", X)
    os.truncate(tmp_path / "X.npy", int(share * (tmp_path / "X.npy").stat().st_size))
    with pytest.raises(InputError, match=r"X\.npy is not a complete NumPy file"):
        resample_file(tmp_path / "X.npy", tmp_path / "more.npy", MLROS(random_state=0), y=y)
    assert [path.name for path in tmp_path.iterdir()] == ["X.npy"]


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    file = write(songs(), tmp_path / "songs.parquet")
    (tmp_path / "taken").touch()
    with pytest.raises(
        FileWriteError, match=r"cannot be created\. .* Choose an output in a writable folder"
    ):
        resample_file(file, tmp_path / "taken" / "more.parquet", MLROS(random_state=0))


def test_a_list_of_files_is_to_be_a_folder(tmp_path):
    files = [write(songs(), tmp_path / f"{name}.parquet") for name in "ab"]
    with pytest.raises(InputError, match=r"Got a list of 2\. Pass the folder"):
        resample_file(files, tmp_path / "more.parquet", MLROS(random_state=0))
