"""The command line ends a process; tests go on."""

import signal

import pytest


@pytest.fixture(autouse=True)
def signals_as_before():
    """Put back what a command does to signals."""
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    before = {getattr(signal, name): None for name in names if hasattr(signal, name)}
    before = {number: signal.getsignal(number) for number in before}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
