"""A signal ends every command with the shell's code and without a traceback."""

import os
import signal
import subprocess
import sys

import pytest

from labelance import cli
from labelance.cli._console import report_kept_files

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="sends signals"),
    pytest.mark.slow,  # most start processes
]

# A signal comes from inside, when a module is looked for or a file opened: always at the same
# moment, and between two lines of Python, whatever else the machine does. A second one comes on
# the way out, and a third in the last moments.
PROGRAM = """
import atexit, signal, sys
from labelance.cli import main

moment, number = sys.argv.pop(1), int(sys.argv.pop(1))
signal.signal(number, signal.SIG_DFL)  # the tests may run under nohup


def look(event, details):
    global moment
    if event in ("import", "open") and moment and moment in str(details[0] if details else ""):
        moment = ""
        atexit.register(signal.raise_signal, number)
        try:
            signal.raise_signal(number)
        finally:
            signal.raise_signal(number)


sys.addaudithook(look)
main()
"""
SONGS = "a,x,y\n" + "1,0,1\n2,1,0\n" * 20


def run(moment, number, *words, program=PROGRAM):
    return subprocess.run(
        [sys.executable, "-c", program, moment, str(int(number)), *map(str, words)],
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        ("typer", signal.SIGINT),
        ("labelance.cli._app", signal.SIGTERM),
        ("labelance.imbalance", signal.SIGHUP),
        ("songs.csv", signal.SIGINT),
        ("songs.csv", signal.SIGTERM),
    ],
)
def test_it_ends_with_the_code_of_the_shell(moment, number, tmp_path):
    (tmp_path / "songs.csv").write_text(SONGS)
    done = run(moment, number, "describe", tmp_path / "songs.csv", "--labels", "x,y")
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", "")


# Importing takes seconds: one process does it, and a child of it runs each command.
CHILDREN = """
import os, warnings
import labelance.cli._app, labelance.datasets, labelance.sampling, labelance.model_selection
warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forks beside threads
commands = sys.argv[1:]
for command in commands:
    child = os.fork()
    if not child:
        sys.argv[1:] = command.split()
        main()
        sys.exit(0)
    print(command.split()[0], os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def test_what_writes_files_says_that_there_are_none(tmp_path):
    (tmp_path / "tunes.csv").write_text(SONGS)
    data, out = f"{tmp_path / 'tunes.csv'} --labels x,y", tmp_path / "more.npz"
    commands = [
        f"resample {data} -o {out}",
        f"convert {data} {out}",
        f"split {data} -o {out} --sizes 1.0",
    ]
    program = PROGRAM.removesuffix("main()\n") + CHILDREN
    done = run("tunes.csv", signal.SIGTERM, *commands, program=program)
    assert done.stdout.splitlines() == ["resample 143", "convert 143", "split 143"]
    assert done.stderr == "interrupted before anything was written\n" * 3
    assert [file.name for file in tmp_path.iterdir()] == ["tunes.csv"]


def test_what_was_written_before_an_interrupt_is_named(tmp_path, capsys):
    train, test = tmp_path / "train.npz", tmp_path / "test.npz"
    test.write_text("of before")

    def write_one_of_two():
        with report_kept_files(train, test):
            train.write_text("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_one_of_two()
    assert capsys.readouterr().err == f"interrupted after writing {train}\n"


# A process that was left behind would hold the pipe of standard error open.
FAMILY = """
import multiprocessing, time
child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(900,))
child.start()
main()
"""


def test_no_child_stays_behind(tmp_path):
    (tmp_path / "songs.csv").write_text(SONGS)
    program = PROGRAM.removesuffix("main()\n") + FAMILY
    words = "describe", tmp_path / "songs.csv", "--labels", "x,y"
    done = run("songs.csv", signal.SIGINT, *words, program=program)
    assert (done.returncode, done.stderr) == (130, "")


def test_an_ignored_signal_stays_ignored():
    """As under nohup, or in the background of a script."""
    program = PROGRAM.replace("signal.SIG_DFL", "signal.SIG_IGN")
    done = run("typer", signal.SIGINT, "--version", program=program)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_command_that_goes_on_ends_at_a_later_signal(monkeypatch):
    """Python loses an interrupt that comes while an object is torn down."""
    ended = []
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(cli, "_came", [])
    with pytest.raises(KeyboardInterrupt):
        cli._interrupt(signal.SIGINT, None)
    cli._interrupt(signal.SIGINT, None)
    assert ended == []
    monkeypatch.setattr(cli, "_PATIENCE", -1.0)
    cli._interrupt(signal.SIGINT, None)
    assert ended == [130]
