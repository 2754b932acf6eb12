"""The catalogue of public datasets: list, load, fetch and verify."""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from labelance._utils._files import replace_when_done
from labelance._utils._messages import optional_import
from labelance._utils._notebook import draw_result
from labelance.datasets._protocol import Protocol, apply_protocol
from labelance.datasets._registry import REGISTRY, DatasetInfo, find_entry
from labelance.exceptions import DownloadError

if TYPE_CHECKING:
    import pandas as pd

LOCAL_FOLDER = "LABELANCE_DATA"
BUNDLED_FOLDER = Path(__file__).with_name("bundled")

Folder = str | PathLike[str] | None


class DatasetFiles(NamedTuple):
    """The two files of a dataset on this machine."""

    arff: Path
    xml: Path


def _yes(flag: Any) -> str:
    return "yes" if flag else ""


_FORMATS: dict[str, Callable[[Any], str]] = {
    "LC": "{:.3f}".format,
    "MeanImR": "{:.4g}".format,
    "in paper": _yes,
    "bundled": _yes,
}


class DatasetTable(tuple[DatasetInfo, ...]):
    """Datasets of the catalogue, in a table when printed."""

    def _columns(self) -> dict[str, list[Any]]:
        """Return a column of values under each head."""
        return {
            "name": [info.name for info in self],
            "domain": [info.domain for info in self],
            "n": [info.n_samples for info in self],
            "d": [info.n_features for info in self],
            "q": [info.n_labels for info in self],
            "LC": [info.cardinality for info in self],
            "MeanImR": [info.mean_imr for info in self],
            "in paper": [info.in_paper for info in self],
            "bundled": [info.bundled for info in self],
        }

    def __repr__(self) -> str:
        columns = [[head, *map(_FORMATS.get(head, str), c)] for head, c in self._columns().items()]
        widths = [max(map(len, column)) for column in columns]
        # Words to the left, numbers to the right; by hand, since pandas is an extra.
        return "\n".join(
            "  ".join(
                cell.ljust(width) if i in (0, 1, 7, 8) else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths))
            ).rstrip()
            for row in zip(*columns)
        )

    def _repr_html_(self) -> str:
        bundled = sum(info.bundled for info in self)
        return draw_result(
            f"{len(self)} datasets, {bundled} of them bundled; load_dataset(name) loads one.",
            self._columns(),
            things="datasets; print() shows all",
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the table as a pandas frame, one row for each dataset."""
        import pandas

        columns = list(DatasetInfo.__dataclass_fields__)[1:10]
        records = [[getattr(info, column) for column in columns] for info in self]
        names = pandas.Index([info.name for info in self], name="name")
        frame: pd.DataFrame = pandas.DataFrame(records, columns=columns, index=names)
        return frame


@dataclass(frozen=True)
class DatasetCheck:
    """Whether the files of a dataset are those that were published.

    Attributes
    ----------
    name : str
        The dataset.
    files : DatasetFiles or None
        Where its files are, or None if it is not on this machine.
    problems : tuple of str
        What is wrong, a sentence each; empty if all is well.
    """

    name: str
    files: DatasetFiles | None
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no problem."""
        return not self.problems


def list_datasets(*, in_paper: bool | None = None) -> DatasetTable:
    """List the datasets of the catalogue.

    Parameters
    ----------
    in_paper : bool, optional
        Only the 13 of the paper, or only the others.

    Returns
    -------
    DatasetTable
        A tuple of `DatasetInfo`, printed as a table: name, domain, numbers of rows (n),
        features (d) and labels (q), cardinality (LC) and mean imbalance ratio (MeanImR, of
        labels that at least two rows have), all of the dataset as published; whether it is in
        the paper, and whether it is bundled with labelance.

    Examples
    --------
    >>> from labelance.datasets import list_datasets
    >>> list_datasets(in_paper=False)
    name           domain      n     d    q      LC  MeanImR  in paper  bundled
    birds          audio     645   260   19   1.014    32.86
    delicious      text    16105   500  983  19.020    175.4
    emotions       music     593    72    6   1.868     2.32
    langlog        text     1460  1004   75   1.180      200
    ng20           text    19300  1006   20   1.029    18.44
    slashdot       text     3782  1079   22   1.181      125
    stackex_chess  text     1675   585  227   2.411    337.9
    verbframes     text     2243   802   28   1.651    123.6            yes
    """
    return DatasetTable(
        info for info in REGISTRY.values() if in_paper is None or info.in_paper == in_paper
    )


def dataset_info(name: str) -> DatasetInfo:
    """Return what the catalogue knows of a dataset.

    Examples
    --------
    >>> from labelance.datasets import dataset_info
    >>> info = dataset_info("yeast")
    >>> info.domain, info.n_labels
    ('biology', 14)
    """
    return find_entry(name)


def get_data_home(data_home: Folder = None) -> Path:
    """Return the folder that downloads go to.

    It is ``data_home`` if given, else the folder that the operating system has for caches
    (on Linux ``~/.cache/labelance``). Nothing is created.

    Examples
    --------
    >>> from labelance.datasets import get_data_home
    >>> get_data_home("data").name
    'data'
    """
    if data_home is not None:
        return Path(data_home).expanduser()
    pooch = optional_import("pooch", extra="data", purpose="The cache of downloads")
    return Path(pooch.os_cache("labelance"))


def load_dataset(
    name: str,
    *,
    protocol: Protocol | None = None,
    data_home: Folder = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool | Literal["auto"] = "auto",
) -> Any:
    """Load a public dataset, from this machine if it is there and from the network otherwise.

    A few small ones are bundled with labelance: flags (mixed features) and verbframes (sparse).

    Parameters
    ----------
    name : str
        Its name in `list_datasets`.
    protocol : {"paper"}, optional
        Prepare it as in the paper, see `apply_protocol`; as published unless given.
    data_home : path, optional
        The folder to look in and to download to. Unless given, the folder that the
        environment variable ``LABELANCE_DATA`` names is looked in first, then the cache
        folder of `get_data_home`, to which a download goes. A bundled dataset that is not in
        the folder asked for comes from labelance itself.
    download_if_missing : bool, default=True
        Whether to go to the network.
    return_X_y : bool, default=False
        Return the pair ``(X, y)``, ready for samplers and learners, instead of the dataset.
    as_frame : bool or "auto", default="auto"
        Whether X and y of that pair are pandas frames. With "auto" they are where a dense X
        has nominal features, which are codes in the arrays, and categoricals in the frame.

    Returns
    -------
    MultiLabelDataset
        Features, labels, their names, a description and whom to cite.
    (X, y) : tuple
        With ``return_X_y=True``; see `MultiLabelDataset.to_X_y`.

    Raises
    ------
    DownloadError
        If the dataset is not here and cannot, or may not, be downloaded.

    Notes
    -----
    A folder of your own holds, for each dataset, ``NAME.arff`` or ``NAME.arff.gz`` and
    ``NAME.xml``. The files of bundled datasets lie in the folder ``datasets/bundled`` of the
    package, and next to them ``LICENSES.md``: whose they are, their terms, what was changed.

    Examples
    --------
    >>> from labelance.datasets import load_dataset
    >>> load_dataset("flags")
    MultiLabelDataset('flags', 194 samples, 19 features (9 categorical), 7 labels)
    >>> load_dataset("verbframes")
    MultiLabelDataset('verbframes', 2243 samples, 802 sparse features, 28 labels)
    >>> X, y = load_dataset("flags", return_X_y=True)
    >>> X[["area", "language"]].dtypes.astype(str).tolist()
    ['float64', 'category']
    >>> load_dataset("yeast", protocol="paper")  # doctest: +SKIP
    MultiLabelDataset('yeast', 2417 samples, 103 features, 14 labels)
    """
    from labelance.datasets.formats import read_multilabel  # the rest needs no library of numbers

    info = find_entry(name)
    files = _find_files(info, data_home)
    if files is None and not download_if_missing:
        raise DownloadError(
            f"{info.name} is not on this machine",
            f"Looked in {' and '.join(map(str, _folders(info, data_home)))}",
            f"Set download_if_missing=True. {_by_hand(info, get_data_home(data_home))}",
        )
    files = files or fetch_dataset(info.name, data_home=data_home)
    data = replace(
        read_multilabel(files.arff, labels=files.xml),
        name=info.name,
        description=info.description,
        citation=info.citation,
    )
    if protocol is not None:
        data = apply_protocol(data, protocol)
    return data.to_X_y(as_frame=as_frame) if return_X_y else data


def fetch_dataset(name: str, *, data_home: Folder = None, force: bool = False) -> DatasetFiles:
    """Download a dataset, unless it is on this machine, and return where its files are.

    Parameters
    ----------
    name : str
        Its name in `list_datasets`.
    data_home : path, optional
        The folder, as in `load_dataset`.
    force : bool, default=False
        Download even if it is here, unless it is published nowhere else.

    Returns
    -------
    DatasetFiles
        The paths ``arff`` and ``xml``.

    Raises
    ------
    DownloadError
        If no mirror gives a file with the right checksum.
    """
    info = find_entry(name)
    here = None if force and info.sources else _find_files(info, data_home)
    if here is not None:
        return here
    # Most calls end above, and need none of the network's machinery.
    from labelance.datasets._download import download, make_files

    folder = get_data_home(data_home)
    contents = [download(source, by_hand=_by_hand(info, folder)) for source in info.sources]
    arff, xml = make_files(info, contents)
    _check_made(info, arff, xml)
    files = DatasetFiles(folder / f"{info.name}.arff.gz", folder / f"{info.name}.xml")
    for path, content in zip(files, (gzip.compress(arff, mtime=0), xml)):
        with replace_when_done(path) as temporary:
            temporary.write_bytes(content)
    return files


def verify_dataset(name: str, *, data_home: Folder = None) -> DatasetCheck:
    """Compare the files of a dataset on this machine with the registered checksums.

    Parameters
    ----------
    name : str
        Its name in `list_datasets`.
    data_home : path, optional
        The folder, as in `load_dataset`.

    Returns
    -------
    DatasetCheck
        With ``ok``, ``files`` and ``problems``.

    Examples
    --------
    >>> import tempfile
    >>> from labelance.datasets import verify_dataset
    >>> verify_dataset("yeast", data_home=tempfile.mkdtemp()).ok
    False
    """
    info = find_entry(name)
    files = _find_files(info, data_home)
    if files is None:
        folders = " or ".join(map(str, _folders(info, data_home)))
        return DatasetCheck(info.name, None, (f"{info.name} is not in {folders}",))
    found = (_sha256(files.arff), _sha256(files.xml))
    problems = tuple(
        f"{path} is not the published file: its SHA-256 is {got}, not {registered}"
        for path, got, registered in zip(files, found, (info.sha256_arff, info.sha256_xml))
        if got != registered
    )
    return DatasetCheck(info.name, files, problems)


def _folders(info: DatasetInfo, data_home: Folder) -> Iterator[Path]:
    """Yield the folders to look in, the cache folder last: it alone needs pooch."""
    local = os.environ.get(LOCAL_FOLDER)
    if data_home is not None:
        yield get_data_home(data_home)
    elif local:
        yield Path(local).expanduser()
    if info.bundled:
        yield BUNDLED_FOLDER
    elif data_home is None and (not local or find_spec("pooch") is not None):
        yield get_data_home()


def _find_files(info: DatasetInfo, data_home: Folder) -> DatasetFiles | None:
    for folder in _folders(info, data_home):
        xml = folder / f"{info.name}.xml"
        for arff in (folder / f"{info.name}.arff.gz", folder / f"{info.name}.arff"):
            if arff.is_file() and xml.is_file():
                return DatasetFiles(arff, xml)
    return None


def _sha256(path: Path) -> str:
    """Return the checksum of a file, of its content if it is compressed."""
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (EOFError, gzip.BadGzipFile):
        return "none, since the compressed file is broken"


def _check_made(info: DatasetInfo, arff: bytes, xml: bytes) -> None:
    """Raise if the files that were made have other checksums than the registered ones."""
    made = tuple(hashlib.sha256(content).hexdigest() for content in (arff, xml))
    if made != (info.sha256_arff, info.sha256_xml):
        raise DownloadError(
            f"The files of {info.name} do not match the registered checksums",
            "The converted ones differ",
            "Please report this",
        )


def _by_hand(info: DatasetInfo, folder: Path) -> str:
    return (
        f"Or put {info.name}.arff (or .arff.gz) and {info.name}.xml into {folder}, or into a "
        f"folder that the environment variable {LOCAL_FOLDER} names; "
        f"their source is https://github.com/{info.repository}"
    )
