"""Arrays in files are arrays: whatever is computed with them is the same, bit for bit."""

import os
import sys
from functools import partial
from threading import Event, Thread

import numpy as np
import pytest
import scipy.sparse as sp

from labelance._arrays._storage import (
    Storage,
    copy_rows,
    find_map,
    find_stored_rows,
    gather_rows,
    new_zeros,
    open_storage,
    row_blocks,
    storage_of,
)
from labelance.exceptions import FileWriteError, TooManyRowsError
from labelance.neighbors import Neighborhood, find_neighbors
from labelance.sampling import MLSOL, all_samplers
from labelance.testing import sampler_data

LIMIT = 1 << 16
SAMPLERS = {name: kind for name, kind in all_samplers().items() if name not in ("FunctionSampler",)}


def is_mapped(array):
    return find_map(array) is not None


def store(X, storage):
    """Return a copy of X in a storage."""
    out = storage.zeros(X.shape, X.dtype)
    out[:] = X
    return out


def test_large_arrays_are_mapped_and_small_ones_are_not(tmp_path):
    with open_storage(tmp_path, LIMIT) as here:
        assert is_mapped(new_zeros((here.block_bytes + 1,), np.int8, here))
        assert not is_mapped(new_zeros((here.block_bytes,), np.int8, here))
    assert not is_mapped(new_zeros((LIMIT,), np.int8, None))


def test_what_is_made_of_an_array_is_in_its_storage_while_that_is_open(tmp_path):
    X = np.random.default_rng(0).random((400, 30))
    with open_storage(tmp_path, LIMIT) as here:
        stored = store(X, here)
        made = [
            stored,
            stored[5:, ::2],
            gather_rows(stored, np.arange(300)),
            copy_rows(stored, "f"),
        ]
        assert [storage_of(array) for array in made] == [here] * 4
        assert storage_of(gather_rows(X, np.arange(300))) is None
    assert storage_of(stored) is None
    assert not is_mapped(gather_rows(stored, np.arange(300)))


def test_files_have_no_names(tmp_path):
    with open_storage(tmp_path, LIMIT) as here:
        array = new_zeros((LIMIT,), np.int8, here)
        array[:] = 3
        assert not list(tmp_path.iterdir())
    assert (array == 3).all()


@pytest.mark.parametrize("rows", [[], [5, 5, 0], np.arange(399, -1, -1)])
def test_rows_that_are_gathered_are_those_of_the_array(tmp_path, rows):
    X = np.random.default_rng(0).random((400, 30))
    with open_storage(tmp_path, LIMIT) as here:
        found = gather_rows(store(X, here), rows)
        np.testing.assert_array_equal(found, X[np.asarray(rows, dtype=int)])


def test_a_copy_is_contiguous_and_of_the_type_asked_for(tmp_path):
    X = np.arange(6000).reshape(300, 20)[:, ::-1]
    with open_storage(tmp_path, LIMIT) as here:
        copied = copy_rows(store(X, here), np.float32)
    assert copied.flags.c_contiguous
    assert copied.dtype == np.float32
    np.testing.assert_array_equal(copied, X)


@pytest.mark.skipif(sys.platform != "linux", reason="pages are let go on Linux alone")
def test_what_is_let_go_stays_in_the_file(tmp_path):
    here = Storage(tmp_path, LIMIT)
    array = here.zeros((1000, 100), np.float64)
    array[:] = np.arange(100)
    here.release()
    np.testing.assert_array_equal(array, np.tile(np.arange(100.0), (1000, 1)))


@pytest.mark.skipif(sys.platform != "linux", reason="pages are let go on Linux alone")
def test_pages_are_let_go_near_the_limit_and_not_far_from_it(tmp_path):
    class Counting(Storage):
        released = 0

        def release(self):
            self.released += 1
            stop.set()

    near, far = Counting(tmp_path, LIMIT), Counting(tmp_path, 1 << 60)
    for here, expected in ((near, 1), (far, 0)):
        stop = Event()

        def look(here=here, stop=stop):
            if here is far:
                stop.set()
            return 1 << 40

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("labelance._arrays._storage._resident", look)
            here.look_after(stop)
        assert here.released == expected


def test_a_disk_without_space_is_an_error_before_any_work(tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full, raising=False)
    with pytest.raises(
        FileWriteError, match=r"not enough disk space in .*No space left.*Free disk space"
    ):
        Storage(tmp_path, LIMIT).zeros((1000,), float)


def test_new_rows_have_to_fit_on_the_disk_and_not_into_memory(tmp_path, monkeypatch):
    X, Y = sampler_data()
    monkeypatch.setattr("labelance._arrays._storage.available_memory", lambda: 0)
    with open_storage(tmp_path, 1 << 24) as here:
        X = store(X, here)
        MLSOL(sampling_ratio=2.0).fit_resample(X, Y)
        with pytest.raises(TooManyRowsError, match="than fit on disk"):
            MLSOL(sampling_ratio=1e12).fit_resample(X, Y)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", SAMPLERS)
def test_every_sampler_gives_the_same_rows_on_disk(tmp_path, name, dtype):
    X, Y = sampler_data()
    X = X.astype(dtype)
    np.save(tmp_path / "X.npy", X)
    sampler = SAMPLERS[name]()
    if "random_state" in sampler.get_params():
        sampler.set_params(random_state=0)
    in_memory = sampler.fit_resample(X, sp.csr_array(Y))
    with open_storage(tmp_path, 1 << 12) as here:
        on_disk = sampler.fit_resample(here.load(tmp_path / "X.npy", "c"), sp.csr_array(Y))
        assert on_disk[0].dtype == dtype
        np.testing.assert_array_equal(on_disk[0], in_memory[0])
        np.testing.assert_array_equal(on_disk[1].toarray(), in_memory[1].toarray())


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"scale": "range"}, {"metric": "cosine"}], ids=str)
@pytest.mark.parametrize("categorical", [False, True])
def test_neighbors_are_the_same_on_disk(tmp_path, options, categorical):
    rng = np.random.default_rng(0)
    X = rng.random((700, 12))
    X[:, :2] = rng.integers(5, size=(700, 2))
    if categorical and "metric" not in options:
        options = {**options, "categorical_features": [0, 1]}
    near = find_neighbors(X, 4, **options)
    with open_storage(tmp_path, LIMIT) as here:
        same = find_neighbors(store(X, here), 4, **options)
    np.testing.assert_array_equal(same.indices, near.indices)
    np.testing.assert_array_equal(same.distances, near.distances)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1 << 14, 1 << 18, 1 << 22], ids="{} bytes".format)
@pytest.mark.parametrize("method", ["exact", "approx"])
def test_cells_on_disk_hold_the_same_neighbors(tmp_path, monkeypatch, method, limit):
    monkeypatch.setattr("labelance.neighbors._partition._MANY_ROWS", 300)
    monkeypatch.setattr("labelance.neighbors._approx._CELLS", 2)  # so that rounds follow
    rng = np.random.default_rng(0)
    # The exact search needs tight clusters to divide; in these the other finds all at once.
    spread = 0.1 if method == "exact" else 0.5
    X = rng.normal(size=(30, 16))[rng.integers(30, size=1000)]
    X += spread * rng.normal(size=X.shape)
    near = find_neighbors(X, 4, algorithm=method)
    with open_storage(tmp_path, limit) as here:
        same = find_neighbors(store(X, here), 4, algorithm=method)
    for array in (same.indices, same.distances):
        assert is_mapped(array) == (array.nbytes > here.block_bytes)
    assert near.recall_ is None if method == "exact" else 0 < near.recall_ < 1
    assert near.recall_ == same.recall_
    np.testing.assert_array_equal(same.indices, near.indices)
    np.testing.assert_array_equal(same.distances, near.distances)


@pytest.mark.skipif(sys.platform != "linux", reason="pages are let go on Linux alone")
def test_candidates_anywhere_are_measured_in_steps_that_map_no_more_than_a_block(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("labelance.neighbors._partition._MANY_ROWS", 1000)
    gathered = []

    def gather(X, rows):
        gathered.append(len(rows) * X.strides[0])
        return X[rows]

    monkeypatch.setattr("labelance.neighbors._search.gather_rows", gather)
    X = np.random.default_rng(0).normal(size=(2000, 16))
    with open_storage(tmp_path, 1 << 20) as here:
        find_neighbors(store(X, here), 4, algorithm="approx", n_jobs=2)
    assert sum(gathered) > X.nbytes
    assert max(gathered) <= 2 * here.block_bytes


def test_the_middle_of_the_rows_is_found_without_mapping_them_all(tmp_path, monkeypatch):
    gathered = []

    def gather(X, rows):
        gathered.append(rows)
        return gather_rows(X, rows)

    monkeypatch.setattr("labelance.neighbors._embedding.gather_rows", gather)
    X = np.random.default_rng(0).normal(size=(5000, 8))
    with open_storage(tmp_path, LIMIT) as here:
        find_neighbors(store(X, here), 3, queries=X[:50])
    (rows,) = gathered
    np.testing.assert_array_equal(rows, np.arange(0, 5000, 4))


def test_a_neighborhood_of_mapped_arrays_takes_them_as_they_are(tmp_path):
    around = find_neighbors(np.random.default_rng(0).random((50, 3)), 2)
    np.save(tmp_path / "indices.npy", around.indices)
    mapped = np.load(tmp_path / "indices.npy", mmap_mode="r")
    same = Neighborhood(mapped, around.distances)
    assert np.shares_memory(same.indices, mapped)
    assert same.distances is around.distances


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="pages are let go on Linux alone")


def mapped_bytes(array):
    """Return how many bytes of an array in a file the process has mapped, by what Linux says."""
    mapped, inside, found = find_map(array), False, 0
    start = np.frombuffer(mapped, np.uint8).ctypes.data
    with open("/proc/self/smaps", encoding="ascii") as file:
        for name, *words in map(str.split, file):
            if not name.endswith(":"):  # the addresses of the next part of memory
                inside = start <= int(name.partition("-")[0], 16) < start + len(mapped)
            elif inside and name == "Rss:":
                found += int(words[0]) << 10
    return found


@LINUX
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8])
def test_rows_of_a_file_are_read_without_being_mapped(tmp_path, dtype):
    rng = np.random.default_rng(0)
    with open_storage(tmp_path, 1 << 20) as here:
        X = here.zeros((4000, 500), dtype)
        X[:] = rng.integers(100, size=X.shape)
        rows = np.concatenate([rng.permutation(4000)[:300], np.arange(50), [7, 7]])
        expected = X[rows]
        here.release()
        assert mapped_bytes(X) == 0
        np.testing.assert_array_equal(gather_rows(X, rows), expected)
        np.testing.assert_array_equal(gather_rows(X[1000:], rows % 3000), X[1000:][rows % 3000])
        here.release()
        gather_rows(X, rows)
        assert mapped_bytes(X) == 0
        np.testing.assert_array_equal(gather_rows(X[:, 3:9], rows), expected[:, 3:9])
        np.testing.assert_array_equal(gather_rows(X[::-2], [0, 5]), X[::-2][[0, 5]])
        np.testing.assert_array_equal(gather_rows(X.T, [0, 5]), X.T[[0, 5]])
        np.testing.assert_array_equal(gather_rows(X[:, 2], rows), X[rows, 2])


@pytest.mark.parametrize("mode", ["r", "c"])
def test_rows_of_a_numpy_file_are_read_from_it(tmp_path, mode):
    X = np.random.default_rng(0).random((3000, 40))
    np.save(tmp_path / "X.npy", X)
    with open_storage(tmp_path, 1 << 20) as here:
        mapped = here.load(tmp_path / "X.npy", mode)
        assert (find_stored_rows(mapped) is not None) == (sys.platform == "linux")
        assert find_stored_rows(X) is None
        rows = np.random.default_rng(1).permutation(3000)
        np.testing.assert_array_equal(gather_rows(mapped, rows), X[rows])


@LINUX
def test_a_file_that_ends_early_is_an_error_and_no_signal(tmp_path):
    X = np.zeros((3000, 40))
    X.tofile(tmp_path / "X.bin")
    with open_storage(tmp_path, 1 << 20) as here:
        mapped = here.open(tmp_path / "X.bin", X.shape, X.dtype)
        os.truncate(tmp_path / "X.bin", X.nbytes // 2)
        np.testing.assert_array_equal(gather_rows(mapped, [0, 700]), X[[0, 700]])
        with pytest.raises(OSError, match="cannot be read"):
            gather_rows(mapped, [0, 2999])


@LINUX
def test_files_are_closed_with_their_arrays(tmp_path):
    def n_open():
        return len(os.listdir("/proc/self/fd"))

    with open_storage(tmp_path, LIMIT) as here:
        before = n_open()
        array = here.zeros((1000, 100), np.float64)
        view = array[10:]
        del array
        assert n_open() > before
        del view
        assert n_open() == before


@LINUX
def test_rows_that_somebody_else_has_mapped_are_taken_a_few_at_a_time(tmp_path, monkeypatch):
    steps, X = [], np.random.default_rng(0).random((200, 10_000))
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="c")
    monkeypatch.setattr(Storage, "relieve", lambda self: steps.append(self))
    rows = np.random.default_rng(0).permutation(len(X))
    with open_storage(tmp_path, 1 << 28) as here:
        here.adopt(mapped)
        np.testing.assert_array_equal(gather_rows(mapped, rows), X[rows])
        anywhere = len(steps)
        for _ in row_blocks(mapped):
            pass
    assert anywhere >= len(X) // (here.block_bytes // (1 << 21))
    assert (len(steps) - anywhere) * here.block_bytes >= X.nbytes


@LINUX
def test_pages_are_let_go_while_threads_map_more(tmp_path, request):
    request.addfinalizer(partial(sys.setswitchinterval, sys.getswitchinterval()))
    sys.setswitchinterval(1e-6)  # so that threads meet
    here, failed = Storage(tmp_path, LIMIT), []
    kept = [here.zeros((5000,), np.int8) for _ in range(100)]

    def work(task):
        try:
            for _ in range(200):
                task()
        except RuntimeError as error:
            failed.append(error)

    tasks = [here.release, *[lambda: kept.append(here.zeros((5000,), np.int8))] * 3]
    threads = [Thread(target=work, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


@LINUX
def test_what_stays_mapped_is_not_let_go_again_and_again(tmp_path, monkeypatch):
    here, released, held = Storage(tmp_path, LIMIT), [], [1 << 40]
    monkeypatch.setattr(here, "release", lambda: released.append(here))
    monkeypatch.setattr("labelance._arrays._storage._resident", lambda: held[0])
    here.relieve()
    here.relieve()  # libraries and arrays, which stay
    assert len(released) == 1
    held[0] += 2 * here.block_bytes
    here.relieve()
    assert len(released) == 2
    held[0] -= here.memory
    here.relieve()
    held[0] += 2 * here.block_bytes
    here.relieve()
    assert len(released) == 3
