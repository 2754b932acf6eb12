"""Files are written under a temporary name and renamed, so that nothing half-written remains."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Asking for the mask means setting it, for all threads: once, before there are any.
_UMASK = os.umask(0o022)
os.umask(_UMASK)


@contextmanager
def replace_when_done(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; rename it if the block ends well.

    The temporary name keeps the suffixes, for writers that look at them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelance._files import replace_when_done
    >>> folder = Path(tempfile.mkdtemp())
    >>> with replace_when_done(folder / "out.txt") as temporary:
    ...     _ = temporary.write_text("whole")
    >>> [file.name for file in folder.iterdir()]
    ['out.txt']
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(
        prefix=f".{target.name.partition('.')[0]}-", suffix="".join(target.suffixes) or ".part",
        dir=target.parent,
    )  # fmt: skip
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes private files; a file that is replaced keeps its mode.
        temporary.chmod(target.stat().st_mode if target.exists() else 0o666 & ~_UMASK)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
