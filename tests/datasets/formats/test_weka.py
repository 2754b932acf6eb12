"""What we write opens in Weka, and Weka sees the same values."""

import importlib.metadata
import shutil
import subprocess

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelance.datasets import MultiLabelDataset, read_multilabel, write_multilabel


@pytest.fixture(scope="module")
def weka():
    """A function that runs a class of Weka on a file and returns what it prints."""
    java = shutil.which("java")
    if java is None:
        pytest.skip("there is no Java on this machine")
    try:
        files = importlib.metadata.files("python-weka-wrapper3") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("Weka comes with: pip install --no-deps python-weka-wrapper3")
    jar = next(str(file.locate()) for file in files if file.name == "weka.jar")

    def run(main, *arguments):
        command = [java, "-Dfile.encoding=UTF-8", "-cp", jar, main, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, check=True, timeout=120)
        assert b"Exception" not in done.stdout + done.stderr, done.stderr.decode()
        return done.stdout.decode()

    return run


# Weka reads control characters, but writes them so that it cannot read them again.
WORDS = ("", "?", "a b", "it's", '"', "\\", "50%", "{x}", "a,b", "\t", "\n", "é", "é数", "\\n")


def odd_data(*, sparse):
    values = [0, 0.1, -1e300, 5e-324, 1 / 3, np.nan, np.inf, -np.inf, 1e22, -2.5, 7, 8, 9, 10]
    X = np.column_stack([np.arange(len(WORDS)), values, [0, 1, np.nan] * 4 + [0, 1]])
    return MultiLabelDataset(
        csr_array(X) if sparse else X,
        np.arange(2 * len(WORDS)).reshape(-1, 2) % 3 == 0,
        feature_names=("odd 'words'", r"num\ber 100%", "{yes no}"),
        label_names=("first, label", "数"),
        categories=(WORDS, None, ("YES", "NO")),
        name="a name: with 'quotes'",
    )


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_weka_reads_what_we_write(weka, tmp_path, sparse):
    """Weka loads the file, writes it in its own way, and we read the same from that."""
    data = odd_data(sparse=sparse)
    file = write_multilabel(data, tmp_path / "ours.arff")
    summary = weka("weka.core.Instances", file)
    assert f"Num Instances:  {data.n_samples}" in summary
    assert f"Num Attributes: {data.n_features + data.n_labels}" in summary
    theirs = tmp_path / "theirs.arff"
    theirs.write_text(weka("weka.core.converters.ArffLoader", file))
    back = read_multilabel(theirs)
    assert back.label_names == data.label_names
    assert back.feature_names == data.feature_names
    assert back.categories == data.categories
    np.testing.assert_array_equal(back.Y.toarray(), data.Y.toarray())
    # Weka writes six decimals.
    before, after = csr_array(data.values).toarray(), csr_array(back.values).toarray()
    np.testing.assert_allclose(after, before, atol=1e-6)


@pytest.mark.data
@pytest.mark.parametrize("name", ["flags", "enron"])
def test_weka_reads_real_data_that_we_write(weka, data_file, tmp_path, name):
    data = read_multilabel(data_file(name))
    summary = weka("weka.core.Instances", write_multilabel(data, tmp_path / f"{name}.arff"))
    assert f"Num Instances:  {data.n_samples}" in summary
    assert f"Num Attributes: {data.n_features + data.n_labels}" in summary
