"""Chromium driven over its own pipe: pages are opened, used by mouse and keyboard, and looked at.

It speaks the DevTools protocol, messages of JSON that end with a zero byte, so that a browser is
all it needs. Tests take it as the fixture ``open_page``.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
PROGRAM = next(filter(None, map(shutil.which, NAMES)), None)
PATIENCE = 120.0  # seconds; tests run beside much else
KEYS = {
    "Enter": {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"},
    "Space": {"key": " ", "code": "Space", "windowsVirtualKeyCode": 32, "text": " "},
    "Tab": {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9},
    "ArrowDown": {"key": "ArrowDown", "code": "ArrowDown", "windowsVirtualKeyCode": 40},
    "ArrowRight": {"key": "ArrowRight", "code": "ArrowRight", "windowsVirtualKeyCode": 39},
    "Delete": {"key": "Delete", "code": "Delete", "windowsVirtualKeyCode": 46},
    "Escape": {"key": "Escape", "code": "Escape", "windowsVirtualKeyCode": 27},
    **{letter: {"key": letter, "text": letter} for letter in "anp123"},
}


class Chromium:
    """A headless browser, and the pages open in it."""

    def __init__(self, folder: Path) -> None:
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        # Above 9, so that neither is in the way of the other when they become 3 and 4.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (commands, answers)]

        def connect() -> None:
            """Let the browser read commands from descriptor 3 and answer on 4."""
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self._process = subprocess.Popen(
            [str(PROGRAM), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--remote-debugging-pipe", "--hide-scrollbars", f"--user-data-dir={folder}"],
            preexec_fn=connect, pass_fds=(3, 4),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for end in (commands, answers, *ends):
            os.close(end)
        self._buffer, self._number = b"", 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Send a command and return what it gives; events on the way are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            came = self._receive()
            if came.get("id") == self._number:
                if "error" in came:
                    raise RuntimeError(f"{method}: {came['error']['message']}")
                return came["result"]
            self.events.append(came)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._answers], [], [], PATIENCE)[0]:
                raise TimeoutError(f"the browser said nothing for {PATIENCE:g} seconds")
            part = os.read(self._answers, 1 << 20)
            if not part:
                raise EOFError("the browser has ended")
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def close(self) -> None:
        """End the browser."""
        with contextlib.suppress(OSError, EOFError, TimeoutError):
            self.call("Browser.close")
        os.close(self._commands)
        os.close(self._answers)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Page:
    """A page in a window of a given size, as a person sees and uses it."""

    def __init__(
        self, browser: Chromium, address: str, *, width: int, height: int = 900, dark: bool = False
    ) -> None:
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        attached = browser.call("Target.attachToTarget", targetId=target, flatten=True)
        self.target, self.session = target, attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=address)
        self.wait_until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command to this page."""
        return self.browser.call(method, self.session, **params)

    def run(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        came = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in came:
            raise RuntimeError(came["exceptionDetails"]["exception"]["description"])
        return came["result"].get("value")

    def wait_until(self, condition: str) -> None:
        """Wait until an expression in the page is true."""
        end = time.monotonic() + PATIENCE
        while not self.run(f"!!({condition})"):
            if time.monotonic() > end:
                raise TimeoutError(f"never came true: {condition}")
            time.sleep(0.05)

    def press(self, *keys: str) -> None:
        """Press keys as a person does: names as in KEYS, or text that is typed."""
        for key in keys:
            if key not in KEYS:
                self.call("Input.insertText", text=key)
                continue
            about = KEYS[key]
            down = "keyDown" if "text" in about else "rawKeyDown"
            self.call("Input.dispatchKeyEvent", type=down, **about)
            up = {name: value for name, value in about.items() if name != "text"}
            self.call("Input.dispatchKeyEvent", type="keyUp", **up)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Press the mouse at one place of the window, move it to another and let go."""
        self._mouse("mouseMoved", start)
        self._mouse("mousePressed", start, button="left", clickCount=1, buttons=1)
        self._mouse("mouseMoved", end, button="left", buttons=1)
        self._mouse("mouseReleased", end, button="left", clickCount=1)

    def click(self, selector: str) -> None:
        """Click the middle of an element, scrolled into the window."""
        x, y = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); "
            "e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect(); "
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        self.drag((x, y), (x, y))

    def _mouse(self, kind: str, place: tuple[float, float], **more: Any) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], **more)

    @property
    def errors(self) -> list[str]:
        """What the page wrote to the console as errors, exceptions included."""
        self.run("0")  # what happened before this has been told when it is answered
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            about = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(about["exceptionDetails"].get("exception", {}).get("description", "?"))
            elif event["method"] == "Log.entryAdded" and about["entry"]["level"] == "error":
                found.append(about["entry"]["text"])
            elif event["method"] == "Runtime.consoleAPICalled" and about["type"] == "error":
                found.append(json.dumps(about["args"]))
        return found

    @property
    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        return self.run("document.documentElement.scrollWidth - window.innerWidth")

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Write a picture of the window, or of the whole page."""
        came = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(came["data"]))

    def close(self) -> None:
        """Close the page."""
        self.browser.call("Target.closeTarget", targetId=self.target)
