"""Published files over the network: several mirrors, transfers resumed, contents checked.

The standard library does the transfer, since pooch, which gives us the cache folder, can
neither resume nor check the id that git gives a content.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from threading import get_ident
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from labelance.datasets._registry import SourceFile
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
        f"{source.path} is to be downloaded from one of {len(reasons)} places",
        f"none of them gave it ({'; '.join(reasons)})",
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

    Renaming is atomic, so of two that download at once one resumes and the other begins anew.
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
            reason = "what came is not the published file (wrong checksum)"
            if not resumed:
                return reason
    return reason


def _transfer(address: str, part: Path) -> bool:
    """Append to ``part`` what it lacks, or write it anew; tell whether all of it came."""
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
