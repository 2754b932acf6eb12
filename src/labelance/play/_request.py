"""What the page asks: checked once, before anything is computed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from labelance.exceptions import InputError
from labelance.play._scene import MOST_POINTS, Scene

MOST_BYTES = 1 << 18
MOST_LABELS = 3
MOST_NEIGHBORS = 50
LARGEST_RATIO = 5.0
_FARTHEST = 1e6
_SCALES = (None, "range", "standard")
_KEYS = {"scene", "points", "labels", "n_neighbors", "ratio", "seed", "scale"}


@dataclass(frozen=True, eq=False)
class Request:
    """Rows, labels and settings that a page sent."""

    scene: Scene
    n_neighbors: int
    ratio: float
    seed: int
    scale: str | None


def parse_request(body: bytes, scenes: dict[str, Scene]) -> Request:
    """Return a request; raise `InputError` for whatever the page would not send.

    Parameters
    ----------
    body : bytes
        JSON: ``points`` and ``labels``, or the name of a ``scene`` that is no drawing, and
        ``n_neighbors``, ``ratio``, ``seed`` and ``scale``.
    scenes : dict
        The scenes that can be named.
    """
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as problem:
        raise InputError("A request must be JSON", f"It is not ({problem})") from None
    if not isinstance(document, dict) or not document.keys() <= _KEYS:
        raise InputError(
            f"A request must be an object with some of {', '.join(sorted(_KEYS))}",
            "It is not an object, or has other keys",
        )
    return Request(
        scene=_find_scene(document, scenes),
        n_neighbors=_number(document, "n_neighbors", 1, MOST_NEIGHBORS, whole=True),
        ratio=_number(document, "ratio", 0, LARGEST_RATIO),
        seed=_number(document, "seed", 0, 2**32 - 1, whole=True),
        scale=_scale(document.get("scale")),
    )


def _find_scene(document: dict[str, Any], scenes: dict[str, Scene]) -> Scene:
    name = document.get("scene")
    if name is None:
        return _drawing(document)
    if not isinstance(name, str) or name not in scenes:
        raise InputError(f"scene must be one of {', '.join(scenes)}", f"Got {name!r:.50}")
    return scenes[name]


def _drawing(document: dict[str, Any]) -> Scene:
    """Return the points and labels of a request as a scene."""
    points, labels = document.get("points"), document.get("labels")
    X = _table(points, "points", 2, 2)
    y = _table(labels, "labels", 1, MOST_LABELS)
    if len(X) != len(y):
        raise InputError(
            "Every point needs labels", f"Got {len(X)} points and {len(y)} rows of labels"
        )
    if not np.isfinite(X).all() or (abs(X) > _FARTHEST).any():
        raise InputError(
            f"A point must be two numbers between -{_FARTHEST:g} and {_FARTHEST:g}", "Some are not"
        )
    if not np.isin(y, (0, 1)).all():
        raise InputError("A label must be 0 or 1", "Some are not")
    names = tuple(map(str, range(1, y.shape[1] + 1)))
    return Scene("drawing", X, csr_array(y.astype(np.int8)), names, n_total=len(X))


def _table(rows: Any, name: str, narrowest: int, widest: int) -> np.ndarray:
    """Return a list of lists of numbers as an array."""
    problem = (
        f"{name} must be a list of 1 to {MOST_POINTS} lists of "
        + (f"{widest}" if narrowest == widest else f"{narrowest} to {widest}")
        + " numbers"
    )
    if not isinstance(rows, list) or not 1 <= len(rows) <= MOST_POINTS:
        found = f"It has {len(rows)} rows" if isinstance(rows, list) else "It is not a list"
        raise InputError(problem, found)
    width = len(rows[0]) if isinstance(rows[0], list) else -1
    good = narrowest <= width <= widest and all(
        isinstance(row, list)
        and len(row) == width
        and all(isinstance(cell, (int, float)) and not isinstance(cell, bool) for cell in row)
        for row in rows
    )
    if not good:
        raise InputError(problem, "A row is different")
    try:
        return np.array(rows, dtype=np.float64)
    except OverflowError:
        raise InputError(problem, "A number is too large") from None


def _number(
    document: dict[str, Any], name: str, least: int, most: float, *, whole: bool = False
) -> Any:
    value: Any = document.get(name)
    is_number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if not is_number or not least <= value <= most:
        raise InputError(
            f"{name} must be {'an integer' if whole else 'a number'} from {least} to {most}",
            f"Got {value!r:.50}",
        )
    return value


def _scale(value: Any) -> str | None:
    if value not in _SCALES:
        raise InputError("scale must be null, 'range' or 'standard'", f"Got {value!r:.50}")
    return value
