"""Compute some cells again, and see whether the figures are the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby

import numpy as np

from labelance.exceptions import StudyError
from labelance.study._config import study_of
from labelance.study._data import StudyData, load_source
from labelance.study._design import DataSource, content_of, files_of
from labelance.study._evaluate import Row, evaluate_cells
from labelance.study._results import (
    TOLERANCE,
    StudyResults,
    import_results,
    largest_difference,
    tolerance_of,
    trusted,
)
from labelance.study._store import cell_of
from labelance.study._study import Cell, Study, components_of, group_by_fold, plan_of


@dataclass(frozen=True)
class Recomputed:
    """A cell computed again: how far its figures are from those kept, and where most."""

    cell: Cell
    difference: float
    metric: str
    error: str | None = None
    tolerance: float = TOLERANCE

    @property
    def exact(self) -> bool:
        """Say whether the figures are equal to the last bit."""
        return self.error is None and self.difference == 0

    @property
    def same(self) -> bool:
        """Say whether the figures agree within the tolerance."""
        return self.error is None and self.difference <= self.tolerance


@dataclass(frozen=True)
class Verification:
    """Cells computed again.

    Parameters
    ----------
    cells : tuple of Recomputed
        Each cell, its largest difference, and the error if it could not be computed.
    """

    cells: tuple[Recomputed, ...]

    @property
    def differing(self) -> tuple[Recomputed, ...]:
        """Return the cells that are not what they were."""
        return tuple(one for one in self.cells if not one.same)

    @property
    def n_exact(self) -> int:
        """Return how many are equal to the last bit."""
        return sum(one.exact for one in self.cells)

    @property
    def n_within(self) -> int:
        """Return how many are not equal to the last bit, but within their tolerance."""
        return sum(one.same and not one.exact for one in self.cells)

    @property
    def largest_difference(self) -> float:
        """Return the largest difference in any metric of any cell."""
        return max((one.difference for one in self.cells), default=0.0)


def verify_results(
    source: str | os.PathLike[str] | StudyResults,
    *,
    sample: int | None = 20,
    datasets: Sequence[str] | None = None,
    learners: Sequence[str] | None = None,
    seed: int = 0,
    study: str | None = None,
    trust: Sequence[str] = (),
    watch: Callable[[int], None] | None = None,
) -> Verification:
    """Compute random cells again and compare their figures with those that are kept.

    Figures agree if they differ by at most 1e-12, which is less than any real change. Cells of a
    :class:`labelance.ensemble.StackedBagging` may differ by 1e-6, since the last bits of its second
    level depend on the processor.

    Parameters
    ----------
    source : path or StudyResults
        An exported folder or a store.
    sample : int or None, default=20
        How many cells; None takes all.
    datasets, learners : sequence of str, optional
        Of which to choose cells; of all unless given.
    seed : int, default=0
        Which cells are chosen.
    study : str, optional
        Which study, where a store holds several.
    trust : sequence of str, default=()
        Modules whose code may be run, as well as classifiers, samplers and generators of labelance,
        scikit-learn and imbalanced-learn. Name only what you know: the results choose the
        class and its parameters.
    watch : callable, optional
        Called with the number of cells that have been computed.

    Returns
    -------
    Verification
        ``differing`` is empty if all is well.

    Examples
    --------
    >>> import tempfile
    >>> from labelance.study import load_study, run_study, verify_results
    >>> study = load_study("quick").only(datasets=["small"], learners=["MLkNN"], repeats=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run_study(study, f"{folder}/quick.store", executor="serial")
    ...     checked = verify_results(f"{folder}/quick.store", sample=3)
    >>> checked.n_exact, checked.differing
    (3, ())
    """
    if not isinstance(source, StudyResults):
        results = import_results(source, study=study, trust=trust)
    elif trust:
        results = replace(source, study=study_of(plan_of(source.study), trust=trusted(trust)))
    else:
        results = source
    for component in components_of(results.study):
        component.check()
    rows = _rows_of(results, datasets, learners)
    kept = {cell_of(row): row for row in _choose(rows, sample, seed)}
    done: dict[Cell, Recomputed] = {}
    for _, groups in groupby(group_by_fold(kept), key=lambda group: group[0].dataset):
        data = None
        for group in groups:
            data = data or _load(results.study.dataset(group[0].dataset))
            for row in chain.from_iterable(evaluate_cells(results.study, group, data)):
                done[cell_of(row)] = _compare(kept[cell_of(row)], row, results.study)
                if watch is not None:
                    watch(len(done))
    return Verification(tuple(done[cell] for cell in kept))


def _rows_of(
    results: StudyResults, datasets: Sequence[str] | None, learners: Sequence[str] | None
) -> list[Row]:
    """Return the finished cells of some datasets and learners."""
    for name in datasets or ():
        results.study.dataset(name)  # an unknown name is an error
    for name in learners or ():
        results.study.learner(name)
    rows = [
        row
        for row in results.done
        if (datasets is None or row["dataset"] in datasets)
        and (learners is None or row["learner"] in learners)
    ]
    if not rows:
        raise StudyError("There are no finished cells to compute again", "The selection is empty")
    return rows


def _choose(rows: list[Row], sample: int | None, seed: int) -> list[Row]:
    if sample is not None and sample < 1:
        raise StudyError("sample must be at least 1", f"Got sample={sample}", "Raise sample")
    if sample is None or sample >= len(rows):
        return rows
    chosen = np.random.default_rng(seed).choice(len(rows), sample, replace=False)
    return [rows[number] for number in np.sort(chosen)]


def _load(source: DataSource) -> StudyData:
    """Load a dataset; of files only those that the results were computed from.

    So results from elsewhere cannot have any other file of this machine read.
    """
    if files_of(vars(source)) and (source.content is None or content_of(source) != source.content):
        raise StudyError(
            f"{source.name} needs the files that the results were computed from",
            f"{', '.join(files_of(vars(source)).values())} do not exist, or have changed",
            "Put the files where the plan of the results names them",
        )
    return load_source(source)


def _compare(kept: Row, row: Row, study: Study) -> Recomputed:
    if row["status"] != "done":
        error = str(row["error"]).strip().splitlines()[-1]
        return Recomputed(cell_of(row), float("inf"), "", error)
    apart, metric = largest_difference(kept, row)
    return Recomputed(cell_of(row), apart, metric, tolerance=tolerance_of(study, cell_of(row)))
