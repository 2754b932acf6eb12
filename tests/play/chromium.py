"""A real browser, driven over a pipe by DevTools: real moves of the mouse, and real keys."""

import base64
import json
import os
import shutil
import subprocess
import sys
import time

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
# The browser reads its descriptor 3 and writes to 4: move ours there, out of each other's way.
MOVE = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
os.dup2(ends[0], 3), os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Chromium:
    """A headless browser with one page; a context manager."""

    def __init__(self, profile, *, width=1400, height=1000, dark=False):
        to_browser, our_end = os.pipe()
        their_end, from_browser = os.pipe()[::-1]
        self.process = subprocess.Popen(
            [
                sys.executable, "-c", MOVE, str(to_browser), str(their_end), BROWSER,
                "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={profile}",
                "--no-first-run", "--no-proxy-server", "about:blank",
            ],
            pass_fds=(to_browser, their_end),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_browser)
        os.close(their_end)
        self._out, self._in = os.fdopen(our_end, "wb"), os.fdopen(from_browser, "rb")
        self._number, self._session, self._rest = 0, None, b""
        self.problems = []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.resize(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._out.close()  # without its pipe the browser ends
        self._in.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def call(self, method, **parameters):
        """Return the answer to a command; errors of the page that come meanwhile are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        self._out.flush()
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._note(answer)

    def _receive(self):
        while b"\0" not in self._rest:
            chunk = self._in.read1(1 << 16)
            if not chunk:
                raise RuntimeError("the browser is gone")
            self._rest += chunk
        text, self._rest = self._rest.split(b"\0", 1)
        return json.loads(text)

    def _note(self, event):
        told = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.problems.append(told["exceptionDetails"].get("exception", told))
        elif event.get("method") == "Log.entryAdded" and told["entry"]["level"] == "error":
            self.problems.append(told["entry"]["text"])

    def resize(self, width, height):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip

    def open(self, url, ready):
        """Go to an address and wait until an expression is true there."""
        self.call("Page.navigate", url=url)
        self.wait(ready)

    def run(self, expression):
        """Return the value of an expression in the page."""
        done = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in done:
            raise RuntimeError(done["exceptionDetails"])
        return done["result"].get("value")

    def wait(self, expression, seconds=120):
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.run(f"Boolean(document.body && ({expression}))"):
                return
            time.sleep(0.05)
        raise TimeoutError(expression)

    def drag(self, start, end, steps=6):
        """Press the mouse at a place, move it, and let go."""
        self._mouse("mouseMoved", *start)
        self._mouse("mousePressed", *start)
        for step in range(1, steps + 1):
            share = step / steps
            self._mouse("mouseMoved", *(a + share * (b - a) for a, b in zip(start, end)), held=1)
        self._mouse("mouseReleased", *end)

    def click(self, place):
        self._mouse("mousePressed", *place)
        self._mouse("mouseReleased", *place)

    def _mouse(self, kind, x, y, *, held=0):
        pressed = kind in ("mousePressed", "mouseReleased")
        self.call(
            "Input.dispatchMouseEvent", type=kind, x=x, y=y,
            button="left" if pressed or held else "none", buttons=held, clickCount=int(pressed),
        )  # fmt: skip

    def press(self, key):
        """Press a key: a letter, a digit or a name such as ArrowLeft."""
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def screenshot(self, path, **options):
        shot = self.call("Page.captureScreenshot", format="png", **options)["data"]
        path.write_bytes(base64.b64decode(shot))
