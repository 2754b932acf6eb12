"""``labelance play``: a page of points that one drags and labels, computed by the library."""

from __future__ import annotations

import threading
import webbrowser
from functools import partial
from typing import Annotated

import typer

import labelance
from labelance.cli._console import errors, say
from labelance.cli._data import Source, reads_data


@partial(reads_data, optional=True)
def play(
    source: Source | None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen at; 0 takes a free one.")
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, and open no browser.")
    ] = False,
) -> None:
    """Open a playground in the browser: what MLSOL sees and makes, at each move of a point.

    Without DATA it begins with figures of the paper, whose points can be dragged, labelled, added
    and removed. DATA is shown as a map of its first two principal components.
    """
    scene = None if source is None else _load(source)
    with labelance.play.Playground(port, data=scene) as playground:
        say(f"The playground is at {playground.url} (Ctrl-C ends it)")
        if not no_browser:
            # Some browsers run inside the terminal, and would keep the server from answering.
            opening = partial(webbrowser.open, playground.url)
            threading.Thread(target=opening, daemon=True).start()
        try:
            playground.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            say("The playground is closed", to=errors)
            raise


def _load(source: Source) -> labelance.play.Scene:
    return labelance.play.map_dataset(source.load(), title=source.data)
