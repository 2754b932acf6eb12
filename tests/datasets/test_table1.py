"""The paper's Table 1, to the printed digits."""

import pytest

from labelance.datasets import list_datasets, load_dataset
from labelance.imbalance import cardinality, mean_imr

pytestmark = [pytest.mark.data, pytest.mark.usefixtures("data_dir")]

TABLE_1 = """
bibtex           text     7395   183  159  2.402  87.7
cal500           music     502    68  174     26  22.3
corel5k          image    5000   499  347  3.517   522
enron            text     1702   100   52  3.378   107
flags            image     194    19    7  3.392  2.753
genbase          biology   662  1186   24  1.248  78.8
medical          text      978   144   35  1.245   143
rcv1subset1      text     6000   472  101   2.88   236
rcv1subset2      text     6000   472  101  2.634   191
scene            image    2407   294    6  1.074  4.662
yahoo-Arts1      text     7484   231   25  1.654   101
yahoo-Business1  text    11214   219   28  1.599   286
yeast            biology  2417   103   14  4.237  8.954
"""
ROWS = [line.split() for line in TABLE_1.strip().splitlines()]


def printed(value: float, like: str) -> str:
    """Write a number with as many decimals as another one is printed with."""
    return f"{value:.{len(like.partition('.')[2])}f}"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_table_is_reproduced(row: list[str]) -> None:
    name, domain, n, d, q, LC, MeanImR = row
    (info,) = (info for info in list_datasets(in_paper=True) if info.name == name)
    assert info.domain == domain
    data = load_dataset(name, protocol="paper")
    assert (data.n_samples, data.n_features, data.n_labels) == (int(n), int(d), int(q))
    # The table has medical's cardinality from before the labels were removed.
    Y = load_dataset(name).Y if name == "medical" else data.Y
    assert printed(cardinality(Y), LC) == LC
    assert printed(mean_imr(data.Y), MeanImR) == MeanImR


def test_the_catalogue_has_the_thirteen_of_the_paper() -> None:
    assert [info.name for info in list_datasets(in_paper=True)] == [row[0] for row in ROWS]
