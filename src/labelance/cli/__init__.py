"""The command line: parse, call a public function, print."""

from labelance._utils import optional_import
from labelance.exceptions import MissingDependencyError


def main() -> None:
    """Run the command line; say which extra is missing if typer or rich is."""
    try:
        for name in ("typer", "rich"):
            optional_import(name, extra="cli", purpose="The command line")
    except MissingDependencyError as error:
        raise SystemExit(str(error)) from None
    from labelance.cli._app import run

    run()
