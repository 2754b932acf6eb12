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
    scale = document.get("scale")
    if scale not in _SCALES:
        raise InputError("scale must be null, 'range' or 'standard'", f"Got {scale!r:.50}")
    return Request(
        scene=_find_scene(document, scenes),
        n_neighbors=_number(document, "n_neighbors", 1, MOST_NEIGHBORS, whole=True),
        ratio=_number(document, "ratio", 0, LARGEST_RATIO),
        seed=_number(document, "seed", 0, 2**32 - 1, whole=True),
        scale=scale,
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
    X = _table(document, "points", 2, 2, _FARTHEST)
    y = _table(document, "labels", 1, MOST_LABELS, 1)
    if len(X) != len(y) or not np.isin(y, (0, 1)).all():
        raise InputError(
            "Every point needs labels, 0 or 1", f"Got {len(X)} points and {len(y)} rows of labels"
        )
    names = tuple(map(str, range(1, y.shape[1] + 1)))
    return Scene("drawing", X, csr_array(y.astype(np.int8)), names, n_total=len(X))


def _table(
    document: dict[str, Any], name: str, narrowest: int, widest: int, largest: float
) -> np.ndarray:
    """Return a list of lists of numbers as an array."""
    try:
        table = np.array(document.get(name))
    except ValueError:  # rows of several lengths
        table = np.empty(0)
    shaped = table.ndim == 2 and len(table) <= MOST_POINTS and narrowest <= table.shape[1] <= widest
    # Comparisons refuse NaN, too.
    if not shaped or table.dtype.kind not in "if" or not (abs(table) <= largest).all():
        raise InputError(
            f"{name} must be a list of 1 to {MOST_POINTS} lists of {narrowest} to {widest} numbers "
            f"up to {largest:g}",
            f"Got an array of shape {table.shape}",
        )
    return table.astype(np.float64)


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
