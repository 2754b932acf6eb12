"""Draw the layers of the contract in ``pyproject.toml`` for CONTRIBUTING.

    python tools/draw_layers.py   # writes docs/_static/layers.svg

Boxes have colors of their own, so that one picture reads on light and on dark pages.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "_static" / "layers.svg"
WIDTH, HEIGHT, GAP = 680, 26, 5


def read_layers() -> list[list[str]]:
    """Return the packages of each layer, the highest layer first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = project["tool"]["importlinter"]["contracts"]
    return [re.findall(r"\w+", layer) for layer in contract["layers"]]


def draw(layers: list[list[str]]) -> str:
    """Return a picture with a row of boxes for each layer."""
    step = HEIGHT + GAP
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {step * len(layers) - GAP}"'
        ' font-family="monospace" font-size="13" text-anchor="middle">'
    ]
    for i, names in enumerate(layers):
        width = (WIDTH - GAP * (len(names) - 1)) / len(names)
        for j, name in enumerate(names):
            x, y = j * (width + GAP), i * step
            fill = "#57606a" if name.startswith("_") else "#1f5c7a"
            lines += [
                f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{HEIGHT}" rx="4"'
                f' fill="{fill}"/>',
                f'<text x="{x + width / 2:.0f}" y="{y + 18}" fill="#ffffff">{name}</text>',
            ]
    return "\n".join([*lines, "</svg>"]) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(draw(read_layers()), encoding="utf-8")
    print(PICTURE)
