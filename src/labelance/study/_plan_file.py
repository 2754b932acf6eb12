"""A study as a TOML file, or as the plain values that a store keeps."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from labelance.exceptions import StudyError
from labelance.study._component import Component
from labelance.study._design import DataSource, Learner, Method, document, files_of
from labelance.study._presets import PRESETS, paper_learners, paper_methods
from labelance.study._study import Study

_KEYS = ("name", "datasets", "learners", "methods", "repeats", "folds", "seed", "protocol")


def load_study(what: str | Path) -> Study:
    """Return a preset by its name, or the study that a TOML file describes.

    Parameters
    ----------
    what : str or path
        ``paper``, ``paper-small``, ``mulan-small``, ``fair``, ``quick``, or a file.

    Notes
    -----
    A file looks like this; names alone mean the paper's learners and methods and datasets of
    the catalogue, and files are found from the folder of the TOML file::

        name = "tags"
        repeats = 5
        datasets = ["flags", {name = "mine", path = "tags.arff.gz", labels = "tags.xml"}]
        methods = ["Default", "MLSOL", "EMLSOL"]
        learners = ["BR"]

        [[learners]]           # in place of the line above, or see the user guide
        name = "Forest"
        class = "sklearn.ensemble.RandomForestClassifier"
        n_estimators = 50

    Examples
    --------
    >>> from labelance.study import load_study
    >>> [method.name for method in load_study("quick").methods]
    ['Default', 'MLSMOTE', 'RHwRSMT', 'MLSOL', 'EMLSMOTE', 'ERHwRSMT', 'EMLSOL']
    """
    if str(what) in PRESETS:
        return PRESETS[str(what)]()
    path = Path(what)
    if not path.is_file():
        raise StudyError(
            f"A study is one of {', '.join(PRESETS)}, or a TOML file",
            f"{str(what)!r} is neither",
            "Check the spelling or the path",
        )
    try:
        plan = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StudyError(f"{path} is a TOML file", str(error), "Mend that place") from error
    return study_of(plan, folder=path.parent, name=path.stem)


def list_presets() -> tuple[str, ...]:
    """Return the names of the studies that come with the package.

    Examples
    --------
    >>> from labelance.study import list_presets
    >>> "paper" in list_presets()
    True
    """
    return tuple(PRESETS)


def study_of(plan: Mapping[str, Any], *, folder: Path | None = None, name: str = "study") -> Study:
    """Return the study that plain values describe."""
    _refuse_other_keys(plan, _KEYS, "A study")
    for key in ("datasets", "learners", "methods"):
        if not isinstance(plan.get(key), Sequence) or isinstance(plan[key], str) or not plan[key]:
            raise StudyError(
                f"A study has a list of {key}", f"{plan.get(key)!r} came", f"Write {key} = [...]"
            )
    protocol = plan.get("protocol")
    return Study(
        str(plan.get("name", name)),
        tuple(_source(item, folder, protocol) for item in plan["datasets"]),
        tuple(map(_learner, plan["learners"])),
        tuple(map(_method, plan["methods"])),
        **{key: _whole(plan[key], key) for key in ("repeats", "folds", "seed") if key in plan},
    )


def plan_of(study: Study) -> dict[str, Any]:
    """Return a study as plain values, from which :func:`study_of` makes it again."""
    return {
        "name": study.name,
        "repeats": study.repeats,
        "folds": study.folds,
        "seed": study.seed,
        "datasets": [document(part) for part in study.datasets],
        "learners": [document(part) for part in study.learners],
        "methods": [document(part) for part in study.methods],
    }


def _source(item: Any, folder: Path | None, protocol: str | None) -> DataSource:
    if isinstance(item, str):
        return DataSource(item, protocol=protocol)
    options = _table(item, "A dataset", [field.name for field in fields(DataSource)])
    options.setdefault("protocol", None if "path" in options or "make" in options else protocol)
    if folder is not None:
        # From the root, so that a plan means the same wherever it is read from.
        for key, name in files_of(options).items():
            options[key] = os.path.abspath(folder / name)
    if "make" in options:
        options["make"] = Component.of(options["make"])
    return DataSource(**options)


def part_of(kind: str, item: Any) -> Any:
    """Return a part of a study from what a plan or a user says: itself, a name, or a table."""
    if isinstance(item, (DataSource, Learner, Method)):
        return item
    if kind == "datasets":
        return _source(item, Path(), None)
    return _learner(item) if kind == "learners" else _method(item)


def _learner(item: Any) -> Learner:
    if isinstance(item, str):
        return _of_paper(item, paper_learners(), "learner")
    options = _table(item, "A learner")
    name = options.pop("name")
    return Learner(name, Component.of(options))


def _method(item: Any) -> Method:
    if isinstance(item, str):
        return _of_paper(item, paper_methods(), "method")
    options = _table(item, "A method", [field.name for field in fields(Method)])
    if options.get("sampler") is not None:
        options["sampler"] = Component.of(options["sampler"])
    return Method(**options)


def _of_paper(name: str, parts: Any, kind: str) -> Any:
    for part in parts:
        if part.name == name:
            return part
    raise StudyError(
        f"A bare {kind} is one of the paper's: {', '.join(part.name for part in parts)}",
        f"{name!r} came",
        f'Write a table: {{name = "{name}", ...}}',
    )


def _table(item: Any, what: str, keys: Sequence[str] | None = None) -> dict[str, Any]:
    if not isinstance(item, Mapping) or not isinstance(item.get("name"), str):
        raise StudyError(f"{what} is a name, or a table with a name", f"{item!r} came", "Name it")
    if keys is not None:
        _refuse_other_keys(item, keys, f"{what} ({item['name']})")
    return dict(item)


def _refuse_other_keys(item: Mapping[str, Any], keys: Sequence[str], what: str) -> None:
    for key in item:
        if key not in keys:
            raise StudyError(f"{what} has the keys {', '.join(keys)}", f"{key!r} came", "Remove it")


def _whole(value: Any, key: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < (key != "seed"):
        raise StudyError(f"{key} is a whole number", f"{value!r} came", f"Write {key} = 2")
    return value
