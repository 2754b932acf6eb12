"""Download published files, and make one ARFF file and one label file of them, byte for byte.

The standard library does the transfer, since pooch, which gives us the cache folder, can
neither resume nor check the id that git gives a content.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPException
from itertools import pairwise
from pathlib import Path
from threading import get_ident
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
_CHUNK = 1 << 16


def download(source: SourceFile, folder: Path, *, by_hand: str) -> bytes:
    """Return the content of a published file, from the first mirror that has it.

    Parameters
    ----------
    source : SourceFile
        What to get, and where from.
    folder : Path
        Where a transfer that breaks off is kept, to be resumed by the next call.
    by_hand : str
        What the user can do instead, for the error message.
    """
    folder.mkdir(parents=True, exist_ok=True)
    reasons = []
    with _claim(folder / f".{source.git_blob}.part") as part:
        for address in source.addresses:
            reason = _get(address, part, source.git_blob)
            if reason is None:
                content = part.read_bytes()
                part.unlink()
                return content
            reasons.append(f"{urlsplit(address).netloc}: {reason}")
    raise DownloadError(
        f"{source.path} could not be downloaded",
        f"Tried {len(reasons)} sources ({'; '.join(reasons)})",
        f"Check the connection and try again. {by_hand}",
    )


def git_blob_id(content: bytes) -> str:
    """Return the id that git gives a file of this content.

    Examples
    --------
    >>> from labelance.datasets._download import git_blob_id
    >>> git_blob_id(b"")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


@contextmanager
def _claim(part: Path) -> Iterator[Path]:
    """Take a half-finished file for this thread alone, and leave what is there at the end.

    Renaming is atomic, so of two that download at once one resumes and the other begins again.
    """
    mine = part.with_name(f"{part.name}-{os.getpid()}-{get_ident()}")
    with suppress(FileNotFoundError):
        part.replace(mine)
    try:
        yield mine
    finally:
        if mine.exists():
            mine.replace(part)


def _get(address: str, part: Path, git_blob: str) -> str | None:
    """Get one address into ``part``; return why this failed, or None if it did not."""
    reason = None
    for attempt in range(ATTEMPTS):
        time.sleep(PAUSE if attempt else 0)
        resumed = part.exists()
        try:
            complete = _transfer(address, part)
        except HTTPError as error:
            error.close()
            reason = f"status {error.code}"
            if error.code == 416:  # more is here than there: not a beginning of this file
                part.unlink()
            elif error.code < 500:
                return reason
            continue
        except URLError as error:
            return str(error.reason)
        except (OSError, HTTPException) as error:
            reason = f"{type(error).__name__} {error}".strip()
            continue
        if not complete:
            reason = f"broke off after {part.stat().st_size} bytes"
        elif git_blob_id(part.read_bytes()) == git_blob:
            return None
        else:
            part.unlink()
            reason = "the downloaded file has a wrong checksum"
            if not resumed:
                return reason
    return reason


def _transfer(address: str, part: Path) -> bool:
    """Append to ``part`` what it lacks, or write it again; return whether all of it arrived."""
    start = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "labelance", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    # Addresses come from our catalogue or the user's own mirror, and checksums judge what comes.
    with urlopen(Request(address, headers=headers), timeout=TIMEOUT) as answer:  # nosec B310
        continues = answer.headers.get("Content-Range", "").startswith(f"bytes {start}-")
        received = 0
        with part.open("ab" if answer.status == 206 and continues else "wb") as file:
            while chunk := answer.read(_CHUNK):
                file.write(chunk)
                received += len(chunk)
        announced = answer.headers.get("Content-Length")
    return announced is None or received == int(announced)


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
