"""Downloads from a server on this machine: good, slow of wit, cut off, wrong and gone."""

import gzip
from concurrent.futures import ThreadPoolExecutor

import pytest

from labelance.datasets import fetch_dataset, load_dataset, verify_dataset
from labelance.exceptions import DownloadError


def leftovers(folder) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if file.name.startswith("."))


def test_a_download_is_checked_stored_and_not_repeated(publisher, tiny_files, tmp_path) -> None:
    publisher.publish(tiny_files)
    files = fetch_dataset("tiny", data_home=tmp_path)
    assert gzip.decompress(files.arff.read_bytes()) == tiny_files["tiny.arff"]
    assert files.xml.read_bytes() == tiny_files["tiny.xml"]
    assert verify_dataset("tiny", data_home=tmp_path).ok
    assert leftovers(tmp_path) == []
    before = len(publisher.server.requests)
    assert fetch_dataset("tiny", data_home=tmp_path) == files
    assert len(publisher.server.requests) == before
    fetch_dataset("tiny", data_home=tmp_path, force=True)
    assert len(publisher.server.requests) == 2 * before


@pytest.mark.parametrize("bad", ["closed", "missing", "wrong", "cut"])
def test_a_bad_mirror_is_passed_over(publisher, tiny_files, tmp_path, bad) -> None:
    publisher.publish(tiny_files, (bad, "good"))
    fetch_dataset("tiny", data_home=tmp_path)
    assert verify_dataset("tiny", data_home=tmp_path).ok
    assert leftovers(tmp_path) == []


def test_a_busy_server_is_asked_again(publisher, tiny_files, tmp_path) -> None:
    publisher.publish(tiny_files, ("busy-once",))
    fetch_dataset("tiny", data_home=tmp_path)
    assert verify_dataset("tiny", data_home=tmp_path).ok


def test_a_transfer_that_breaks_off_is_tried_again(publisher, tiny_files, tmp_path) -> None:
    publisher.publish(tiny_files, ("cut-once",))
    fetch_dataset("tiny", data_home=tmp_path)
    assert len(publisher.server.requests) == 4
    assert verify_dataset("tiny", data_home=tmp_path).ok


def test_a_transfer_that_always_breaks_off_leaves_nothing_behind(
    publisher, tiny_files, tmp_path
) -> None:
    publisher.publish(tiny_files, ("cut",))
    with pytest.raises(DownloadError, match=r"IncompleteRead.*more expected"):
        fetch_dataset("tiny", data_home=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_wrong_contents_everywhere_leave_nothing_behind(publisher, tiny_files, tmp_path) -> None:
    publisher.publish(tiny_files, ("wrong", "wrong"))
    with pytest.raises(DownloadError, match=r"wrong checksum.*wrong checksum"):
        fetch_dataset("tiny", data_home=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_files_made_of_right_sources_are_checked_too(publisher, tiny_files, tmp_path) -> None:
    publisher.publish(tiny_files, arff=b"something else")
    with pytest.raises(DownloadError, match="registered checksums"):
        fetch_dataset("tiny", data_home=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_without_a_network_the_error_says_where_to_put_the_files(
    publisher, tiny_files, tmp_path
) -> None:
    publisher.publish(tiny_files, ("closed", "closed"))
    with pytest.raises(DownloadError) as caught:
        load_dataset("tiny", data_home=tmp_path)
    message = str(caught.value)
    assert "Connection refused" in message
    assert f"put tiny.arff (or .arff.gz) and tiny.xml into {tmp_path}" in message
    assert "LABELANCE_DATA" in message
    assert "https://github.com/owner/project" in message
    assert isinstance(caught.value, OSError)


def test_many_at_once_all_get_the_dataset(publisher, tiny_files, tmp_path) -> None:
    publisher.publish(tiny_files, ("cut-once", "good"))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: fetch_dataset("tiny", data_home=tmp_path), range(8)))
    assert verify_dataset("tiny", data_home=tmp_path).ok
    assert leftovers(tmp_path) == []
