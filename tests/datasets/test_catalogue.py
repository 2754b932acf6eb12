"""The catalogue: what it lists, where it looks, how it tells good files from bad."""

import re
import sys

import numpy as np
import pytest

from labelance.datasets import (
    dataset_info,
    get_data_home,
    list_datasets,
    load_dataset,
    verify_dataset,
)
from labelance.exceptions import DownloadError, InputError, MissingDependencyError


@pytest.fixture
def tiny(publisher, tiny_files, monkeypatch, tmp_path):
    """The tiny dataset, published, and a machine where nothing is stored."""
    monkeypatch.delenv("LABELANCE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return publisher.publish(tiny_files)


def put(files: dict[str, bytes], folder) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def test_the_dataset_that_comes_has_names_words_and_labels(tiny, tmp_path) -> None:
    data = load_dataset("tiny", data_home=tmp_path)
    assert (data.name, data.description, data.citation) == ("tiny", "Three shapes.", "Nobody.")
    assert data.feature_names == ("size", "shape")
    assert data.label_names == ("red", "big")
    np.testing.assert_array_equal(data.values, [[1.5, 0], [2.5, 1], [3.5, 0]])
    np.testing.assert_array_equal(data.Y.toarray(), [[1, 0], [0, 1], [1, 1]])


def test_a_folder_of_ones_own_comes_before_the_network(
    tiny, tiny_files, tmp_path, monkeypatch, server
) -> None:
    put(tiny_files, tmp_path / "own")
    monkeypatch.setenv("LABELANCE_DATA", str(tmp_path / "own"))
    load_dataset("tiny")
    assert server.requests == []
    # A folder in the call comes before the one in the environment.
    load_dataset("tiny", data_home=tmp_path / "asked")
    assert len(server.requests) == 2
    assert (tmp_path / "asked" / "tiny.arff.gz").is_file()


def test_what_the_own_folder_lacks_comes_from_the_cache(
    tiny, tmp_path, monkeypatch, server
) -> None:
    monkeypatch.setenv("LABELANCE_DATA", str(tmp_path))
    for _ in range(2):
        load_dataset("tiny")
    assert len(server.requests) == 2
    assert (get_data_home() / "tiny.xml").is_file()


def test_a_folder_of_ones_own_needs_no_optional_package(
    tiny, tiny_files, tmp_path, monkeypatch
) -> None:
    put(tiny_files, tmp_path)
    monkeypatch.setenv("LABELANCE_DATA", str(tmp_path))
    monkeypatch.setitem(sys.modules, "pooch", None)
    load_dataset("tiny")
    monkeypatch.delenv("LABELANCE_DATA")
    with pytest.raises(MissingDependencyError, match=r"labelance\[data\]"):
        load_dataset("tiny")


def test_nothing_is_downloaded_if_this_is_not_wanted(tiny, tmp_path, server) -> None:
    with pytest.raises(DownloadError, match="download_if_missing=True"):
        load_dataset("tiny", data_home=tmp_path, download_if_missing=False)
    assert server.requests == []


def test_verifying_names_every_file_that_differs(tiny, tiny_files, tmp_path) -> None:
    (missing,) = verify_dataset("tiny", data_home=tmp_path).problems
    assert missing == f"tiny is not in {tmp_path}"
    put(tiny_files, tmp_path)
    assert verify_dataset("tiny", data_home=tmp_path).ok
    (tmp_path / "tiny.arff").write_bytes(tiny_files["tiny.arff"].replace(b"1.5", b"1.6"))
    (problem,) = verify_dataset("tiny", data_home=tmp_path).problems
    assert problem.startswith(f"{tmp_path / 'tiny.arff'} is not the published file")


@pytest.mark.parametrize("content", [b"not compressed", "cut"])
def test_verifying_copes_with_broken_compressed_files(
    tiny, tiny_files, gzipped, tmp_path, content
) -> None:
    put(tiny_files, tmp_path)
    whole = gzipped(tiny_files["tiny.arff"])
    (tmp_path / "tiny.arff.gz").write_bytes(whole[:40] if content == "cut" else content)
    (problem,) = verify_dataset("tiny", data_home=tmp_path).problems
    assert "broken" in problem


def test_names_are_found_in_any_case_and_near_misses_are_named() -> None:
    assert dataset_info("YAHOO-arts1").name == "yahoo-Arts1"
    with pytest.raises(InputError, match="Did you mean 'yeast'"):
        load_dataset("yeats")
    with pytest.raises(InputError, match="read_multilabel"):
        load_dataset("0000")


def test_every_entry_can_be_fetched_and_checked() -> None:
    for info in list_datasets():
        assert re.fullmatch("[0-9a-f]{64}", info.sha256_arff)
        assert re.fullmatch("[0-9a-f]{64}", info.sha256_xml)
        kinds = [source.path.rpartition(".")[2] for source in info.sources]
        expected = {"verbatim": "arff xml", "join": "arff arff xml", "mldr": "rda", "made": ""}
        assert kinds == expected[info.recipe].split()
        for source in info.sources:
            assert re.fullmatch("[0-9a-f]{40}", source.git_blob)
            assert len(source.addresses) > 1
            for address in source.addresses:
                assert address.startswith("https://")
                assert info.commit in address
                assert address.endswith(source.path)
        assert info.description
        assert info.citation


def test_the_table_prints_a_line_for_each_dataset_and_becomes_a_frame() -> None:
    table = list_datasets()
    lines = repr(table).splitlines()
    assert len(lines) == len(table) + 1
    assert lines[1].split()[:5] == ["bibtex", "text", "7395", "1836", "159"]
    frame = table.to_frame()
    assert frame.loc["yeast", "n_labels"] == 14
    assert frame["in_paper"].sum() == 13


@pytest.mark.data
@pytest.mark.parametrize("name", [info.name for info in list_datasets()])
def test_the_files_at_hand_are_the_registered_ones(name, data_dir) -> None:
    info, data = dataset_info(name), load_dataset(name, data_home=data_dir)
    check = verify_dataset(name, data_home=data_dir)
    assert check.problems == ()
    assert data.values.shape == (info.n_samples, info.n_features)
    assert data.n_labels == info.n_labels
    assert data.Y.sum() / data.n_samples == pytest.approx(info.cardinality, abs=1e-6)
