"""Download published files, and make one ARFF file and one label file of them, byte for byte."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Sequence
from http.client import HTTPException
from itertools import pairwise
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import numpy as np
from scipy.sparse import csr_array

from labelance.datasets._registry import DatasetInfo, SourceFile
from labelance.datasets.formats._labels import label_file_bytes
from labelance.datasets.formats._rda import NOT_DATA, combine_columns, is_label, read_rda
from labelance.exceptions import DownloadError

ATTEMPTS = 3
PAUSE = 1.0
TIMEOUT = 30.0


def download(source: SourceFile, *, by_hand: str) -> bytes:
    """Return the content of a published file, from the first mirror that has it.

    ``by_hand`` is what the user can do instead, for the error message. pooch, which gives us the
    cache folder, cannot check the id that git gives a content.
    """
    reasons = []
    for address in source.addresses:
        try:
            content = _get(address)
        except (OSError, HTTPException) as error:
            reason = str(getattr(error, "reason", error)) or type(error).__name__
            reasons.append(f"{urlsplit(address).netloc}: {reason}")
            continue
        if git_blob_id(content) == source.git_blob:
            return content
        reasons.append(f"{urlsplit(address).netloc}: the file has a wrong checksum")
    raise DownloadError(
        f"{source.path} could not be downloaded",
        f"Tried {len(reasons)} sources ({'; '.join(reasons)})",
        f"Check the connection and try again. {by_hand}",
    )


def _get(address: str) -> bytes:
    """Return what is at an address; try again where a server is busy or a transfer breaks off."""
    request = Request(address, headers={"User-Agent": "labelance", "Accept-Encoding": "identity"})
    attempt = 1
    while True:
        try:
            # Addresses come from our catalogue or the user's own mirror; checksums judge the rest.
            with urlopen(request, timeout=TIMEOUT) as answer:  # nosec B310
                return bytes(answer.read())
        except (OSError, HTTPException) as error:
            refused = isinstance(error, URLError) and getattr(error, "code", 0) < 500
            if isinstance(error, HTTPError):
                error.close()
            if refused or attempt == ATTEMPTS:
                raise
        attempt += 1
        time.sleep(PAUSE)


def git_blob_id(content: bytes) -> str:
    """Return the id that git gives a file of this content.

    Examples
    --------
    >>> from labelance.datasets._download import git_blob_id
    >>> git_blob_id(b"")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def make_files(info: DatasetInfo, contents: Sequence[bytes]) -> tuple[bytes, bytes]:
    """Return the ARFF file and the label file of a dataset, from its published files."""
    if info.recipe == "verbatim":
        arff, xml = contents
    elif info.recipe == "join":
        train, test, xml = contents
        arff = join_arff(train, test)
    else:
        (rda,) = contents
        arff, xml = convert_mldr(info, rda)
    return arff, xml


def join_arff(train: bytes, test: bytes) -> bytes:
    """Return the first file, followed by the rows of the second."""
    _, _, rows = re.split(rb"(?im)^[ \t]*(@data)\b[^\n]*\n", test, maxsplit=1)
    lines = [line for line in rows.splitlines() if line.strip()]
    return b"\n".join([train.rstrip(b"\r\n"), *lines, b""])


def convert_mldr(info: DatasetInfo, rda: bytes) -> tuple[bytes, bytes]:
    """Write the data frame and the labels of an mldr object as sparse ARFF and as a label file."""
    (source,) = info.sources
    (dataset,) = read_rda(rda, source.path).values()
    frame, labels = dataset["dataset"], is_label(dataset)
    names = frame.attributes["names"].value
    kept = [j for j, name in enumerate(names) if name not in NOT_DATA]
    origin = (
        f"% Converted from {info.repository} {source.path} @ {info.commit} "
        f"(git blob {source.git_blob})"
    )
    attributes = [f"@attribute {names[j]} {'{0,1}' if labels[j] else 'numeric'}" for j in kept]
    rows = _sparse_rows(combine_columns([frame.value[j].value for j in kept]))
    arff = [origin, f"@relation {info.name}", "", *attributes, "", "@data", *rows, ""]
    return "\n".join(arff).encode(), label_file_bytes([names[j] for j in np.flatnonzero(labels)])


def _sparse_rows(X: csr_array) -> list[str]:
    """Write every row as ``{column value,column value}``, integers without a point."""
    distinct, which = np.unique(X.data, return_inverse=True)
    words = [str(int(value)) if value.is_integer() else repr(value) for value in distinct.tolist()]
    cells = [f"{column} {words[w]}" for column, w in zip(X.indices.tolist(), which.tolist())]
    ends = X.indptr.tolist()
    return ["{" + ",".join(cells[a:b]) + "}" for a, b in pairwise(ends)]
