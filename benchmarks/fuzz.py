"""Broken files for every reader: whatever the bytes are, a file is read or refused.

A case takes a small sound file of the corpus (tests/corpus), changes its text, its arrays or its
bytes, and reads it. A finding is an error that is not of labelance, a process that dies, a case
that takes too long, or one that takes more memory than the budget allows. Case i of a target
depends on the seed and on i alone, so that each can be made again. Cases run in a child process,
which a finding ends and which is then started again.

    python benchmarks/fuzz.py --cases 100000 --seed 0
    python benchmarks/fuzz.py --targets npz rda --cases 5000 --out findings
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import io
import lzma
import multiprocessing
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow

from labelance.datasets import read_multilabel
from labelance.datasets.formats._labels import read_label_names
from labelance.datasets.formats._rda import read_rda
from labelance.exceptions import LabelanceError
from labelance.study import load_study

CORPUS = Path(__file__).parents[1] / "tests" / "corpus"
MAX_MEMORY = 16_000_000
# What a block of a file and the parser may take beside the result, once for a process.
WORKING_MEMORY = 500_000_000
SECONDS = 5.0
# A child that says nothing for so long waits for something, or is in compiled code; a busy machine
# keeps it waiting for minutes.
SILENCE = 900.0

WORDS = [
    b"", b"\n", b"\r\n", b",", b"{", b"}", b"'", b'"', b"\\", b"%", b"?", b":", b" ", b"\t", b"\0",
    b"0", b"-1", b"1e999", b"nan", b"9" * 30, b"9" * 5000, b"2147483648", b"\xff", b"\xe2\x82",
    "\u00e9\u20ac".encode(), b"@data\n", b"@attribute", b"@relation", b"-C 9", b"string", b"date",
    b"numeric", b"\\u20ac", b"\\ud800", b"[", b"]", b"[[", b"=", b"true", b"1e", b"{}", b"#",
    b"<label name='a'/>", b"<!DOCTYPE x>", b"encoding='gbk'", b"&amp;", b"&#0;", b"</labels>",
]  # fmt: skip
NUMBERS = [0, 1, -1, 2, 127, 255, 2**15, 2**31 - 1, -(2**31), 2**32, 2**40, 2**63 - 1]


class TooLong(BaseException):
    """A case took longer than a case may; no reader catches it."""


@dataclass(frozen=True)
class Target:
    """What reads a kind of file, and how sound files of the kind are changed."""

    name: str
    read: Callable[[Path, random.Random], Any]
    change: Callable[[bytes, random.Random], bytes]

    def seeds(self) -> list[Path]:
        """Return the sound files, and those that were findings once."""
        return sorted((CORPUS / self.name).iterdir())

    def make(self, seed: int, case: int) -> tuple[bytes, str, random.Random]:
        """Return the content and name of a case, and the generator for its options."""
        rng = random.Random(f"{seed}/{self.name}/{case}")
        source = rng.choice(self.seeds())
        content = source.read_bytes()
        for _ in range(rng.choice([1, 1, 2, 3, 6])):
            change = self.change if rng.random() < 0.7 else change_bytes
            content = change(content, rng)
        # Names that were given to findings say nothing of the format.
        return content, "case" + "".join(source.suffixes), rng


@dataclass
class Tally:
    """What became of the cases of a target; each kind of finding with its number."""

    read: int = 0
    refused: int = 0
    findings: Counter[str] = field(default_factory=Counter)


def change_bytes(content: bytes, rng: random.Random) -> bytes:
    """Flip, cut, repeat or overwrite some bytes."""
    at, length = rng.randrange(len(content) + 1), rng.choice([0, 1, 1, 2, 4, 8, 40])
    kind = rng.randrange(5)
    if kind == 0:
        return content[:at] + content[at + length :]
    if kind == 1:
        return content[:at] + content[at : at + length] * rng.choice([2, 3, 200]) + content[at:]
    if kind == 2:
        return content[:at]
    if kind == 3:
        number = rng.choice(NUMBERS) % 2 ** (8 * (size := rng.choice([1, 2, 4, 8])))
        new = number.to_bytes(size, rng.choice(["little", "big"]))
        return content[:at] + new + content[at + size :]
    return content[:at] + rng.randbytes(max(length, 1)) + content[at + max(length, 1) :]


def change_text(content: bytes, rng: random.Random) -> bytes:
    """Put a word of some format somewhere, or move, repeat or drop a line."""
    lines = content.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(6)
    if kind == 0:
        lines[i], lines[j] = lines[j], lines[i]
    elif kind == 1:
        lines[i : i + 1] = [lines[i]] * rng.choice([0, 2, 50])
    elif kind == 2:
        words = lines[i].split(b",")
        words[rng.randrange(len(words))] = rng.choice(WORDS)
        lines[i] = b",".join(words)
    else:
        at = rng.randrange(len(lines[i]) + 1)
        lines[i] = lines[i][:at] + rng.choice(WORDS) + lines[i][at + rng.choice([0, 1, 3]) :]
    return b"\n".join(lines)


def change_zipped(content: bytes, rng: random.Random) -> bytes:
    """Change the text in a compressed file; where it is damaged already, its bytes."""
    try:
        text, compress = _unpack(content)
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError):
        return change_bytes(content, rng)
    return compress(change_text(text, rng))


def _unpack(content: bytes) -> tuple[bytes, Callable[[bytes], bytes]]:
    """Return what a compressed file holds, and what compresses it again."""
    if content.startswith(b"BZh"):
        return bz2.decompress(content), bz2.compress
    if content.startswith(b"\xfd7zXZ"):
        return lzma.decompress(content), lambda text: lzma.compress(text, preset=0)
    if content.startswith(b"\x28\xb5\x2f\xfd"):
        packed = pyarrow.BufferReader(content)
        with pyarrow.CompressedInputStream(packed, "zstd") as text:
            return text.read(), lambda text: pyarrow.compress(text, "zstd", asbytes=True)
    return gzip.decompress(content), lambda text: gzip.compress(text, 1, mtime=0)


def change_npz(content: bytes, rng: random.Random) -> bytes:
    """Change an array of an archive: its numbers, type or shape, or the bytes of its member."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = rng.choice(sorted(members))
        members[name] = _change_member(members[name], rng)
        if rng.random() < 0.1:
            members[rng.choice(sorted(members))] = members.pop(name)
    except Exception:
        return change_bytes(content, rng)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, member in members.items():
            archive.writestr(zipfile.ZipInfo(name), member)
    return out.getvalue()


def _change_member(member: bytes, rng: random.Random) -> bytes:
    kind = rng.randrange(5)
    if kind == 0:
        return change_bytes(member, rng)
    if kind == 1:
        return change_text(member, rng)
    array = np.load(io.BytesIO(member))
    if kind == 2:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array = array.astype(rng.choice(["i1", "u8", "f4", "f8", "U3", "?", ">i4", "c8"]))
    elif kind == 3:
        array = array.reshape(rng.choice([(-1, 1), (1, -1), (-1,)]))[: rng.randrange(9)]
    elif array.size:
        with np.errstate(all="ignore"):
            array.flat[rng.randrange(array.size)] = np.int64(rng.choice(NUMBERS)).astype(
                array.dtype
            )
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def change_rda(content: bytes, rng: random.Random) -> bytes:
    """Overwrite a word of four bytes; most of the format is of these."""
    at = 4 * rng.randrange(len(content) // 4 + 1) + rng.choice([3, 3, 3, 0])
    kinds = [rng.choice(NUMBERS) % 2**32, rng.choice([1, 2, 9, 10, 13, 14, 16, 19, 254, 255])]
    return content[:at] + rng.choice(kinds).to_bytes(4, "big") + content[at + 4 :]


def read_file(path: Path, rng: random.Random, **options: Any) -> None:
    """Read a file of data, and look at every index of what comes."""
    labels = rng.choice([None, None, -1, 2, "*l*", ["l1"]])
    options |= {} if path.suffix in (".npz", ".libsvm", ".txt") else {"labels": labels}
    if ".arff" in path.suffixes:
        options["text"] = rng.choice([None, "drop", "nominal"])
    encoding = rng.choice(["utf-8", "utf-8", "latin-1", "cp1252", "shift_jis"])
    data = read_multilabel(path, encoding=encoding, max_size=MAX_MEMORY, **options)
    data.Y.check_format(full_check=True)
    assert data.same_as(data)


def read_labels(path: Path, rng: random.Random) -> None:
    """Read a label file."""
    assert read_label_names(path, max_size=MAX_MEMORY)


def read_plan(path: Path, rng: random.Random) -> None:
    """Read the plan of a study, and what it comes to."""
    assert load_study(path).hash


TARGETS = {
    target.name: target
    for target in (
        Target("arff", read_file, change_text),
        Target("sparse-arff", read_file, change_text),
        Target("arff-gz", read_file, change_zipped),
        Target("compressed", read_file, change_zipped),
        Target("meka", read_file, change_text),
        Target("csv", read_file, change_text),
        Target("tsv", read_file, change_text),
        Target("parquet", read_file, change_bytes),
        Target("libsvm", read_file, change_text),
        Target("xc", read_file, change_text),
        Target("npz", read_file, change_npz),
        Target("xml", read_labels, change_text),
        Target("rda", lambda path, rng: read_rda(path.read_bytes(), path.name), change_rda),
        Target("plan", read_plan, change_text),
    )
}


def run_case(target: Target, seed: int, case: int, folder: Path) -> str:
    """Run a case; return "read", "refused" or what went wrong and where."""
    content, name, rng = target.make(seed, case)
    for old in folder.iterdir():
        old.unlink()
    path = folder / name
    path.write_bytes(content)
    try:
        with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            target.read(path, rng)
    except LabelanceError as error:
        return "refused" if _has_parts(error) else f"an error in {len(error.args)} parts"
    except TooLong:
        return "too long" + _where(sys.exc_info()[2])
    except Exception as error:
        return type(error).__name__ + _where(error.__traceback__)
    return "read"


def _has_parts(error: LabelanceError) -> bool:
    return all(isinstance(part, str) and part for part in (error.problem, error.found))


def _where(trace: Any) -> str:
    """Return the last place in the library that a traceback names."""
    ours = [frame for frame in traceback.extract_tb(trace) if "labelance" in frame.filename]
    return f" in {Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else ""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Interrupt what takes more processor time, where Python has a say in it."""

    def interrupt(*_: Any) -> None:
        raise TooLong

    signal.signal(signal.SIGPROF, interrupt)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def run_cases(target: Target, seed: int, first: int, last: int, pipe: Any) -> None:
    """Run cases in a child: send each number before, and the outcome after it."""
    with tempfile.TemporaryDirectory() as folder:
        _warm_up(target, Path(folder))
        peak = _peak_memory() + WORKING_MEMORY
        limit = 2 * peak + (8 << 30)  # much of the address space is never used
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        for case in range(first, last):
            try:
                with time_limit(SECONDS):
                    outcome = run_case(target, seed, case, Path(folder))
            except TooLong:
                outcome = "too long"
            outcome = "memory" if _peak_memory() > peak else outcome
            pipe.send(outcome)
            if outcome == "memory":
                return


def _warm_up(target: Target, folder: Path) -> None:
    """Load and compile all that reading takes, so that no case pays for it."""
    for source in target.seeds():
        path = folder / f"case{''.join(source.suffixes)}"
        path.write_bytes(source.read_bytes())
        with suppress(LabelanceError):
            target.read(path, random.Random(0))


def _peak_memory() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def fuzz(target: Target, seed: int, cases: int, out: Path) -> Tally:
    """Run all cases of a target; save a file of every kind of finding."""
    tally, case = Tally(), 0
    while case < cases:
        ours, theirs = multiprocessing.Pipe()
        child = multiprocessing.get_context("fork").Process(
            target=run_cases, args=(target, seed, case, cases, theirs)
        )
        child.start()
        theirs.close()
        while case < cases:
            outcome = _next_outcome(ours, child)
            _count(tally, target, seed, case, outcome, out)
            case += 1
            if outcome in ("memory", "hang") or outcome.startswith("died"):
                break
        child.join()
    return tally


def _next_outcome(pipe: Any, child: Any) -> str:
    try:
        if pipe.poll(SILENCE):
            return str(pipe.recv())
        child.kill()
        return "hang"
    except (EOFError, ConnectionError):
        child.join()
        return f"died with {child.exitcode}"


def _count(tally: Tally, target: Target, seed: int, case: int, outcome: str, out: Path) -> None:
    if outcome in ("read", "refused"):
        setattr(tally, outcome, getattr(tally, outcome) + 1)
        return
    tally.findings[outcome] += 1
    if tally.findings[outcome] == 1:
        content, name, _ = target.make(seed, case)
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{target.name}-{seed}-{case}{''.join(Path(name).suffixes)}").write_bytes(content)
        print(f"{target.name}, case {case}: {outcome}", file=sys.stderr, flush=True)


def main() -> None:
    """Fuzz the targets one after the other and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, default=100_000, help="of all targets together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--out", type=Path, default=Path("fuzz-findings"))
    asked = parser.parse_args()
    print(f"{'target':12} {'cases':>8} {'read':>8} {'refused':>8} {'findings':>8} {'seconds':>8}")
    total: Counter[str] = Counter()
    for name in asked.targets:
        began, cases = time.perf_counter(), -(-asked.cases // len(asked.targets))
        tally = fuzz(TARGETS[name], asked.seed, cases, asked.out)
        found = tally.findings.total()
        total.update(cases=cases, read=tally.read, refused=tally.refused, found=found)
        seconds = time.perf_counter() - began
        print(
            f"{name:12} {cases:8} {tally.read:8} {tally.refused:8} {found:8} {seconds:8.0f}",
            flush=True,
        )
    print(
        f"{'all':12} {total['cases']:8} {total['read']:8} {total['refused']:8} {total['found']:8}"
    )
    raise SystemExit(1 if total["found"] else 0)


if __name__ == "__main__":
    main()
