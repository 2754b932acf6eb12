"""Results wherever they lie: in a store, or in a folder that was exported and committed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelance.exceptions import StudyError
from labelance.study._agreement import cell_of
from labelance.study._design import DataSource, document, identity
from labelance.study._plan_file import study_of
from labelance.study._results import frame_of
from labelance.study._store import Store
from labelance.study._study import Study

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class StudyResults:
    """The cells of one study that are finished.

    Parameters
    ----------
    study : Study
        The plan.
    rows : list of dict
        A row for each cell that is done or failed, in the order of the plan.
    about : dict
        The configuration, commits, versions and machines of the rows, and counts of cells.
    """

    study: Study
    rows: list[dict[str, Any]] = field(repr=False)
    about: dict[str, Any] = field(repr=False)

    @property
    def done(self) -> list[dict[str, Any]]:
        """Return the rows with figures."""
        return [row for row in self.rows if row["status"] == "done"]

    def frame(self, *, missing: bool = False) -> pd.DataFrame:
        """Return the rows as a tidy DataFrame.

        Parameters
        ----------
        missing : bool, default=False
            Add a row with the status "missing" for each cell of the plan that has none, so that
            a report knows what is left to do.
        """
        rows = [*self.rows, *self._missing()] if missing else self.rows
        return frame_of(rows, config=self.about["config"])

    def describe_datasets(self) -> list[dict[str, Any]]:
        """Return n, d, q, label cardinality and MeanImR of datasets, as far as they are known.

        They come with the results or from the catalogue on this machine.
        """
        from labelance.study._describe import known_figures

        return known_figures(self.study, self.about)

    def _missing(self) -> Iterator[dict[str, Any]]:
        here = {cell_of(row) for row in self.rows}
        for cell in self.study.cells():
            if cell not in here:
                yield {**cell._asdict(), "status": "missing"}


def import_results(
    path: str | os.PathLike[str], *, study: str | None = None, trust: Sequence[str] = ()
) -> StudyResults:
    """Read the results of a study from a store, or from a folder that was exported.

    Nothing is written, and nothing that the results name is imported, called or opened.

    Parameters
    ----------
    path : path
        An SQLite file, or a folder that :func:`export_results` wrote.
    study : str, optional
        Which study, by its name or the beginning of its configuration hash; needed where a
        store holds several.
    trust : sequence of str, default=()
        Modules whose code may be built if the study is run: besides them only classifiers,
        samplers and generators of labelance, scikit-learn and imbalanced-learn are.

    Returns
    -------
    StudyResults

    Examples
    --------
    >>> import tempfile
    >>> from labelance.study import export_results, import_results, load_study
    >>> study = load_study("quick").only(datasets=["small"], learners=["MLkNN"], repeats=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = study.run(f"{folder}/results.db", executor="serial")
    ...     _ = export_results(f"{folder}/results.db", f"{folder}/results")
    ...     results = import_results(f"{folder}/results")
    >>> len(results.rows), results.study == study
    (14, True)
    """
    from labelance.study._export import about_rows, read_folder

    if is_folder(path):
        found = read_folder(Path(path), trust=trusted(trust))
        return found if study is None else _require(found, study)
    store = Store(path, read_only=True)
    chosen = choose_study(store, study, trust=trusted(trust))
    rows = store.rows(chosen)
    chosen = replace(chosen, weighing=weighing_in(chosen, rows))
    about = about_rows(chosen, rows)
    figures = list(store.figures(chosen).values())
    return StudyResults(chosen, rows, {**about, "datasets": figures} if figures else about)


def trusted(names: Sequence[str]) -> tuple[str, ...]:
    """Return the modules that a caller trusts."""
    if isinstance(names, str) or not all(names):
        raise StudyError(
            "trust is a list of modules", f"{names!r} came", 'Write trust=["my_module"]'
        )
    return tuple(names)


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Say whether results are a folder; a path that cannot be looked at is none."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def weighing_in(study: Study, rows: list[dict[str, Any]]) -> tuple[str, ...]:
    """Return the learners that weigh classes, by what was computed and what the plan names.

    To ask their classes would mean to run code that the results name.
    """
    methods = {method.name: method for method in study.methods if method.balanced}
    named = {name for method in methods.values() for name in method.learners}
    here = {row["learner"] for row in rows if row["method"] in methods}
    return tuple(sorted(named | here))


def choose_study(store: Store, name: str | None = None, *, trust: tuple[str, ...] = ()) -> Study:
    """Return the one study of a store, or the one with this name or configuration hash."""
    found = studies_of(store, trust=trust)
    if not found:
        raise StudyError(
            "A store holds the plan of its study",
            f"{store.path} has none",
            "Run one into it: labelance study run quick --store " + store.path.name,
        )
    chosen = found if name is None else [one for one in found if _is_called(one, name)]
    if len(chosen) == 1:
        return chosen[0]
    listed = ", ".join(f"{one.name} ({one.hash})" for one in found)
    raise StudyError(
        "One study is looked at at a time, since configurations do not mix",
        f"{store.path} holds {listed}" + (f"; {name!r} fits {len(chosen)}" if name else ""),
        "Choose one by its name or hash, on the command line with --study",
    )


def studies_of(store: Store, *, trust: tuple[str, ...] = ()) -> list[Study]:
    """Return the studies of a store; runs of parts of one study are taken together.

    A run of some datasets, learners or repetitions is a plan of its own. Where the plans of
    one name agree on everything they share, they are one study.
    """
    plans = [study_of(plan, trust=trust) for plan in store.plans()]
    plans.sort(key=lambda study: -len(study.cells()))
    found: list[Study] = []
    for plan in plans:
        for place, study in enumerate(found):
            if _agree(study, plan):
                found[place] = _together(study, plan)
                break
        else:
            found.append(plan)
    return found


def _agree(one: Study, other: Study) -> bool:
    if (one.name, one.folds, one.seed) != (other.name, other.folds, other.seed):
        return False
    known = {(kind, part.name): _figures(part) for kind, part in _parts(one)}
    return all(
        known.get((kind, part.name), _figures(part)) == _figures(part)
        for kind, part in _parts(other)
    )


def _figures(part: Any) -> dict[str, Any]:
    """Return what decides figures."""
    return identity(part) if isinstance(part, DataSource) else document(part)


def _together(one: Study, other: Study) -> Study:
    return replace(
        one,
        datasets=_union(one.datasets, other.datasets),
        learners=_union(one.learners, other.learners),
        methods=_union(one.methods, other.methods),
        repeats=max(one.repeats, other.repeats),
        weighing=(*(one.weighing or ()), *(other.weighing or ())),
    )


def _parts(study: Study) -> Iterator[tuple[str, Any]]:
    for kind in ("datasets", "learners", "methods"):
        yield from ((kind, part) for part in getattr(study, kind))


def _union(some: Sequence[Any], more: Sequence[Any]) -> tuple[Any, ...]:
    names = {part.name for part in some}
    return (*some, *(part for part in more if part.name not in names))


def _is_called(study: Study, name: str) -> bool:
    return study.name == name or (len(name) >= 4 and study.hash.startswith(name))


def _require(results: StudyResults, name: str) -> StudyResults:
    if _is_called(results.study, name):
        return results
    raise StudyError(
        f"The study {name!r} is asked for",
        f"the folder holds {results.study.name} ({results.study.hash})",
        "Leave the name out, or choose another folder",
    )
