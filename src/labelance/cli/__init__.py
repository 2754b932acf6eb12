"""The command line: parse, call a public function, print."""

import os

from labelance.cli._signals import Signals


def main() -> None:
    """Run the command line; say which extra is missing if typer or rich is."""
    signals = Signals()
    signals.install()
    try:
        try:
            _main(signals)
        finally:
            signals.ignore()
    except BaseException:
        if signals.came is None:
            raise
        # Whatever an interrupt became on its way here, what happened is an interrupt.
        signals.ignore()
        signals.leave()


def _main(signals: Signals) -> None:
    from labelance._utils._messages import optional_import
    from labelance.exceptions import MissingDependencyError

    try:
        for name in ("typer", "rich"):
            optional_import(name, extra="cli", purpose="The command line")
    except MissingDependencyError as error:
        raise SystemExit(str(error)) from None
    # A pool of Arrow's own keeps what it has read; this is read at its import.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    from labelance.cli._app import run

    signals.raises = True
    run()
