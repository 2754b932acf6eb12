"""Files are written next to their place and renamed: nothing half-written remains."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labelance.exceptions import FileWriteError, LabelanceError

# Asking for the mask means setting it, for all threads: once, before there are any.
_UMASK = os.umask(0o022)
os.umask(_UMASK)

# What the disk or its rights say, not the one who writes.
_CANNOT_WRITE = frozenset({
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM,
    errno.EISDIR,
})  # fmt: skip


@contextmanager
def replace_when_done(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path next to ``path``; rename it if the block ends well.

    So nothing half-written remains. The temporary name keeps the suffixes, for writers that
    look at them. A disk that is full, or a folder that cannot be written to, is a `FileWriteError`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelance._utils._files import replace_when_done
    >>> folder = Path(tempfile.mkdtemp())
    >>> with replace_when_done(folder / "out.txt") as temporary:
    ...     _ = temporary.write_text("whole")
    >>> [file.name for file in folder.iterdir()]
    ['out.txt']
    """
    target = Path(path)
    temporary = _make_temporary(target)
    try:
        yield temporary
        # mkstemp makes private files; a file that is replaced keeps its mode.
        temporary.chmod(target.stat().st_mode if target.exists() else 0o666 & ~_UMASK)
        temporary.replace(target)
    except OSError as problem:
        if isinstance(problem, LabelanceError) or problem.errno not in _CANNOT_WRITE:
            raise
        raise _cannot_write(target, problem) from problem
    finally:
        temporary.unlink(missing_ok=True)


def _make_temporary(target: Path) -> Path:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(
            prefix=f".{target.name.partition('.')[0]}-",
            suffix="".join(target.suffixes) or ".part",
            dir=target.parent,
        )
    except OSError as problem:
        raise _cannot_write(target, problem) from problem
    os.close(handle)
    return Path(name)


def _cannot_write(target: Path, problem: OSError) -> FileWriteError:
    before = "the file that was there is as it was" if target.exists() else "nothing was left there"
    return FileWriteError(
        f"Writing {target} failed",
        f"{problem.strerror or problem} ({before})",
        "Free disk space, or choose a writable folder",
    )
