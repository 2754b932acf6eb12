"""A study as a TOML file, or as the plain values that a store keeps.

TOML is written by hand, in fifty lines: tomli-w would be one more package that the core needs, and
writes the paper's plan in 142 lines instead of 97, since a sampler takes six lines instead of one.
"""

from __future__ import annotations

import json
import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from labelance._utils._messages import did_you_mean
from labelance.exceptions import StudyError
from labelance.study._design import (
    PRESETS,
    DataSource,
    Learner,
    Method,
    check_no_other_keys,
    files_of,
    read_preset,
    require_text,
)
from labelance.study._study import PARTS, Study, check_no_repeated_names, plan_of

_KEYS = ("name", "datasets", "learners", "methods", "repeats", "folds", "seed", "protocol")
# The paper's study has 5,460. A damaged number must not fill the memory with names of cells.
_MOST_CELLS = 10_000_000
Trust = tuple[str, ...] | None


def load_study(what: str | Path) -> Study:
    """Return a preset by its name, or the study that a TOML file describes.

    Parameters
    ----------
    what : str or path
        ``paper``, ``paper-small``, ``mulan-small``, ``fair``, ``rivals``, ``beyond``,
        ``practice``, ``practice-sparse``, ``leaderboard``, ``quick``, or a file.

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
        return study_of(read_preset(str(what)), name=str(what))
    path = Path(what)
    if not os.path.isfile(path):
        known = f"A study must be one of {', '.join(PRESETS)}, or a TOML file"
        raise StudyError(known, f"Got {str(what)!r}", did_you_mean(what, PRESETS))
    return read_plan(path)


def read_plan(path: Path, *, trust: Trust = None) -> Study:
    """Return the study of a TOML file; see :func:`study_of` for what is trusted."""
    return study_of(_read_toml(path), folder=path.parent, name=path.stem, trust=trust)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # TOML's, and of bytes that are no text
        raise StudyError(
            f"{path} is not a valid TOML file", f"The parser reports: {error}"
        ) from error


def extend_study(study: Study, path: str | Path) -> Study:
    """Return what a study lacks to hold datasets or learners of yours against its results.

    Parameters
    ----------
    study : Study
        A preset, say, whose results are committed.
    path : path
        A TOML file with ``[[datasets]]``, ``[[learners]]`` or both, as in :func:`load_study`.

    Returns
    -------
    Study
        Your datasets with all learners, the study's and yours; or, without datasets in the file,
        your learners on the datasets of the study. Folds, seed and methods are those of the study,
        so that :func:`merge_results` brings both together.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelance.study import extend_study, load_study
    >>> neighbors = 'name = "Neighbors", class = "sklearn.neighbors.KNeighborsClassifier"'
    >>> mine = f"learners = [{{{neighbors}}}]"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "mine.toml").write_text(mine)
    ...     more = extend_study(load_study("leaderboard"), f"{folder}/mine.toml")
    >>> len(more.datasets), [learner.name for learner in more.learners]
    (12, ['Neighbors'])
    """
    path = Path(path)
    if not os.path.isfile(path):
        raise StudyError(
            f"{path} does not exist", "Your own datasets and learners must be in a TOML file"
        )
    plan = _read_toml(path)
    _check_no_other_values(plan)
    check_no_other_keys(plan, ("datasets", "learners"), f"A file that adds to {study.name}")
    if not any(plan.values()):
        problem = f"A file that adds to {study.name} must have datasets or learners"
        raise StudyError(problem, f"{path} has neither")
    learners = tuple(plan.get("learners", ()))
    if not plan.get("datasets"):
        return replace(study, learners=learners)
    datasets = tuple(_source(item, path.parent, None, None) for item in plan["datasets"])
    return replace(study, datasets=datasets, learners=(*study.learners, *learners))


def list_presets() -> tuple[str, ...]:
    """Return the names of the studies that come with the package.

    Examples
    --------
    >>> from labelance.study import list_presets
    >>> "paper" in list_presets()
    True
    """
    return PRESETS


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
        Modules whose code may be built, for a plan of others' results; no file that such a
        plan names is opened here. None, for a plan of the user's own, trusts it all.
    """
    _check_no_other_values(plan)
    check_no_other_keys(plan, _KEYS, "A study")
    for key in PARTS:
        if not isinstance(plan.get(key), Sequence) or isinstance(plan[key], str) or not plan[key]:
            raise StudyError(f"{key} of a study must be a list", f"Got {plan.get(key)!r}")
    protocol = require_text(plan.get("protocol"), "protocol")
    numbers: dict[str, Any] = {
        key: _whole(plan[key], key) for key in ("repeats", "folds", "seed") if key in plan
    }

    def parts(kind: Any, items: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(one if isinstance(one, str) else kind.of(one, trust=trust) for one in items)

    study = Study(
        require_text(plan.get("name"), "name") or name,
        tuple(_source(item, folder, protocol, trust) for item in plan["datasets"]),
        parts(Learner, plan["learners"]),
        parts(Method, plan["methods"]),
        **numbers,
    )
    if trust is not None:
        # Their classes are not asked; rows say more, once they are there.
        study = replace(study, weighing=tuple(learner.name for learner in study.learners))
    else:  # a part of a study may name learners that were left out; a plan that is written may not
        for name in dict.fromkeys(name for method in study.methods for name in method.learners):
            study.learner(name)
    for part in PARTS:
        check_no_repeated_names(part, getattr(study, part))
    sizes = (len(getattr(study, part)) for part in PARTS)
    count = math.prod(sizes, start=study.repeats * study.folds)
    if count > _MOST_CELLS:
        raise StudyError(f"A study can have at most {_MOST_CELLS:,} cells", f"It has {count:,}")
    return study


def _source(item: Any, folder: Path | None, protocol: str | None, trust: Trust) -> DataSource:
    """Return a dataset; the protocol of the plan is for those of the catalogue."""
    if isinstance(item, str):
        if Path(item).suffix:  # no name of the catalogue has one
            raise StudyError(
                "A dataset given by name only must be one of the catalogue",
                f"Got {item!r}",
                f'Write a table for a file: {{name = "{Path(item).stem}", path = "{item}"}}',
            )
        return DataSource(item, protocol=protocol)
    if isinstance(item, Mapping) and not {"path", "make"} & item.keys():
        item = {"protocol": protocol, **item}
    return DataSource.of(item, folder=folder, trust=trust)


def _check_no_other_values(plan: Any) -> None:
    """Raise unless a plan is a table of values that JSON and files can hold."""
    try:
        json.dumps(plan, ensure_ascii=False).encode()
        found = None if isinstance(plan, Mapping) else f"Got a {type(plan).__name__}"
    except (TypeError, ValueError, RecursionError) as error:
        found = str(error)
    if found:
        raise StudyError("A plan must be a table of numbers, strings, lists and tables", found)


def _whole(value: Any, key: str) -> int:
    least, most = int(key != "seed"), 2**63 - 1
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise StudyError(f"{key} must be an integer", f"Got {value!r}")
    return value


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
    sampler = {class = "MLSOL", k_neighbors = 5, sampling_ratio = 0.3, ...}
    stream = 2957388254
    <BLANKLINE>
    """
    plan = plan_of(study)
    tables = {kind: plan.pop(kind) for kind in PARTS}
    for source in tables["datasets"]:
        if folder is None:  # a plan to begin with: what the files say is read again
            source.pop("content", None)
        else:
            for key, name in files_of(source).items():
                source[key] = Path(os.path.relpath(name, folder)).as_posix()
    head = [f"{key} = {_value(item)}" for key, item in plan.items()]
    names = [source["name"] for source in tables["datasets"]]
    rest = [{**source, "name": ""} for source in tables["datasets"]]
    # Names do for datasets of the catalogue that all have one protocol.
    if all(one == rest[0] and one.keys() <= {"name", "protocol"} for one in rest):
        if "protocol" in rest[0]:
            head.append(f"protocol = {_value(rest[0]['protocol'])}")
        line = _value(names)
        if len(line) > _WIDTH:
            line = "[\n" + "".join(f"  {_value(name)},\n" for name in names) + "]"
        head.append(f"datasets = {line}")
        del tables["datasets"]
    blocks = ["\n".join(head)]
    for name, items in tables.items():
        for item in items:
            lines = (f"{_key(key)} = {_value(value)}" for key, value in item.items())
            blocks.append("\n".join([f"[[{name}]]", *lines]))
    return "\n\n".join(blocks) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return f"{value:.1f}"  # 1.0 and 1 are not the same parameter
    if isinstance(value, (bool, int, float)):
        return repr(value).lower()  # true, inf, nan, 1e-05
    raise StudyError("A plan in TOML can hold numbers, strings, lists and tables", f"Got {value!r}")


def _key(key: str) -> str:
    plain = key.replace("_", "").replace("-", "")
    return key if plain.isascii() and plain.isalnum() else _string(key)


def _string(text: str) -> str:
    # JSON's strings are TOML's, but for halves of surrogate pairs and the sign DEL.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
