"""A study as a TOML file, or as the plain values that a store keeps."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from labelance.exceptions import StudyError
from labelance.study._check import refuse_repeated_names, refuse_wrong_values
from labelance.study._component import Component
from labelance.study._design import DataSource, Learner, Method, document, files_of
from labelance.study._presets import PRESETS, paper_learners, paper_methods
from labelance.study._study import Study

_KEYS = ("name", "datasets", "learners", "methods", "repeats", "folds", "seed", "protocol")
_PARTS = ("datasets", "learners", "methods")
# The paper's study has 5,460. A damaged number must not fill the memory with names of cells.
_MOST_CELLS = 10_000_000
Trust = tuple[str, ...] | None


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
    if not os.path.isfile(path):
        raise StudyError(
            f"A study is one of {', '.join(PRESETS)}, or a TOML file",
            f"{str(what)!r} is neither",
            "Check the spelling or the path",
        )
    return read_plan(path)


def read_plan(path: Path, *, trust: Trust = None) -> Study:
    """Return the study of a TOML file; see :func:`study_of` for what is trusted."""
    try:
        plan = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # TOML's, and of bytes that are no text
        raise StudyError(f"{path} is a TOML file", str(error), "Mend that place") from error
    return study_of(plan, folder=path.parent, name=path.stem, trust=trust)


def list_presets() -> tuple[str, ...]:
    """Return the names of the studies that come with the package.

    Examples
    --------
    >>> from labelance.study import list_presets
    >>> "paper" in list_presets()
    True
    """
    return tuple(PRESETS)


def study_of(
    plan: Any, *, folder: Path | None = None, name: str = "study", trust: Trust = None
) -> Study:
    """Return the study that plain values describe.

    Parameters
    ----------
    plan : mapping
        What a TOML file, a store or a user says.
    folder : path, optional
        Where the names of files count from.
    name : str
        How the study is called, unless the plan says it.
    trust : tuple of str, optional
        Modules whose code may be built, for a plan that came with results; no file that such a
        plan names is opened here. None, for a plan of the user's own, trusts it all.
    """
    _refuse_other_values(plan)
    _refuse_other_keys(plan, _KEYS, "A study")
    for key in _PARTS:
        if not isinstance(plan.get(key), Sequence) or isinstance(plan[key], str) or not plan[key]:
            raise StudyError(
                f"A study has a list of {key}", f"{plan.get(key)!r} came", f"Write {key} = [...]"
            )
    protocol = _text(plan.get("protocol"), "protocol")
    numbers: dict[str, Any] = {
        key: _whole(plan[key], key) for key in ("repeats", "folds", "seed") if key in plan
    }
    study = Study(
        _text(plan.get("name"), "name") or name,
        tuple(_source(item, folder, protocol, trust) for item in plan["datasets"]),
        tuple(_learner(item, trust) for item in plan["learners"]),
        tuple(_method(item, trust) for item in plan["methods"]),
        **numbers,
    )
    if trust is not None:
        # Their classes are not asked; rows say more, once they are there.
        study = replace(study, weighing=tuple(learner.name for learner in study.learners))
    for part in _PARTS:
        refuse_repeated_names(part, getattr(study, part))
    _refuse_too_many_cells(study)
    return study


def _refuse_other_values(plan: Any) -> None:
    """Raise unless a plan is a table of values that JSON and files can hold."""
    try:
        json.dumps(plan, ensure_ascii=False).encode()
        came = None if isinstance(plan, Mapping) else f"a {type(plan).__name__} came"
    except (TypeError, ValueError, RecursionError) as error:
        came = str(error)
    if came:
        raise StudyError("A plan is a table of numbers, words, lists and tables", came, "Mend it")


def _refuse_too_many_cells(study: Study) -> None:
    count = study.repeats * study.folds
    for part in _PARTS:
        count *= len(getattr(study, part))
    if count > _MOST_CELLS:
        raise StudyError(
            f"A study has at most {_MOST_CELLS:,} cells",
            f"{study.name} has {count:,} with {study.repeats} repeats and {study.folds} folds",
            "Lower them, or make several studies of it",
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


def _source(
    item: Any, folder: Path | None, protocol: str | None, trust: Trust = None
) -> DataSource:
    if isinstance(item, str):
        return DataSource(item, protocol=protocol)
    options = _table(item, "A dataset", [field.name for field in fields(DataSource)])
    options.setdefault("protocol", None if "path" in options or "make" in options else protocol)
    for key in ("path", "folds", "content", "protocol"):
        _text(options.get(key), f"{key} of {options['name']}")
    if folder is not None:
        # From the root, so that a plan means the same wherever it is read from.
        for key, name in files_of(options).items():
            options[key] = os.path.abspath(folder / name)
    if options.get("make") is not None:
        options["make"] = Component.of(options["make"], trust=trust)
    return DataSource(**options, look=trust is None)


def part_of(kind: str, item: Any) -> Any:
    """Return a part of a study from what a plan or a user says: itself, a name, or a table."""
    if isinstance(item, (DataSource, Learner, Method)):
        return item
    if kind == "datasets":
        return _source(item, Path(), None)
    return _learner(item) if kind == "learners" else _method(item)


def _learner(item: Any, trust: Trust = None) -> Learner:
    if isinstance(item, str):
        return _of_paper(item, paper_learners(), "learner")
    options = _table(item, "A learner")
    name = options.pop("name")
    return Learner(name, Component.of(options, trust=trust))


def _method(item: Any, trust: Trust = None) -> Method:
    if isinstance(item, str):
        return _of_paper(item, paper_methods(), "method")
    options = _table(item, "A method", [field.name for field in fields(Method)])
    if options.get("sampler") is not None:
        options["sampler"] = Component.of(options["sampler"], trust=trust)
    learners = options.get("learners", ())
    if not isinstance(learners, (list, tuple)) or not all(
        isinstance(name, str) for name in learners
    ):
        raise StudyError(
            f"The method {item['name']} is used with a list of learners",
            f"{learners!r} came",
            'Write learners = ["BR"]',
        )
    method = Method(**options)
    refuse_wrong_values(method)
    return method


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
    least, most = int(key != "seed"), 2**63 - 1  # SQLite keeps 64 bits
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise StudyError(f"{key} is a whole number", f"{value!r} came", f"Write {key} = 2")
    return value


def _text(value: Any, what: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise StudyError(f"The {what} is text", f"{value!r} came", "Mend the plan")
    return value
