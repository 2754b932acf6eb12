"""The playground's server: one page, its scenes and one question, for this computer alone.

Python's own `http.server` is enough for one person on one computer, and brings nothing along. It
answers requests to this computer's own names only, so that no page of another site can talk to it
by a name that points here, and it serves no files.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from scipy.sparse import csr_array

from labelance.exceptions import InputError, LabelanceError, arg
from labelance.play._explore import Exploration, explore
from labelance.play._request import MOST_BYTES, parse_request
from labelance.play._scene import FIGURES, Scene, make_scene
from labelance.sampling._mlsol import THETA

_HOST = "127.0.0.1"


class Playground(ThreadingHTTPServer):
    """A server of the playground on this computer's loopback address.

    It listens when it is made; ``serve_forever`` answers, ``shutdown`` and ``server_close`` end it.

    Parameters
    ----------
    port : int, default=0
        The port; 0 takes a free one.
    data : Scene, optional
        A map to begin with, next to the paper's figures.

    Examples
    --------
    >>> from labelance.play import Playground
    >>> with Playground() as playground:
    ...     playground.url.startswith("http://127.0.0.1:")
    True
    """

    daemon_threads = True  # a page that is left open does not keep the process alive

    def __init__(self, port: int = 0, *, data: Scene | None = None) -> None:
        self.scenes = {name: make_scene(name) for name in FIGURES}
        if data is not None:
            self.scenes = {"data": data, **self.scenes}
        self.page, self.policy = _build_page()
        self.turn = threading.Lock()  # one exploration at a time: they change the warnings' filter
        try:
            super().__init__((_HOST, port), _Handler)
        except (OSError, OverflowError, TypeError) as problem:
            raise InputError(
                "The playground needs a free port",
                f"{arg('port', port)} is not free ({problem})",
                "Omit it to take any free one",
            ) from problem

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{_HOST}:{self.server_address[1]}/"

    def is_own(self, host: str) -> bool:
        """Say whether a Host header is one of this computer's names with our port, to the letter.

        A parser of addresses would forgive what no browser sends, such as ``who@127.0.0.1``.
        """
        port = self.server_address[1]
        names = (_HOST, "localhost")
        own = {f"{name}:{port}" for name in names} | set(names if port == 80 else ())
        return host.lower() in own

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Show what went wrong here; a page that went away while it was answered is nothing."""
        if not isinstance(sys.exception(), (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


def _build_page() -> tuple[bytes, str]:
    """Return the page with its style and script inside, and a policy that allows no others."""
    folder = files("labelance.play").joinpath("templates")
    html, css, js = (
        folder.joinpath(f"play.{kind}").read_text(encoding="utf-8")
        for kind in ("html", "css", "js")
    )
    page = html.replace("/* style */", css).replace("/* script */", js)
    policy = (
        f"default-src 'none'; style-src {_source(css)}; script-src {_source(js)}; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    return page.encode(), policy


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


class _Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: Playground
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "labelance", ""
    timeout = 60

    def do_GET(self) -> None:
        """Send the page, or what is in a scene."""
        if not self._is_welcome():
            return
        path = self._find_path()
        if path == "/":
            self._send(200, self.server.page, "text/html; charset=utf-8")
        elif path == "/scenes":
            self._send_json(200, {name: s.title for name, s in self.server.scenes.items()})
        elif path.startswith("/scenes/") and path[8:] in self.server.scenes:
            self._send_json(200, scene_document(self.server.scenes[path[8:]]))
        else:
            self._refuse(404, "The playground has one page", "there is nothing here", "Open /")

    def do_POST(self) -> None:
        """Explore the points of a request."""
        if not self._is_welcome():
            return
        body = self._read_body()
        if body is None:
            return
        try:
            request = parse_request(body, self.server.scenes)
            with self.server.turn:
                found = explore(
                    request.scene.X,
                    request.scene.y,
                    n_neighbors=request.n_neighbors,
                    ratio=request.ratio,
                    random_state=request.seed,
                    scale=request.scale,
                    categorical_features=request.scene.categorical,
                )
            document = exploration_document(found, request.scene)
        except LabelanceError as error:
            self._refuse(400, error.problem, error.found, error.cure)
        except Exception as error:  # a mistake of ours, which the terminal shows, too
            raised = f"It raised {type(error).__name__}"
            self._refuse(500, "Exploring failed", raised, "Report the output of the terminal")
            raise
        else:
            self._send_json(200, document)

    def _is_welcome(self) -> bool:
        """Refuse who calls us by a foreign name, and pages of other sites."""
        scheme, _, host = self.headers.get("Origin", self.server.url.rstrip("/")).partition("://")
        names = self.headers.get("Host", ""), host
        if scheme == "http" and all(map(self.server.is_own, names)):
            return True
        found = "the Host header or the origin names another"
        problem = "The playground answers its own page on this computer"
        self._refuse(403, problem, found, f"Open {self.server.url}")
        return False

    def _find_path(self) -> str:
        """Return the path that is asked for; an address that is none has no path."""
        try:
            return urlsplit(self.path).path
        except ValueError:
            return ""

    def _read_body(self) -> bytes | None:
        """Return what was sent, or None after refusing it unread."""
        kind = self.headers.get_content_type()
        length = self.headers.get("Content-Length", "")
        if self._find_path() != "/explore":
            self._refuse(404, "Requests go to /explore", "Got another path", "Open /")
        elif kind != "application/json":
            self._refuse(400, "A request must be application/json", f"Got {kind:.60}")
        elif not (length.isascii() and length.isdigit()):
            self._refuse(400, "A request must state its length", "It does not")
        elif len(length) > 9 or int(length) > MOST_BYTES:
            self._refuse(413, f"A request can have {MOST_BYTES} bytes", f"It has {length:.20}")
        else:
            return self.rfile.read(int(length))
        return None

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what `http.server` does not understand in our own way, not by a page."""
        found = message or explain or f"Got status {int(code)}"
        self._refuse(code, "The playground answers GET and POST only", found, "Open /")

    def _refuse(self, status: int, problem: str, found: str, cure: str = "") -> None:
        self.close_connection = True  # what was sent may still be on its way
        error = InputError(problem, found, cure)
        document = {"problem": problem, "found": found, "cure": cure, "message": str(error)}
        self._send_json(status, document)

    def _send_json(self, status: int, document: Any) -> None:
        text = json.dumps(document, separators=(",", ":"), allow_nan=False)
        self._send(status, text.encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", self.server.policy)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing: a line for every move of a point is no help."""


def scene_document(scene: Scene) -> dict[str, Any]:
    """Return a scene as plain values."""
    return {
        "title": scene.title,
        "points": scene.project(scene.X).tolist(),
        "labels": _label_lists(scene.y),
        "label_names": list(scene.label_names),
        "editable": scene.editable,
        "n_total": scene.n_total or scene.y.shape[0],
        "marks": {str(row): name for row, name in scene.marks.items()},
        "theta": THETA.tolist(),
    }


def exploration_document(found: Exploration, scene: Scene) -> dict[str, Any]:
    """Return what was found as plain values, rows as points of the scene's plane."""
    document: dict[str, Any] = {"message": found.message, "neighbors": None}
    if found.neighborhood is not None and found.local is not None:
        C = found.local.C
        rows = np.repeat(np.arange(C.shape[0]), np.diff(C.indptr))
        cells = zip(*(part.tolist() for part in (rows, C.indices, found.local.types.data, C.data)))
        document |= {
            "neighbors": found.neighborhood.indices.tolist(),
            "distances": found.neighborhood.distances.tolist(),
            "cells": list(map(list, cells)),
            "weights": found.local.weights.tolist(),
            "minority_value": found.local.minority_value.tolist(),
        }
    document["samplers"] = {
        name: {
            "points": scene.project(made.X).tolist(),
            "labels": _label_lists(csr_array(made.y)),
            "seeds": made.seeds.tolist(),
            "references": made.references.tolist(),
            "positions": [None if math.isnan(cd) else cd for cd in made.positions.tolist()],
            "message": made.message,
        }
        for name, made in found.synthetic.items()
    }
    return document


def _label_lists(y: csr_array) -> list[list[int]]:
    """Return the label numbers of every row."""
    lists = [part.tolist() for part in np.split(y.indices, y.indptr[1:-1])]
    return lists if y.shape[0] else []
