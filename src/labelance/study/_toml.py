"""A plan written as TOML, for people to start their own from."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labelance.exceptions import StudyError
from labelance.study._design import files_of
from labelance.study._plan_file import plan_of
from labelance.study._study import Study

_WIDTH = 88


def to_toml(study: Study, *, folder: str | os.PathLike[str] | None = None) -> str:
    """Return a study as TOML, from which :func:`load_study` makes it again.

    Parameters
    ----------
    study : Study
        What to write.
    folder : path, optional
        Where the text will lie: files are named from there. Without it names stay as they are.

    Examples
    --------
    >>> from labelance.study import load_study, to_toml
    >>> study = load_study("paper").only(datasets=["flags"], learners=["BR"], methods=["MLSOL"])
    >>> print(to_toml(study))
    name = "paper"
    repeats = 5
    folds = 2
    seed = 0
    protocol = "paper"
    datasets = ["flags"]
    <BLANKLINE>
    [[learners]]
    name = "BR"
    class = "BinaryRelevance"
    <BLANKLINE>
    [[methods]]
    name = "MLSOL"
    sampler = {class = "MLSOL", k_neighbors = 5, rare_rule = "paper", ...}
    <BLANKLINE>
    """
    plan = plan_of(study)
    datasets = [_named_from(source, folder) for source in plan.pop("datasets")]
    tables = {name: plan.pop(name) for name in ("learners", "methods")}
    head = [f"{key} = {_value(item)}" for key, item in plan.items()]
    if _are_bare(datasets):
        if "protocol" in datasets[0]:
            head.append(f"protocol = {_value(datasets[0]['protocol'])}")
        head.append(f"datasets = {_list([source['name'] for source in datasets])}")
    else:
        tables = {"datasets": datasets, **tables}
    blocks = ["\n".join(head)]
    for name, items in tables.items():
        for item in items:
            lines = (f"{_key(key)} = {_value(value)}" for key, value in item.items())
            blocks.append("\n".join([f"[[{name}]]", *lines]))
    return "\n\n".join(blocks) + "\n"


def _named_from(source: dict[str, Any], folder: str | os.PathLike[str] | None) -> dict[str, Any]:
    """Name the files of a dataset as seen from a folder, and keep the hash of what they say.

    Without a folder it is a plan to begin with, and what the files say is read anew.
    """
    seen = dict(source)
    if folder is None:
        seen.pop("content", None)
    else:
        for key, name in files_of(seen).items():
            seen[key] = Path(os.path.relpath(name, folder)).as_posix()
    return seen


def _are_bare(datasets: list[dict[str, Any]]) -> bool:
    """Say whether names do for the datasets: of the catalogue, and all of one protocol."""
    rest = [{key: item for key, item in source.items() if key != "name"} for source in datasets]
    return all(one == rest[0] and set(one) <= {"protocol"} for one in rest)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return f"{value:.1f}"  # 1.0 and 1 are not the same parameter
    if isinstance(value, (bool, int, float)):
        return repr(value).lower()  # true, inf, nan, 1e-05
    raise StudyError(
        "A plan in TOML has numbers, words, lists and tables",
        f"{value!r} came",
        "Leave the parameter out where that is its default, or keep this study in Python",
    )


def _list(names: list[str]) -> str:
    line = _value(names)
    if len(line) <= _WIDTH:
        return line
    return "[\n" + "".join(f"  {_value(name)},\n" for name in names) + "]"


def _key(key: str) -> str:
    plain = key.replace("_", "").replace("-", "")
    return key if plain.isascii() and plain.isalnum() else _text(key)


def _text(text: str) -> str:
    # JSON's strings are TOML's, but for halves of surrogate pairs and the sign DEL.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
