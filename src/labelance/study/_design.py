"""What is compared on what: datasets, learners, methods, and the cells that they make."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, NamedTuple

from labelance._utils import did_you_mean
from labelance.datasets import label_file_beside
from labelance.exceptions import StudyError
from labelance.study._component import Component


class Fold(NamedTuple):
    """A test fold of one repetition on a dataset: what a runner claims."""

    dataset: str
    repeat: int
    fold: int


class Cell(NamedTuple):
    """One evaluation: a method under a learner, tested on a fold; ``str(cell)`` is its key.

    Examples
    --------
    >>> from labelance.study import Cell
    >>> str(Cell("flags", "BR", "EMLSOL", 0, 1))
    'flags/BR/EMLSOL/0/1'
    """

    dataset: str
    learner: str
    method: str
    repeat: int
    fold: int

    def __str__(self) -> str:
        return "/".join(map(str, self))

    @property
    def place(self) -> Fold:
        """Return the fold that it is tested on."""
        return Fold(self.dataset, self.repeat, self.fold)


Cells = tuple[Cell, ...]


def group_by_fold(cells: Iterable[Cell], *, by_learner: bool = False) -> Iterator[Cells]:
    """Group cells by fold, since they share its data and neighbors, in the order they come.

    ``by_learner`` makes smaller groups: of one fold and learner each.
    """
    groups: dict[Any, list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.place, cell.learner if by_learner else None), []).append(cell)
    order = {place: number for number, place in enumerate(dict.fromkeys(p for p, _ in groups))}
    for key in sorted(groups, key=lambda key: order[key[0]]):
        yield tuple(groups[key])


Objective = Literal["f1", "gmean", "balanced_accuracy"]
Bootstrap = Literal[False, True, "beside"]
# Modules whose code may be built; None trusts all, since the user wrote the plan.
Trust = tuple[str, ...] | None


@dataclass(frozen=True)
class DataSource:
    """A dataset of the catalogue by name, a file, or what a function makes.

    Parameters
    ----------
    name : str
        How tables call it.
    path : str, optional
        A file that :func:`labelance.datasets.read_multilabel` reads; without it the name is
        looked up in the catalogue.
    labels : str, int or list, optional
        Which columns of the file are labels, as ``read_multilabel`` takes it.
    make : Component, optional
        A function by its import path, with arguments, that returns (X, Y) or a dataset.
    protocol : {"paper"} or None, default=None
        Reduce features and labels as the paper does (catalogue only).
    folds : str, optional
        A CSV file with the column ``row`` and one column ``rep0, rep1, …`` of fold numbers for
        each repetition, in place of our own splits.
    content : str, optional
        A hash of the files, taken when they are first named: results belong to what a file
        says, not to where it lies.
    look : bool, default=True
        Whether files may be opened for that hash; False for a plan that came with results.
    """

    name: str
    path: str | None = None
    labels: Any = None
    make: Component | None = None
    protocol: str | None = None
    folds: str | None = None
    content: str | None = None
    look: InitVar[bool] = True

    def __post_init__(self, look: bool) -> None:
        if self.content is None and look:
            object.__setattr__(self, "content", content_of(self))

    @classmethod
    def of(cls, item: Any, *, folder: Path | None = None, trust: Trust = None) -> DataSource:
        """Read a table, or a dataset; names of files count from the folder."""
        if isinstance(item, DataSource):
            return item
        options = _table(item, "A dataset", [field.name for field in fields(cls)])
        for key in ("path", "folds", "content", "protocol"):
            require_text(options.get(key), f"{key} of {options['name']}")
        if folder is not None:
            # From the root, so that a plan means the same wherever it is read from.
            for key, name in files_of(options).items():
                options[key] = os.path.abspath(folder / name)
        if options.get("make") is not None:
            options["make"] = Component.of(options["make"], trust=trust)
        return cls(**options, look=trust is None)


@dataclass(frozen=True)
class Learner:
    """A multi-label classifier and its name."""

    name: str
    component: Component

    @classmethod
    def of(cls, item: Any, *, trust: Trust = None) -> Learner:
        """Read a table, or a learner."""
        if isinstance(item, Learner):
            return item
        options = _table(item, "A learner")
        return cls(options.pop("name"), Component.of(options, trust=trust))


@dataclass(frozen=True)
class Method:
    """What is done about imbalance around any learner.

    Parameters
    ----------
    name : str
        How tables call it.
    sampler : Component, optional
        Anything with ``fit_resample``; None leaves the rows as they are.
    n_estimators : int, default=1
        Members; their scores are averaged.
    bootstrap : bool or "beside", default=False
        Whether members see rows drawn with replacement: before sampling, or "beside" the rows
        that the sampler, which sees all rows, adds.
    objective : {"f1", "gmean", "balanced_accuracy"} or None, default=None
        What the thresholds maximise. None keeps the learner's own rule, or 0.5 for the mean of
        several members.
    threshold_search, threshold_data, variant
        As in :class:`labelance.ensemble.EMLS`.
    balanced : bool, default=False
        Weigh the classes of every label, where the base classifier of the learner can.
    learners : sequence of str, default=()
        The learners it is used with; all of the study unless given.
    stream : int, optional
        Which random numbers its sampler draws. Without it that follows from the class and the
        parameters of the sampler; the presets say it, so that a parameter can have a new name
        and the figures stay.
    """

    name: str
    sampler: Component | None = None
    n_estimators: int = 1
    bootstrap: Bootstrap = False
    objective: Objective | None = None
    threshold_search: Literal["exact", "grid"] = "exact"
    threshold_data: Literal["train", "oob", "cv"] = "train"
    variant: Literal["paper", "mulan"] = "paper"
    balanced: bool = False
    learners: tuple[str, ...] = ()
    stream: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "learners", tuple(self.learners))

    @classmethod
    def of(cls, item: Any, *, trust: Trust = None) -> Method:
        """Read a table, or a method."""
        if isinstance(item, Method):
            return item
        options = _table(item, "A method", [field.name for field in fields(cls)])
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
        method = cls(**options)
        method.refuse_wrong_values()
        return method

    def refuse_wrong_values(self) -> None:
        """Raise for options that a method cannot have, whatever its sampler is."""
        choices: dict[str, tuple[Any, ...]] = {
            "objective": ("f1", "gmean", "balanced_accuracy", None),
            "threshold_search": ("exact", "grid"),
            "variant": ("paper", "mulan"),
            "threshold_data": ("train", "oob", "cv"),
            "bootstrap": (False, True, "beside"),
            "balanced": (False, True),
        }
        wrong = next(
            (
                (f"{name} is {getattr(self, name)!r}", f"Choose one of {known}")
                for name, known in choices.items()
                if not _is_one_of(getattr(self, name), known)
            ),
            None,
        )
        if self.stream is not None and not _is_count(self.stream):
            wrong = f"stream is {self.stream!r}", "Give a whole number, or leave it out"
        number = self.n_estimators
        if isinstance(number, bool) or not isinstance(number, int):
            wrong = f"n_estimators is {number!r}", "Give a whole number"
        elif number < 1:
            wrong = f"n_estimators is {number}", "Choose at least 1"
        if wrong:
            raise StudyError(f"The method {self.name} has options that a method has", *wrong)

    @property
    def family(self) -> Family:
        """Return what decides its training sets; methods of one family share members."""
        return Family(self.sampler, self.bootstrap, self.balanced, self.stream)

    @property
    def shares_members(self) -> bool:
        """Say whether its thresholds come from scores that the family has anyway."""
        return self.objective is None or self.threshold_data == "train"


@dataclass(frozen=True)
class Family:
    """Methods with the same training sets: a single model is the first member of its ensemble."""

    sampler: Component | None
    bootstrap: Bootstrap
    balanced: bool
    stream: int | None = None

    @property
    def seed_key(self) -> int:
        """Return a number for the random streams, the same in every process and release."""
        if self.stream is not None:
            return self.stream
        return stable_hash([self.sampler and self.sampler.document(), self.bootstrap])


def document(value: Any) -> dict[str, Any]:
    """Return a part of the design as plain values without what is left at its default."""
    if isinstance(value, Learner):
        return {"name": value.name, **value.component.document()}
    plain = asdict(value)
    if isinstance(value, Method):
        plain["sampler"] = value.sampler and value.sampler.document()
    if isinstance(value, DataSource):
        plain["make"] = value.make and value.make.document()
    usual = type(value)(value.name)
    return {
        key: item for key, item in plain.items() if key == "name" or item != getattr(usual, key)
    }


def identity(source: DataSource) -> dict[str, Any]:
    """Return what decides the figures on a dataset: of a file what it says, not its place."""
    plain = document(source)
    files = () if source.content is None else files_of(plain)
    return {key: item for key, item in plain.items() if key not in files}


def files_of(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the files that a dataset names; labels may also be names of columns or a number."""
    named = {key: options.get(key) for key in ("path", "folds", "labels")}
    return {
        key: name
        for key, name in named.items()
        if isinstance(name, str) and (key != "labels" or name.endswith(".xml"))
    }


def content_of(source: DataSource) -> str | None:
    """Return a hash of what the files of a dataset say now, a label file beside them included."""
    names = list(files_of(vars(source)).values())
    if source.path is not None and source.labels is None:
        beside = label_file_beside(Path(source.path))
        names += [str(beside)] if os.path.isfile(beside) else []
    return _hash_files(names)


def _hash_files(names: Iterable[str]) -> str | None:
    """Return a hash of what files say, or None if one is not there, or none is named."""
    paths = list(map(Path, names))
    # Not Path.is_file, which raises for a name that is longer than names may be.
    if not paths or not all(map(os.path.isfile, paths)):
        return None
    return digest([hashlib.sha256(path.read_bytes()).hexdigest() for path in paths])


def digest(value: Any) -> str:
    """Return twelve hexadecimal digits that stand for plain values."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def stable_hash(value: Any) -> int:
    """Return a number below 2**32 that is the same in every process."""
    return int(digest(value)[:8], 16)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_one_of(value: Any, known: tuple[Any, ...]) -> bool:
    """Say whether a value is among others; 1 equals True, but is not what the study looks for."""
    return any(type(value) is type(one) and value == one for one in known)


def _table(item: Any, what: str, keys: Sequence[str] | None = None) -> dict[str, Any]:
    if not isinstance(item, Mapping) or not isinstance(item.get("name"), str):
        raise StudyError(f"{what} is a name, or a table with a name", f"{item!r} came", "Name it")
    if keys is not None:
        refuse_other_keys(item, keys, f"{what} ({item['name']})")
    return dict(item)


def refuse_other_keys(item: Mapping[str, Any], keys: Sequence[str], what: str) -> None:
    """Raise for a key that a table of a plan does not have."""
    for key in item:
        if key not in keys:
            raise StudyError(
                f"{what} has the keys {', '.join(keys)}",
                f"{key!r} came",
                f"{did_you_mean(key, keys)}Correct or remove it",
            )


def require_text(value: Any, what: str) -> str | None:
    """Return a value of a plan if it is text, or not given."""
    if value is not None and not isinstance(value, str):
        raise StudyError(f"The {what} is text", f"{value!r} came", "Mend the plan")
    return value
