"""A study: what is compared, on what, how often, and the cells that this makes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from labelance._arrays._containers import stored_values
from labelance._arrays._labels import has_unknown
from labelance._classifier import why_all_known
from labelance._utils._messages import unknown_name, warn_user
from labelance.datasets import MultiLabelDataset, dataset_info
from labelance.ensemble._training_sets import plans_for_all_bags, why_sampler_needs_all
from labelance.exceptions import LabelanceWarning, StudyError, arg
from labelance.study._design import (
    PACKAGES,
    Component,
    DataSource,
    Learner,
    Method,
    content_of,
    digest,
    document,
    identity,
    paper_part,
    read_file_of,
    takes_weights,
)

# Raised when the same plan gives other numbers than before, so that old rows are not taken.
RULES = 1
PARTS = ("datasets", "learners", "methods")


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


CellGroup = tuple[Cell, ...]


def group_by_fold(cells: Iterable[Cell], *, by_learner: bool = False) -> Iterator[CellGroup]:
    """Group cells by fold, since they share its data and neighbors, in the order they come.

    ``by_learner`` makes smaller groups: of one fold and learner each.
    """
    groups: dict[Any, list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.place, cell.learner if by_learner else None), []).append(cell)
    order = {place: number for number, place in enumerate(dict.fromkeys(p for p, _ in groups))}
    for key in sorted(groups, key=lambda key: order[key[0]]):
        yield tuple(groups[key])


@dataclass(frozen=True)
class Study:
    """Datasets x learners x methods x repetitions x folds.

    Parameters
    ----------
    name : str
        For titles and messages.
    datasets : sequence of DataSource or str
        What is learned from; a bare name is one of the catalogue.
    learners : sequence of Learner or str
        Who learns; a bare name is one of the paper's.
    methods : sequence of Method or str
        What is done about imbalance; likewise.
    repeats, folds : int
        Repetition t splits the rows with the seed t; each fold is tested once. With the
        usual two folds that is the paper's 5x2 cross-validation.
    seed : int
        Where all random streams of the samplers come from.
    weighing : sequence of str, optional
        The learners that can weigh classes. None asks their classes; for a study that was read
        from results, whose code is not touched, it says what the rows say.

    See Also
    --------
    load_study : A preset by name, or a TOML file.

    Examples
    --------
    >>> from labelance.study import load_study
    >>> study = load_study("paper")
    >>> len(study.datasets), len(study.learners), len(study.methods), len(study.cells())
    (13, 6, 7, 5460)
    """

    name: str
    datasets: tuple[DataSource, ...]
    learners: tuple[Learner, ...]
    methods: tuple[Method, ...]
    repeats: int = 5
    folds: int = 2
    seed: int = 0
    weighing: tuple[str, ...] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for kind in PARTS:
            parts = tuple(_part_of(kind, item) for item in getattr(self, kind))
            object.__setattr__(self, kind, parts)

    def cells(self) -> list[Cell]:
        """Return all cells, fold by fold, so that neighbors in the list share work."""
        return [
            Cell(source.name, learner.name, method.name, repeat, fold)
            for source in self.datasets
            for repeat in range(self.repeats)
            for fold in range(self.folds)
            for method in self.methods
            for learner in self.learners
            if self.fits(learner, method)
        ]

    def fits(self, learner: Learner, method: Method) -> bool:
        """Say whether the method is used around the learner: if it is meant to, and can be."""
        if learner.name in method.without or not _names_some(method, [learner]):
            return False
        if not method.balanced:
            return True
        if self.weighing is not None:
            return learner.name in self.weighing
        return takes_weights(self.component(learner, method))

    @staticmethod
    def component(learner: Learner, method: Method) -> Component:
        """Return who learns: the learner, unless the method is one itself."""
        return learner.component if method.learner is None else method.learner

    def dataset(self, name: str) -> DataSource:
        """Return a dataset by its name."""
        return _named("datasets", self.datasets, name)

    def learner(self, name: str) -> Learner:
        """Return a learner by its name."""
        return _named("learners", self.learners, name)

    def method(self, name: str) -> Method:
        """Return a method by its name."""
        return _named("methods", self.methods, name)

    def config(self, cell: Cell) -> str:
        """Return a hash of all that decides the figures of a cell; a store keys rows by it."""
        return self._configs[cell.dataset, cell.learner, cell.method]

    @cached_property
    def _configs(self) -> dict[tuple[str, str, str], str]:
        common = [RULES, self.folds, self.seed]
        datasets = [(source.name, identity(source)) for source in self.datasets]
        others = [
            [(part.name, document(part)) for part in parts]
            for parts in (self.learners, self.methods)
        ]
        return {
            (one[0], two[0], three[0]): digest([common, one[1], two[1], three[1]])
            for one, two, three in product(datasets, *others)
        }

    @cached_property
    def hash(self) -> str:
        """Return a hash of the learners, methods, folds and seed: what one table may hold."""
        parts = [document(part) for part in (*self.learners, *self.methods)]
        return digest([RULES, self.folds, self.seed, *parts])

    def only(
        self,
        *,
        datasets: Sequence[str] | None = None,
        learners: Sequence[str] | None = None,
        methods: Sequence[str] | None = None,
        repeats: int | None = None,
    ) -> Study:
        """Return a smaller study of some datasets, learners, methods or repetitions.

        Unless methods are named, those that are used with none of the learners go with them.

        Examples
        --------
        >>> from labelance.study import load_study
        >>> len(load_study("paper").only(datasets=["flags"], learners=["BR"], repeats=1).cells())
        14
        """
        kept = _choose("learners", self.learners, learners)
        used = tuple(method for method in self.methods if _names_some(method, kept))
        return replace(
            self,
            datasets=_choose("datasets", self.datasets, datasets),
            learners=kept,
            methods=used if methods is None else _choose("methods", self.methods, methods),
            repeats=self.repeats if repeats is None else repeats,
        )

    def installed(self) -> Study:
        """Return the study without learners of optional packages that are not installed.

        A warning names each of them, and the package to install.
        """
        kept = []
        for learner in self.learners:
            package = learner.component.missing_package()
            if package is None:
                kept.append(learner.name)
            else:
                words = f"{package} is not installed (pip install {package})"
                warn_user(f"{learner.name} is skipped: {words}", LabelanceWarning)
        return self if len(kept) == len(self.learners) else self.only(learners=kept)

    def check(self) -> None:
        """Raise for a plan that cannot be run, before any work is done."""
        for kind in PARTS:
            check_no_repeated_names(kind, getattr(self, kind))
        if self.folds < 2 or self.repeats < 1:
            found = f"Got folds={self.folds}, repeats={self.repeats}"
            raise StudyError("A study needs at least two folds and one repetition", found)
        for learner in self.learners:
            _check_learner(learner.name, learner.component)
        for method in self.methods:
            _check_method(method)
            if not _names_some(method, self.learners):
                self.learner(method.learners[0])
        for source in self.datasets:  # last, as files may be large
            _check_source(source, self)


def plan_of(study: Study) -> dict[str, Any]:
    """Return a study as plain values, from which ``study_of`` makes it again."""
    plan = {key: getattr(study, key) for key in ("name", "repeats", "folds", "seed")}
    return plan | {kind: [document(part) for part in getattr(study, kind)] for kind in PARTS}


def components_of(study: Study) -> list[Component]:
    """Return all classes and functions that a study names."""
    parts: list[Any] = [one.component for one in study.learners]
    for method in study.methods:
        parts += [method.sampler, method.learner, method.ensemble]
    return [part for part in (*parts, *(source.make for source in study.datasets)) if part]


def _part_of(kind: str, item: Any) -> Any:
    """Read a part of a study; a bare name is of the catalogue or of the paper."""
    if kind == "datasets":
        return DataSource(item) if isinstance(item, str) else DataSource.of(item, folder=Path())
    found = Learner if kind == "learners" else Method
    return paper_part(kind, item) if isinstance(item, str) else found.of(item)


def _choose(kind: str, parts: Any, names: Sequence[str] | None) -> Any:
    return parts if names is None else tuple(_named(kind, parts, name) for name in names)


def _names_some(method: Method, learners: Iterable[Learner]) -> bool:
    """Say whether a method is meant for some of the learners; one that names none is for all."""
    return not method.learners or any(one.name in method.learners for one in learners)


def _named(kind: str, parts: Any, name: str) -> Any:
    by_name = {part.name: part for part in parts}
    if name in by_name:
        return by_name[name]
    raise unknown_name("part", name, by_name, arg(kind, ...), StudyError)


def check_no_repeated_names(part: str, items: Any) -> None:
    """Raise unless there are datasets, learners or methods, each with a name of its own."""
    if not items:
        raise StudyError(f"A study needs {part}", "Got none", f"Add {part}")
    name, count = Counter(item.name for item in items).most_common(1)[0]
    if count > 1 or not name:
        raise StudyError(
            f"The {part} of a study must have different names", f"{name!r} is used {count} times"
        )


def _check_source(source: DataSource, study: Study) -> None:
    for path in filter(None, (source.path, source.folds)):
        if not os.path.isfile(path):  # Path.is_file raises for a name that is too long
            cure = "Check the path; it is relative to the folder of the TOML file"
            problem = f"The file of the dataset {source.name} does not exist"
            raise StudyError(problem, f"There is no {path}", cure)
    if source.content is not None and source.content != content_of(source):
        raise StudyError(
            f"The files of {source.name} have changed since the plan was made",
            "Their checksums differ",
            "Make the plan again: it is then another dataset",
        )
    if source.path is None and source.read_options:
        names = ", ".join(source.read_options)
        problem = f"{names} of {source.name} must say how to read a file"
        raise StudyError(problem, "The dataset names no path")
    if source.make is not None:
        source.make.find()
    elif source.path is None:
        dataset_info(source.name)
    if source.folds is not None and (n_repeats := read_folds(source).shape[1] - 1) < study.repeats:
        problem = f"The folds of {source.name} need a column for each of {study.repeats} repeats"
        raise StudyError(problem, f"{source.folds} has {n_repeats}")
    if source.path is not None:
        _check_holes(source, read_file_of(source), study)  # says what is wrong with it, if so


def _check_holes(source: DataSource, data: MultiLabelDataset, study: Study) -> None:
    """Raise where parts of the study need labels or features that a file lacks."""
    unknown, missing = has_unknown(data.Y), bool(np.isnan(stored_values(data.values)).any())
    if not (unknown or missing):
        return
    refusals = {}
    for pair in product(study.learners, study.methods):
        for name, built, reason in _parts_of_cell(*pair) if study.fits(*pair) else ():
            if unknown and reason:
                refusals[name] = reason
            elif missing and not _takes_missing(built):
                refusals[name] = f"{type(built).__name__} takes no missing values"
    if refusals:
        raise StudyError(
            f"Parts of the study cannot learn from {source.name}, which has "
            + " and ".join(["unknown labels"] * unknown + ["missing values"] * missing),
            "; ".join(f"{name}: {reason}" for name, reason in refusals.items()),
            "Leave these parts out, as --learners and --methods do; or fill in missing values, and "
            'set missing_labels to "negative" or "drop" for unknown labels',
        )


def _parts_of_cell(learner: Learner, method: Method) -> Iterator[tuple[str, Any, str | None]]:
    """Yield names of parts, what they build, and why that needs to know all labels."""
    name = learner.name if method.learner is None else method.name
    built = Study.component(learner, method).build()
    reason = why_all_known(built)
    yield name, built, reason
    sampler = None if method.sampler is None else method.sampler.build()
    if method.ensemble is not None:
        built = method.ensemble.build(estimator=built)
        sampler = getattr(built, "sampler", None)
        if reason is None:  # else it is the learner's
            yield method.name, built, why_all_known(built)
    if sampler is not None:
        yield method.name, sampler, why_sampler_needs_all(sampler)


def _takes_missing(built: Any) -> bool:
    """Return whether tags allow NaN in X; pipelines and classes of users do not tell."""
    inside = built.get_params(deep=True).values()
    ours = type(built).__module__.partition(".")[0] in PACKAGES
    if not ours or any(isinstance(part, Pipeline) for part in (built, *inside)):
        return True
    return bool(get_tags(built).input_tags.allow_nan)


def read_folds(source: DataSource) -> NDArray[np.int64]:
    """Return the table of folds of a dataset: row numbers, then one column a repetition."""
    try:
        # Opened here, since NumPy would fetch a name that is a URL.
        with Path(str(source.folds)).open() as file:
            names = file.readline().split(",")
            table = np.loadtxt(file, delimiter=",", dtype=np.int64, ndmin=2)
        if table.shape[1] != len(names):
            raise ValueError(f"it has {table.shape[1]} columns and {len(names)} names")
        if not np.array_equal(table[:, 0], np.arange(len(table))):
            raise ValueError("it does not list each row once, in order")
    except (OSError, ValueError) as error:
        raise StudyError(
            f"The folds of {source.name} must be a CSV file of integers with a header",
            f"{source.folds} is not: {error}",
            "Use a CSV file with the columns row, rep0, rep1, …",
        ) from error
    return table


def _check_learner(name: str, component: Component) -> None:
    built = _build_clone(f"The learner {name}", component, ("fit", "predict"))
    if not (hasattr(built, "predict_proba") or hasattr(built, "decision_function")):
        found = f"{component.path} has neither predict_proba nor decision_function"
        raise StudyError(f"The learner {name} must give scores, for AUC", found)


def _build_clone(what: str, component: Component, methods: Sequence[str]) -> Any:
    """Return what has these methods and can be cloned; the code of a user may fail anyhow."""
    built = component.build()
    if not all(hasattr(built, name) for name in methods):
        raise StudyError(f"{what} must have {' and '.join(methods)}", f"{component.path} has not")
    try:
        return clone(built)
    except Exception as error:
        raise StudyError(
            f"{what} must be cloned for every member of an ensemble",
            f"{component.path} cannot be cloned: {error}",
            "Derive it from sklearn.base.BaseEstimator, and only store parameters in __init__",
        ) from error


def _check_method(method: Method) -> None:
    if method.sampler is not None:
        _build_clone(f"The sampler of {method.name}", method.sampler, ["fit_resample"])
    if method.learner is not None:
        _check_learner(method.name, method.learner)
    method.check_values()
    if method.ensemble is not None:
        _check_ensemble(method)
    wrong = _wrong_pair(method)
    if wrong:
        raise StudyError(f"The method {method.name} has options that do not fit together", *wrong)


def _check_ensemble(method: Method) -> None:
    assert method.ensemble is not None
    found = method.ensemble.find()
    if "estimator" not in getattr(found, "_get_param_names", list)():
        problem = f"The ensemble of {method.name} must have the parameter estimator"
        raise StudyError(problem, f"{method.ensemble.path} does not have it")
    if "estimator" in method.ensemble.params:
        problem = f"The ensemble of {method.name} takes its estimator from the study's learners"
        raise StudyError(problem, "The plan sets its estimator")
    method.ensemble.build(estimator=None)  # says which parameters it has, where one is wrong
    usual = {"name", "ensemble", "stream", "learners", "without", "balanced"}
    other = sorted(document(method).keys() - usual)
    if other:
        problem = f"The options of {method.name} belong to its ensemble"
        raise StudyError(problem, f"The method sets {', '.join(other)}")


def _wrong_pair(method: Method) -> tuple[str, str] | None:
    sampler = None if method.sampler is None else method.sampler.build()
    if method.bootstrap == "originals" and sampler is None:
        return 'bootstrap = "originals" needs a sampler', "Add a sampler"
    if method.bootstrap == "originals" and not _only_adds(sampler):
        return 'bootstrap = "originals" needs a sampler that only adds rows', (
            "Use such a sampler, or bootstrap = true"
        )
    if method.bootstrap == "parents" and not plans_for_all_bags(sampler):
        return 'bootstrap = "parents" needs a sampler whose new rows have two parents', (
            "Use MLSOL, or bootstrap = true"
        )
    if method.tune_on == "oob" and method.bootstrap not in (True, "parents"):
        return 'tune_on = "oob" needs bootstrap', "Set bootstrap = true"
    if method.learner is not None and len(method.learners) != 1:
        return "A method with its own learner needs one learner to compare with", (
            'Name one learner of the study: learners = ["BR"]'
        )
    return None


def _only_adds(sampler: Any) -> bool:
    traits = getattr(sampler, "traits", None)
    return traits is not None and traits.only_adds
