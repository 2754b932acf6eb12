"""Record ``docs/_static/playground.gif``: the playground in a real browser, frame by frame.

    PYTHONPATH=tests/browser python tools/record_playground.py [OUT]

Needs chromium and Pillow.
"""

import io
import sys
import tempfile
import threading
from contextlib import closing
from pathlib import Path

from chromium import Chromium, Page
from PIL import Image

from labelance.play import Playground

ROOT = Path(__file__).parents[1]
READY = "document.body.dataset.ready === 'yes'"
SIZE = (1100, 800)
SHOWN = (720, 524)


class Recorder:
    """Takes pictures of a page, each with the time it stays."""

    def __init__(self, page, folder):
        self.page, self.folder = page, Path(folder)
        self.frames, self.times = [], []

    def take(self, milliseconds):
        """Add a picture."""
        self.page.wait_until(READY)
        path = self.folder / "frame.png"
        self.page.screenshot(path)
        with Image.open(io.BytesIO(path.read_bytes())) as picture:
            self.frames.append(picture.convert("RGB").resize(SHOWN, Image.Resampling.LANCZOS))
        self.times.append(milliseconds)

    def drag(self, row, places, milliseconds=120):
        """Drag a point through places of the plane."""
        for x, y in places:
            self.page.run(f"state.points[{row}] = [{x}, {y}]; choose('row', {row}); changed()")
            self.take(milliseconds)

    def save(self, path):
        """Write the animation, with one palette for all frames: colors would flicker otherwise."""
        some = self.frames[:: max(len(self.frames) // 6, 1)]
        both = Image.new("RGB", (SHOWN[0], SHOWN[1] * len(some)))
        for place, frame in enumerate(some):
            both.paste(frame, (0, place * SHOWN[1]))
        palette = both.quantize(96, method=Image.Quantize.MAXCOVERAGE)  # rare colors count, too
        flat = [frame.quantize(palette=palette, dither=0) for frame in self.frames]
        flat[0].save(
            path, save_all=True, append_images=flat[1:], duration=self.times, loop=0, optimize=True
        )


def record(path):
    """Play a short story: a rare point walks into the crowd, then types, then another sampler."""
    with Playground() as server, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with closing(Chromium(Path(folder) / "profile")) as browser:
            page = Page(browser, server.url, width=SIZE[0], height=SIZE[1])
            page.wait_until(READY)
            recorder = Recorder(page, folder)
            recorder.take(1200)
            row = page.run(
                "state.points.map((p, i) => [state.labels[i].includes(0) ? p[1] : -9, i])"
                ".sort((a, b) => b[0] - a[0])[0][1]"
            )
            x, y = page.run(f"state.points[{row}]")
            recorder.drag(row, [(x - 0.18 * step, y - 0.32 * step) for step in range(9)])
            recorder.take(900)
            page.run("document.querySelector('[value=types]').click()")
            recorder.take(1300)
            recorder.drag(
                row, [(x - 1.44 + 0.2 * step, y - 2.56 + 0.25 * step) for step in range(8)]
            )
            recorder.take(900)
            page.run("document.querySelector('#views [value=labels]').click()")
            for sampler in ("MLSMOTE", "MLROS", "MLSOL"):
                page.run(f"document.querySelector('[value={sampler}]').click()")
                recorder.take(1200)
        server.shutdown()
    recorder.save(path)
    return Path(path).stat().st_size


if __name__ == "__main__":
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "_static" / "playground.gif"
    print(f"{out}: {record(out):,} bytes")
