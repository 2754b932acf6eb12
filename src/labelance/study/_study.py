"""A study: what is compared, on what, and how often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from labelance.exceptions import StudyError
from labelance.study._cells import Cell
from labelance.study._design import DataSource, Learner, Method, digest, document, identity

if TYPE_CHECKING:
    import pandas as pd

    from labelance.study._run import Outcome

# Raised when the same plan gives other numbers than before, so that old rows are not taken.
RULES = 1


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
        from labelance.study._plan_file import part_of

        for name in ("datasets", "learners", "methods"):
            parts = tuple(part_of(name, item) for item in getattr(self, name))
            object.__setattr__(self, name, parts)

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
        if method.learners and learner.name not in method.learners:
            return False
        if not method.balanced:
            return True
        if self.weighing is not None:
            return learner.name in self.weighing
        from labelance.study._prepare import takes_weights

        return takes_weights(learner)

    def dataset(self, name: str) -> DataSource:
        """Return a dataset by its name."""
        return _named(self.datasets, name)

    def learner(self, name: str) -> Learner:
        """Return a learner by its name."""
        return _named(self.learners, name)

    def method(self, name: str) -> Method:
        """Return a method by its name."""
        return _named(self.methods, name)

    def config(self, cell: Cell) -> str:
        """Return a hash of all that decides the figures of a cell; a store keys rows by it."""
        return self._configs[cell.dataset, cell.learner, cell.method]

    @cached_property
    def _configs(self) -> dict[tuple[str, str, str], str]:
        common = [RULES, self.folds, self.seed]
        return {
            (source.name, learner.name, method.name): digest(
                [common, identity(source), document(learner), document(method)]
            )
            for source in self.datasets
            for learner in self.learners
            for method in self.methods
        }

    @cached_property
    def hash(self) -> str:
        """Return a hash of the learners, methods, folds and seed: what one table may hold."""
        return digest(
            [RULES, self.folds, self.seed]
            + [document(part) for part in (*self.learners, *self.methods)]
        )

    def only(
        self,
        *,
        datasets: Sequence[str] | None = None,
        learners: Sequence[str] | None = None,
        methods: Sequence[str] | None = None,
        repeats: int | None = None,
    ) -> Study:
        """Return a smaller study of some datasets, learners, methods or repetitions.

        Examples
        --------
        >>> from labelance.study import load_study
        >>> len(load_study("paper").only(datasets=["flags"], learners=["BR"], repeats=1).cells())
        14
        """
        return replace(
            self,
            datasets=_choose(self.datasets, datasets),
            learners=_choose(self.learners, learners),
            methods=_choose(self.methods, methods),
            repeats=self.repeats if repeats is None else repeats,
        )

    def check(self) -> None:
        """Raise for a plan that cannot be run, before any work is done."""
        from labelance.study._check import check

        check(self)

    def run(self, store: Any, **options: Any) -> Outcome:
        """Do the cells that the store does not have; see :func:`run_study`."""
        from labelance.study._run import run_study

        return run_study(self, store, **options)

    def results(self, store: Any) -> pd.DataFrame:
        """Return the cells of this study in a store, one row each, as a tidy DataFrame.

        Parameters
        ----------
        store : path
            The SQLite file.
        """
        from labelance.study._results import read_results

        return read_results(self, store)


def _choose(parts: Any, names: Sequence[str] | None) -> Any:
    return parts if names is None else tuple(_named(parts, name) for name in names)


def _named(parts: Any, name: str) -> Any:
    for part in parts:
        if part.name == name:
            return part
    raise StudyError(
        "Parts of a study are chosen by name",
        f"{name!r} is not in it",
        f"There are {', '.join(part.name for part in parts)}",
    )
