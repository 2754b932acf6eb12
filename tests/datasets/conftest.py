"""A published dataset that fits into a test, and a server with good and bad mirrors of it."""

import gzip
import hashlib
import struct
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from labelance.datasets import DatasetInfo
from labelance.datasets._download import git_blob_id
from labelance.datasets._registry import SourceFile

ARFF = b"""@relation tiny
@attribute size numeric
@attribute shape {round,square}
@attribute red {0,1}
@attribute big {0,1}
@data
1.5,round,1,0
2.5,square,0,1
3.5,round,1,1
"""
XML = b"""<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="red"></label>
<label name="big"></label>
</labels>
"""


class Server(ThreadingHTTPServer):
    """Serves files under ``/MANNER/NAME``; the manner says how well."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.visits: defaultdict[str, int] = defaultdict(int)

    def address(self, manner: str, name: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{manner}/{name}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""

    def do_GET(self) -> None:
        manner, name = self.path.strip("/").split("/", 1)
        self.server.requests.append(manner)
        self.server.visits[self.path] += 1
        content = self.server.files.get(name)
        visit = self.server.visits[self.path]
        if content is None or manner == "missing":
            self._answer(404, b"")
        elif manner == "busy-once" and visit == 1:
            self._answer(503, b"")
        elif manner == "wrong":
            self._answer(200, content.replace(b"1.5", b"9.9")[:-1] + b"!")
        else:
            self._answer(200, content, cut=manner == "cut" or (manner == "cut-once" and visit == 1))

    def _answer(self, status, content, cut=False) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if cut else content)
        self.close_connection = cut


@pytest.fixture
def server(monkeypatch):
    """A server on this machine; nothing waits between attempts."""
    monkeypatch.setattr("labelance.datasets._download.PAUSE", 0)
    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@dataclass
class Publisher:
    """Puts files on the server and a dataset made of them into the catalogue."""

    server: Server
    monkeypatch: pytest.MonkeyPatch
    entries: dict[str, DatasetInfo] = field(default_factory=dict)

    def source(self, name: str, content: bytes, manners: tuple[str, ...]) -> SourceFile:
        self.server.files[name] = content
        addresses = tuple(
            "http://127.0.0.1:9/closed" if manner == "closed" else self.server.address(manner, name)
            for manner in manners
        )
        return SourceFile(path=name, git_blob=git_blob_id(content), addresses=addresses)

    def publish(
        self,
        files: dict[str, bytes],
        manners: tuple[str, ...] = ("good",),
        *,
        recipe="verbatim",
        arff: bytes = ARFF,
        xml: bytes = XML,
        name: str = "tiny",
    ) -> DatasetInfo:
        info = DatasetInfo(
            name=name,
            domain="test",
            n_samples=3,
            n_features=2,
            n_labels=2,
            cardinality=4 / 3,
            mean_imr=2.0,
            in_paper=False,
            bundled=False,
            feature_share=1.0,
            description="Three shapes.",
            citation="Nobody.",
            license="",
            sha256_arff=hashlib.sha256(arff).hexdigest(),
            sha256_xml=hashlib.sha256(xml).hexdigest(),
            recipe=recipe,
            repository="owner/project",
            commit="0" * 40,
            sources=tuple(self.source(file, content, manners) for file, content in files.items()),
        )
        self.entries[name] = info
        self.monkeypatch.setattr("labelance.datasets._registry.REGISTRY", self.entries)
        return info


@pytest.fixture
def publisher(server, monkeypatch) -> Publisher:
    return Publisher(server, monkeypatch)


@pytest.fixture
def tiny_files() -> dict[str, bytes]:
    return {"tiny.arff": ARFF, "tiny.xml": XML}


@dataclass
class RVector:
    """A vector or list of R to be written: its kind, its content and its attributes."""

    code: int
    content: list
    attributes: dict[str, "RVector"] = field(default_factory=dict)


class RWriter:
    """Writes what R's ``save()`` writes, as "R Internals" describes it; the tests' own oracle."""

    def __init__(self) -> None:
        self.symbols: list[str] = []

    def reals(self, values, **attributes: RVector) -> RVector:
        return RVector(14, list(values), attributes)

    def integers(self, values, **attributes: RVector) -> RVector:
        return RVector(13, list(values), attributes)

    def strings(self, words, **attributes: RVector) -> RVector:
        return RVector(16, list(words), attributes)

    def named_list(self, entries: dict[str, RVector], **attributes: RVector) -> RVector:
        return RVector(19, list(entries.values()), {"names": self.strings(entries), **attributes})

    def file(self, version: int = 2, **objects: RVector) -> bytes:
        head = b"RDX%d\nX\n" % version + struct.pack(">3i", version, 0x030501, 0x020300)
        if version == 3:
            head += struct.pack(">i", 5) + b"UTF-8"
        self.symbols.clear()
        return head + self._pairs(objects)

    def _pairs(self, entries: dict[str, RVector]) -> bytes:
        links = (
            struct.pack(">I", 2 | 1 << 10) + self._symbol(name) + self._vector(value)
            for name, value in entries.items()
        )
        return b"".join(links) + struct.pack(">I", 254)

    def _symbol(self, name: str) -> bytes:
        """A symbol is spelled out once; after that it is a number."""
        if name in self.symbols:
            return struct.pack(">I", 255 | self.symbols.index(name) + 1 << 8)
        self.symbols.append(name)
        return struct.pack(">I", 1) + self._chars(name)

    def _chars(self, text: str) -> bytes:
        content = text.encode()
        return struct.pack(">Ii", 9 | 1 << 15, len(content)) + content

    def _vector(self, vector: RVector) -> bytes:
        content, flag = vector.content, 1 << 9 if vector.attributes else 0
        if vector.code == 19:
            body = b"".join(map(self._vector, content))
        elif vector.code == 16:
            body = b"".join(map(self._chars, content))
        else:
            body = struct.pack(f">{len(content)}{'d' if vector.code == 14 else 'i'}", *content)
        head = struct.pack(">Ii", vector.code | flag, len(content))
        return head + body + (self._pairs(vector.attributes) if flag else b"")


@pytest.fixture
def r_writer() -> RWriter:
    return RWriter()


@pytest.fixture
def gzipped():
    return gzip.compress
