"""Studies by name, as TOML files in ``presets``; and the paper's learners and methods."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from labelance._utils._messages import did_you_mean
from labelance.exceptions import StudyError
from labelance.study._design import Learner, Method

_FOLDER = Path(__file__).with_name("presets")
PRESETS = tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


def read_preset(name: str) -> dict[str, Any]:
    """Return the plan of a preset as plain values."""
    return tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def paper_datasets() -> list[str]:
    """Return the names of the paper's datasets."""
    return read_preset("paper")["datasets"]


def paper_learner(name: str) -> Learner:
    """Return a learner of the paper by its name."""
    return _of_paper(name, "learner")


def paper_method(name: str) -> Method:
    """Return a method of the paper by its name."""
    return _of_paper(name, "method")


def _of_paper(name: str, kind: str) -> Any:
    parts = _paper_parts()[kind]
    if name in parts:
        return parts[name]
    raise StudyError(
        f"A {kind} given by name only must be one of the paper's: {', '.join(parts)}",
        f"Got {name!r}",
        f'{did_you_mean(name, parts)}Or write a table: {{name = "{name}", ...}}',
    )


@cache
def _paper_parts() -> dict[str, dict[str, Any]]:
    plan = read_preset("paper")
    kinds: dict[str, Any] = {"learner": Learner, "method": Method}
    return {
        kind: {item["name"]: found.of(item) for item in plan[f"{kind}s"]}
        for kind, found in kinds.items()
    }
