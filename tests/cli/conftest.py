"""The command line ends a process; tests go on."""

import signal
import sys

import pytest

from labelance.cli import main


@pytest.fixture(autouse=True)
def signals_as_before():
    """Put back what a command does to signals."""
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    before = {getattr(signal, name): None for name in names if hasattr(signal, name)}
    before = {number: signal.getsignal(number) for number in before}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def call(monkeypatch, capsys):
    """Run a command; return its exit code, standard output and standard error."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["labelance", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        return code, *capsys.readouterr()

    return run
