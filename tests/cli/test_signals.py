"""A signal ends every command, at any moment, with the shell's code and without a traceback."""

import os
import signal
import subprocess
import sys

import pytest

from labelance.cli._console import report_kept_files

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="sends signals"),
    pytest.mark.slow,  # every shot is a process of its own
]

# Signals come from inside, when a module is looked for or a file opened, so that the moment
# does not depend on how busy the machine is.
PROGRAM = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from labelance.cli import main

moment, times, number = sys.argv.pop(1), int(sys.argv.pop(1)), int(sys.argv.pop(1))


class Noisy:
    def __del__(self):  # Python loses what is raised here
        os.kill(os.getpid(), number)
        for _ in range(100):
            pass


def look(event, details):
    global moment
    if moment and moment in str(details[0] if details else ""):
        lost, moment = moment == "songs.csv", ""
        if lost:
            Noisy()
        else:
            for _ in range(times):
                os.kill(os.getpid(), number)


sys.addaudithook(lambda event, details: event in ("import", "open") and look(event, details))
main()
"""


def run(moment, times, number, *words, program=PROGRAM):
    return subprocess.run(
        [sys.executable, "-c", program, moment, str(times), str(int(number)), *map(str, words)],
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.mark.parametrize(
    ("moment", "times", "number"),
    [
        ("typer", 1, signal.SIGINT),
        ("numpy.linalg", 3, signal.SIGINT),
        ("sklearn.utils", 1, signal.SIGTERM),
        ("numba.core.typing", 3, signal.SIGINT),
        ("songs.csv", 1, signal.SIGINT),
    ],
)
def test_it_ends_with_the_code_of_the_shell(moment, times, number, tmp_path):
    (tmp_path / "songs.csv").write_text("a,x,y\n" + "1,0,1\n2,1,0\n" * 20)
    done = run(moment, times, number, "describe", tmp_path / "songs.csv", "--labels", "x,y")
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", "")


HALF_MADE = """
class HalfMade:
    def __del__(self):
        raise AttributeError("it was interrupted before this was set")


left = HalfMade()
main()
"""


def test_what_the_signal_left_half_made_is_torn_down_in_silence(tmp_path):
    program = PROGRAM.removesuffix("main()\n") + HALF_MADE
    (tmp_path / "songs.csv").write_text("a,x,y\n" + "1,0,1\n2,1,0\n" * 20)
    words = "describe", tmp_path / "songs.csv", "--labels", "x,y"
    done = run("songs.csv", 1, signal.SIGINT, *words, program=program)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


# Importing takes seconds: one process does it, and a child of it runs each command.
CHILDREN = """
import warnings
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
    (tmp_path / "tunes.csv").write_text("a,x,y\n" + "1,0,1\n2,1,0\n" * 20)
    data, out = f"{tmp_path / 'tunes.csv'} --labels x,y", tmp_path / "more.npz"
    commands = [
        f"resample {data} -o {out}",
        f"convert {data} {out}",
        f"split {data} -o {out} --sizes 1.0",
    ]
    program = PROGRAM.removesuffix("main()\n") + CHILDREN
    done = run("tunes.csv", 1, signal.SIGINT, *commands, program=program)
    assert done.stdout.splitlines() == ["resample 130", "convert 130", "split 130"]
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


def test_an_ignored_signal_stays_ignored(tmp_path):
    """As under nohup, or in the background of a script."""
    program = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN);" + PROGRAM.replace(
        "signal.signal(signal.SIGINT, signal.default_int_handler)", ""
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "typer", "1", str(int(signal.SIGINT)), "--version"],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
