"""Ctrl-C at random moments: whatever a command is at, it ends with 130 and without a traceback.

A shot starts a command in a folder of its own and sends SIGINT after a random time, to the process
alone, or to all it has started too, as a terminal does; half of the time a second one follows. A
finding is another exit code than 130 (0 if the command was done before), a traceback, an error, a
process that stays behind, or a file that is not whole. Shot i depends on the seed and i alone, but
for what the machine makes of a moment. Python itself needs some milliseconds before the first line
of any program can take a signal; shots that came so early are counted apart.

    python benchmarks/signals.py --shots 200 --seed 0
    python benchmarks/signals.py --shots 40 --commands study --latest 30
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from labelance.datasets import (
    MultiLabelDataset,
    make_multilabel_imbalanced,
    read_multilabel,
    write_multilabel,
)

PROGRAM = "import sys; from labelance.cli import main; main()"
COMMANDS = {
    "demo": ["demo"],
    "describe": ["describe", "../made.arff"],
    "resample": ["resample", "../made.arff", "-o", "more.npz"],
    "study": ["study", "run", "quick", "--jobs", "2"],
}
PATIENCE = 120.0  # seconds; a busy machine may need many to end two workers
WORDS = ("Traceback", "Error", "error:", "Exception ignored", "KeyboardInterrupt", "leaked")


@dataclass(frozen=True)
class Shot:
    """When a command is hit, how often, and whether all its processes are."""

    command: str
    moment: float
    second: float | None
    group: bool

    @classmethod
    def aim(cls, commands: list[str], latest: float, seed: int, number: int) -> Shot:
        """Return shot ``number`` of a seed, at most ``latest`` seconds after the start."""
        rng = random.Random(f"{seed}/{number}")
        return cls(
            commands[number % len(commands)],
            moment=rng.uniform(0, latest),
            second=rng.uniform(0, 0.5) if rng.random() < 0.5 else None,
            group=rng.random() < 0.5,
        )


@dataclass(frozen=True)
class End:
    """What became of a shot: how the command ended, and what is wrong with that."""

    code: int
    words: str
    began: bool
    wrong: str


def shoot(shot: Shot, folder: Path) -> End:
    """Start the command in a new folder, hit it, and look at what is left."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *COMMANDS[shot.command]],
        cwd=folder,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        time.sleep(shot.moment)
        began = _takes_signals(process.pid)
        _hit(process, shot)
        if shot.second is not None:
            time.sleep(shot.second)
            _hit(process, shot)
        try:
            _, words = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return End(-9, process.communicate()[1], began, f"not over after {PATIENCE:g} s")
    wrong = _wrong(process.returncode, words) or _left_behind(process.pid, folder)
    return End(process.returncode, words, began, wrong)


def _takes_signals(pid: int) -> bool:
    """Return whether the command line has taken the signals; Python alone does not take SIGHUP."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return True
    state = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if state["State"].startswith("Z"):
        return True
    handled = int(state["SigCgt"], 16) | int(state["SigIgn"], 16)
    return bool(handled & 1 << (signal.SIGHUP - 1))


def _hit(process: subprocess.Popen[str], shot: Shot) -> None:
    if process.poll() is None:
        (os.killpg if shot.group else os.kill)(process.pid, signal.SIGINT)


def _wrong(code: int, words: str) -> str:
    if code not in (0, 130):
        return f"exit code {code}"
    found = [word for word in WORDS if word in words]
    return f"standard error has {found[0]!r}" if found else ""


def _left_behind(pid: int, folder: Path) -> str:
    for _ in range(50):  # orphans may need a moment to notice
        if not _group_lives(pid):
            break
        time.sleep(0.1)
    else:
        os.killpg(pid, signal.SIGKILL)
        return "processes stay behind"
    strangers = {path.name for path in folder.iterdir()} - {
        "labelance-demo.png", "more.npz", "quick.store",
    }  # fmt: skip
    if strangers:
        return f"left behind: {', '.join(sorted(strangers))}"
    if (folder / "more.npz").exists():
        read_multilabel(folder / "more.npz")
    return ""


def _group_lives(pid: int) -> bool:
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    return True


def make_data(path: Path) -> None:
    """Write data on which commands take seconds."""
    X, Y = make_multilabel_imbalanced(n_samples=4000, n_features=40, n_labels=20, random_state=0)
    write_multilabel(MultiLabelDataset(X, Y), path)


def main() -> None:
    """Shoot at the commands in turn and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shots", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--latest", type=float, default=3.0, help="seconds after the start")
    parser.add_argument("--commands", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    asked = parser.parse_args()
    tally = {name: Counter[str]() for name in asked.commands}
    with tempfile.TemporaryDirectory() as parent:
        make_data(Path(parent) / "made.arff")
        for number in range(asked.shots):
            shot = Shot.aim(asked.commands, asked.latest, asked.seed, number)
            folder = Path(parent) / str(number)
            folder.mkdir()
            end = shoot(shot, folder)
            outcome = "early" if not end.began else "finding" if end.wrong else str(end.code)
            tally[shot.command][outcome] += 1
            if end.began and end.wrong:
                print(f"{number}: {shot}: {end.wrong}\n{end.words}", file=sys.stderr, flush=True)
    outcomes = ("130", "0", "early", "finding")
    print(f"{'command':10} {'shots':>6} " + " ".join(f"{name:>8}" for name in outcomes))
    for name, counts in tally.items():
        columns = " ".join(f"{counts[outcome]:8}" for outcome in outcomes)
        print(f"{name:10} {counts.total():6} {columns}")
    raise SystemExit(1 if any(counts["finding"] for counts in tally.values()) else 0)


if __name__ == "__main__":
    main()
