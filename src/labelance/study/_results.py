"""Results wherever they lie, in a store or in an exported folder: read, exported, merged.

Results may come from others, so that every value is checked: a wrong one is an error.
"""

from __future__ import annotations

import csv
import json
import math
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from labelance._utils._files import replace_when_done
from labelance._utils._messages import optional_import
from labelance._utils._notebook import draw_result
from labelance.ensemble import StackedBagging
from labelance.exceptions import StudyError
from labelance.study._config import read_plan, study_of, to_toml
from labelance.study._data import known_figures
from labelance.study._design import Component, document, identity
from labelance.study._evaluate import Measures, unpack
from labelance.study._store import (
    COLUMNS,
    FIGURES,
    METRICS,
    Row,
    Store,
    cell_of,
    is_of,
    key_of,
    rows_of,
)
from labelance.study._study import PARTS, Cell, Study, plan_of

if TYPE_CHECKING:
    import pandas as pd

# The labels' own figures stay in the store; "config" in a table is that of the whole study.
_NOT_SHOWN = ("labels", "config", "runner")
NAMES = ("dataset", "learner", "method")
_COUNTS = ("n_undefined", "n_train", "n_resampled")
# Metrics keep every digit, so that `verify` can ask for equality; times are never that exact.
FORMATS = {
    **dict.fromkeys(METRICS, "{!r}"),
    **dict.fromkeys(("sample_seconds", "fit_seconds", "predict_seconds", "cpu_seconds"), "{:.4g}"),
    "peak_mb": "{:.1f}",
    "member_disagreement": "{:.6g}",
}
EXPORTED = (
    *NAMES, "repeat", "fold", *METRICS, *_COUNTS,
    "sample_seconds", "fit_seconds", "predict_seconds", "cpu_seconds", "peak_mb",
    "member_disagreement",
)  # fmt: skip


def read_results(study: Study, store: str | os.PathLike[str]) -> pd.DataFrame:
    """Return the cells of a study in a store, one row each, as a tidy DataFrame.

    Parameters
    ----------
    study : Study
        The plan; rows that were computed by another are left out.
    store : path
        The store, or a folder that :func:`export_results` wrote.
    """
    if is_exported(store):
        rows = rows_of(study, read_folder(Path(store)).rows)
    else:
        rows = Store(store, read_only=True).rows(study)
    return frame_of(rows, config=study.hash)


def read_label_results(study: Study, store: str | os.PathLike[str]) -> pd.DataFrame:
    """Return the figures of every label of the finished cells of a study in a store.

    Parameters
    ----------
    study : Study
        The plan; rows that were computed by another are left out.
    store : path
        The store. An exported folder has no figures of single labels, and cells that were
        merged from one are left out.

    Returns
    -------
    DataFrame
        A row for every cell and label: ``dataset, learner, method, repeat, fold, label`` (a
        number), ``f1, auc_roc, auc_pr, brier, calibration_error`` and ``n_positive``, the test
        rows with the label. The last three are nan in cells that an older version computed.

    Examples
    --------
    >>> import tempfile
    >>> from labelance.study import load_study, read_label_results, run_study
    >>> study = load_study("quick").only(datasets=["few-labels"], learners=["MLkNN"], repeats=1)
    >>> study = study.only(methods=["Default"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run_study(study, f"{folder}/quick.store", executor="serial")
    ...     figures = read_label_results(study, f"{folder}/quick.store")
    >>> figures.groupby("label")["n_positive"].sum().tolist()
    [58.0, 34.0, 20.0, 12.0]
    """
    import pandas as pd

    columns = [*Cell._fields, "label", *Measures._fields]
    parts = [pd.DataFrame(columns=columns)]
    for row in Store(store, read_only=True).rows(study):
        if row["labels"] is not None:
            figures = dict(zip(Measures._fields, _read_labels(row["labels"])))
            labels = np.arange(len(figures["f1"]))
            parts.append(pd.DataFrame({**cell_of(row)._asdict(), "label": labels, **figures}))
    return pd.concat(parts[1:] or parts, ignore_index=True).reindex(columns=columns)


def frame_of(rows: Iterable[dict[str, Any]], *, config: str) -> pd.DataFrame:
    """Return rows of one configuration as a DataFrame."""
    import pandas as pd

    names = [name for name in COLUMNS if name not in _NOT_SHOWN]
    frame = pd.DataFrame([[row.get(name) for name in names] for row in rows], columns=names)
    return frame.assign(config=config).rename(columns={"commit_id": "commit"})


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
        return known_figures(self.study, self.about)

    def _repr_html_(self) -> str:
        missing = list(self._missing())
        counts = Counter((row["dataset"], row["status"]) for row in [*self.rows, *missing])
        names = list(dict.fromkeys(dataset for dataset, _ in counts))
        columns: dict[str, Any] = {"dataset": names}
        for status in ("done", "failed", "missing"):
            columns[status] = [counts[name, status] for name in names]
        title = f"{self.study.name}: {len(self.done)} of {counts.total()} cells are done"
        return draw_result(title, columns, things="datasets")

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
        A store, or a folder that :func:`export_results` wrote.
    study : str, optional
        Which study, by its name or the beginning of its configuration hash; needed where a
        store holds several.
    trust : sequence of str, default=()
        Modules whose code may be built if the study is run: otherwise only classifiers,
        samplers and generators of labelance, scikit-learn and imbalanced-learn are.

    Returns
    -------
    StudyResults

    Examples
    --------
    >>> import tempfile
    >>> from labelance.study import export_results, import_results, load_study, run_study
    >>> study = load_study("quick").only(datasets=["small"], learners=["MLkNN"], repeats=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run_study(study, f"{folder}/quick.store", executor="serial")
    ...     _ = export_results(f"{folder}/quick.store", f"{folder}/results")
    ...     results = import_results(f"{folder}/results")
    >>> len(results.rows), results.study == study
    (14, True)
    """
    if is_exported(path):
        found = read_folder(Path(path), trust=trusted(trust))
        _choose([found.study], study, path)
        return found
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
            "trust must be a list of modules", f"Got {names!r}", 'Try trust=["my_module"]'
        )
    return tuple(names)


def is_exported(path: str | os.PathLike[str]) -> bool:
    """Say whether results are a folder that is no store."""
    return os.path.isdir(path) and not Store.is_at(path)


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
    return _choose(studies_of(store, trust=trust), name, store.path)


def _choose(found: list[Study], name: str | None, path: str | os.PathLike[str]) -> Study:
    if not found:
        raise StudyError(f"{path} holds no study", "A store must hold the plan of its study")
    chosen = [
        one
        for one in found
        if name in (None, one.name) or (len(str(name)) >= 4 and one.hash.startswith(str(name)))
    ]
    if len(chosen) == 1:
        return chosen[0]
    listed = ", ".join(f"{one.name} ({one.hash})" for one in found)
    raise StudyError(
        "Choose one study: results of different configurations are not mixed",
        f"{path} holds {listed}" + (f"; {name!r} fits {len(chosen)}" if name else ""),
        "Pass its name or hash, on the command line with --study",
    )


def studies_of(store: Store, *, trust: tuple[str, ...] = ()) -> list[Study]:
    """Return the studies of a store; runs of parts of one study are taken together.

    A run of some datasets, learners or repetitions is a plan of its own. Where the plans of
    one name agree on everything they share, they are one study.
    """
    plans = [study_of(plan, trust=trust) for plan in store.plans()]
    found: list[Study] = []
    for plan in sorted(plans, key=lambda study: -len(study.cells())):
        place = next((i for i, study in enumerate(found) if _agree(study, plan)), len(found))
        found[place : place + 1] = [_together(found[place], plan) if found[place:] else plan]
    return found


def _agree(one: Study, other: Study) -> bool:
    """Say whether what decides figures is the same in all that two studies share."""
    if (one.name, one.folds, one.seed) != (other.name, other.folds, other.seed):
        return False
    mine, others = _figures(one), _figures(other)
    return all(mine[key] == others[key] for key in mine.keys() & others.keys())


def _figures(study: Study) -> dict[tuple[str, str], dict[str, Any]]:
    """Return what decides figures, for every part."""
    return {
        (kind, part.name): identity(part) if kind == "datasets" else document(part)
        for kind in PARTS
        for part in getattr(study, kind)
    }


def _together(one: Study, other: Study) -> Study:
    def union(kind: str) -> tuple[Any, ...]:
        mine = getattr(one, kind)
        names = {part.name for part in mine}
        return (*mine, *(part for part in getattr(other, kind) if part.name not in names))

    return replace(
        one,
        datasets=union("datasets"),
        learners=union("learners"),
        methods=union("methods"),
        repeats=max(one.repeats, other.repeats),
        weighing=(*(one.weighing or ()), *(other.weighing or ())),
    )


def about_rows(study: Study, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return where rows come from: what differs between them is listed, most frequent first."""
    done = [row for row in rows if row["status"] == "done"]
    versions = [_read_versions(row["versions"]) for row in done if row["versions"]]
    packages = sorted({package for found in versions for package in found})
    finished = sorted(_split_origins(row["finished"] for row in done))
    return {
        "study": study.name,
        "config": study.hash,
        "cells": len(study.cells()),
        "done": len(done),
        "failed": len(rows) - len(done),
        "labelance": _values(row["version"] for row in done),
        "commits": _values(row["commit_id"] for row in done),
        "versions": {one: _values(found.get(one) for found in versions) for one in packages},
        "machines": _values(row["machine"] for row in done),
        "first_finished": finished[0] if finished else None,
        "last_finished": finished[-1] if finished else None,
    }


@cache
def _read_versions(text: str) -> dict[str, str]:
    found = _read_json(text, "The versions of a cell")
    return _require_texts(found, "The versions of a cell")


def _read_labels(content: str) -> np.ndarray:
    """Return the figures of labels, a row for each measure."""
    try:
        table = unpack(content)
        if table.ndim == 2 and table.shape[0] and table.dtype.kind == "f":
            return table
        found = f"Got shape {table.shape} and type {table.dtype}"
    except (zlib.error, ValueError, EOFError, MemoryError) as error:
        found = str(error)
    raise StudyError("The values of labels in a store must be tables of numbers", found, RESTORE)


def read_folder(folder: Path, *, trust: tuple[str, ...] = ()) -> StudyResults:
    """Read a folder that :func:`export_results` wrote; its code and files are left alone."""
    for name in ("results.csv", "study.toml", "about.json"):
        if not (folder / name).is_file():
            raise StudyError(
                "A folder of results must have results.csv, study.toml and about.json",
                f"{folder} has no {name}",
            )
    try:
        study = read_plan(folder / "study.toml", trust=trust)
        about = _read_about(folder / "about.json")
        place = {cell: number for number, cell in enumerate(study.cells())}
        found = {cell_of(row): row for row in _read_rows(folder / "results.csv")}
    except OSError as error:
        raise StudyError(f"The results in {folder} cannot be read", f"{error}") from error
    rows = [found[cell] for cell in sorted(found.keys() & place.keys(), key=place.__getitem__)]
    study = replace(study, weighing=weighing_in(study, rows))
    # Under other rules the same plan has another hash, and its rows have no place in a store.
    same_rules, origin = about["config"] == study.hash, _origin(about)
    for row in rows:
        row.update(origin, config=study.config(cell_of(row)) if same_rules else None)
    return StudyResults(study, rows, about)


_EITHER = " | "  # a folder lists the origins of its cells, and not which cell has which


def _origin(about: dict[str, Any]) -> dict[str, Any]:
    """Return the columns that say where and when cells of a folder were computed."""
    days = filter(None, (about["first_finished"], about["last_finished"]))
    versions = {package: _EITHER.join(found) for package, found in about["versions"].items()}
    return {
        "version": _EITHER.join(about["labelance"]) or None,
        "commit_id": _EITHER.join(about["commits"]) or None,
        "machine": _EITHER.join(about["machines"]) or None,
        "finished": _EITHER.join(dict.fromkeys(days)) or None,
        "versions": json.dumps(versions),
    }


def _split_origins(found: Iterable[str | None]) -> list[str]:
    return [value for text in filter(None, found) for value in text.split(_EITHER)]


def _read_rows(path: Path) -> list[Row]:
    rows: list[Row] = []
    try:
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file, strict=True):
                if None in row.values() or None in row:
                    raise ValueError("a line has more or fewer values than there are columns")
                read = {name: _read(row[name], name) for name in EXPORTED}
                rows.append({**read, "status": "done"})
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise StudyError(
            f"{path} must have the columns {', '.join(EXPORTED)}, with names and numbers",
            f"There is an error near line {len(rows) + 2} ({error})",
            RESTORE,
        ) from error
    return rows


def _read(text: str, name: str) -> Any:
    if name in NAMES:
        return text
    if not text and name not in ("repeat", "fold"):
        return None
    number = float(text) if name in FORMATS else int(text)
    least, most = (-1e15, 1e15) if name in FORMATS else (0, 2**63 - 1)
    if name in METRICS:
        least, most = 0, 1
    if not least <= number <= most:
        raise ValueError(f"{text} is not a {name}")
    return number


_LISTS = ("labelance", "commits", "machines")
_ABOUT = {
    **dict.fromkeys(("study", "config"), str),
    **dict.fromkeys(("cells", "done", "failed"), int),
    **dict.fromkeys(_LISTS, list),
    "versions": dict,
    **dict.fromkeys(("first_finished", "last_finished"), (str, NoneType)),
}


def _read_about(path: Path) -> dict[str, Any]:
    about = _require(_read_json(path.read_bytes(), f"{path}"), _ABOUT, f"{path}")
    for found in [about[name] for name in _LISTS] + list(about["versions"].values()):
        _require_texts(dict(enumerate(found)) if isinstance(found, list) else None, f"{path}")
    datasets = about.get("datasets", [])
    for figures in datasets if isinstance(datasets, list) else [None]:
        _require(figures, FIGURES, f"datasets of {path}")
    return about


def _require_texts(found: Any, what: str) -> Any:
    return _require(found, dict.fromkeys(found if isinstance(found, dict) else (), str), what)


def _read_json(text: str | bytes, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StudyError(
            f"{what} is not valid JSON", f"The parser reports: {error}", RESTORE
        ) from error


def _require(value: Any, kinds: dict[Any, Any], what: str) -> Any:
    """Return a mapping from outside if its values are of their kinds."""
    if not is_of(value, kinds):
        raise StudyError(
            f"{what} is not as `labelance study export` writes it", f"Got {value!r}"[:200], RESTORE
        )
    return value


RESTORE = "Restore it from a backup, or export it again; it is damaged, or another program wrote it"


def _values(found: Iterable[str | None]) -> list[str]:
    return [value for value, _ in Counter(_split_origins(found)).most_common()]


def export_results(
    source: str | os.PathLike[str] | StudyResults,
    path: str | os.PathLike[str],
    *,
    study: str | None = None,
) -> StudyResults:
    """Write the finished cells of a study as a tidy file, or as a folder to commit.

    Parameters
    ----------
    source : path or StudyResults
        A store, an exported folder, or results read before.
    path : path
        A file that ends in ``.csv``, ``.parquet`` or ``.json``; or a folder, which gets
        ``results.csv``, the plan ``study.toml`` and ``about.json`` with the configuration,
        commits, versions and machines.
    study : str, optional
        Which study, where the store holds several.

    Returns
    -------
    StudyResults
        What was written.

    See Also
    --------
    import_results : Read such a folder.
    """
    results = source if isinstance(source, StudyResults) else import_results(source, study=study)
    target = Path(path)
    kind = "" if target.is_dir() else target.suffix
    if not results.done:
        raise StudyError("There are no finished cells", "Only finished cells are exported")
    if kind not in _WRITERS:
        problem = "The output must be a folder, or a file that ends in .csv, .parquet or .json"
        raise StudyError(problem, f"Got {target}")
    _WRITERS[kind](results, target)
    return results


def _write_folder(results: StudyResults, folder: Path) -> None:
    _write_csv(results, folder / "results.csv")
    _write_text(folder / "study.toml", to_toml(results.study, folder=folder))
    # Table 1 goes along, so that a report needs no data.
    about = {**results.about, "datasets": results.describe_datasets()}
    _write_text(folder / "about.json", json.dumps(about, indent=2) + "\n")


def _write_csv(results: StudyResults, path: Path) -> None:
    with replace_when_done(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(EXPORTED)
        for row in results.done:
            writer.writerow(
                "" if row[name] is None else FORMATS.get(name, "{}").format(row[name])
                for name in EXPORTED
            )


def _write_json(results: StudyResults, path: Path) -> None:
    content = {
        "study": plan_of(results.study),
        "about": results.about,
        "results": [{name: row[name] for name in EXPORTED} for row in results.done],
    }
    _write_text(path, json.dumps(content, indent=1) + "\n")


def _write_parquet(results: StudyResults, path: Path) -> None:
    optional_import("pyarrow", extra="data", purpose="Writing Parquet")
    frame = results.frame()
    with replace_when_done(path) as part:
        frame.loc[frame["status"] == "done", [*EXPORTED, "config"]].to_parquet(part, index=False)


def _write_text(path: Path, text: str) -> None:
    with replace_when_done(path) as part:
        part.write_text(text, encoding="utf-8")


_WRITERS: dict[str, Callable[[StudyResults, Path], None]] = {
    "": _write_folder,
    ".csv": _write_csv,
    ".json": _write_json,
    ".parquet": _write_parquet,
}


@dataclass(frozen=True)
class Merged:
    """How many cells were added to a store, and how many it has now."""

    new: int
    total: int


def merge_results(
    sources: Sequence[str | os.PathLike[str]], into: str | os.PathLike[str]
) -> Merged:
    """Bring the cells of stores and exported folders together in one store.

    What the store has is kept, and a cell that failed gives way to the same cell done. Two
    sources that disagree on a cell are an error, found before anything is written; they agree as
    :func:`verify_results` says, and the first figures are kept.

    Parameters
    ----------
    sources : sequence of paths
        Stores, or folders that :func:`export_results` wrote: a study continues from there.
    into : path
        The store; made if absent.

    Returns
    -------
    Merged
        ``new`` and ``total`` cells.
    """
    found = [_read_source(Path(source)) for source in sources]
    seen = Store(into, read_only=True).rows() if os.path.exists(into) else []
    before = len(seen)
    for rows, studies, _ in found:
        _check_no_conflict(seen, rows, studies)
        seen = seen + rows
    target = Store(into)
    for rows, studies, figures in found:
        target.add(rows)
        for study, known in zip(studies, figures):
            target.remember(study)
            for source in study.datasets:
                if source.name in known:
                    target.describe(source, known[source.name])
    total = len(target.rows())
    return Merged(total - before, total)


Figures = dict[str, dict[str, Any]]  # of the datasets of a study, by name


def _read_source(path: Path) -> tuple[list[Row], list[Study], list[Figures]]:
    """Return the rows of a store or folder, its studies, and what is known of their datasets."""
    if not is_exported(path):
        store = Store(path, read_only=True)
        studies = [study_of(plan, trust=()) for plan in store.plans()]
        return store.rows(), studies, list(map(store.figures, studies))
    results = read_folder(path)
    if results.about["config"] != results.study.hash:
        raise StudyError(
            "These results were computed by another version with other rules",
            f"{path} has the hash {results.about['config']}, here it is {results.study.hash}",
        )
    figures = {one["dataset"]: one for one in results.about.get("datasets", ())}
    return results.rows, [results.study], [figures]


# Machines may differ in the last bits of a sum; anything more is another result.
TOLERANCE = 1e-12
# The regressions of a second level sum up by BLAS, in an order that depends on the processor. Last
# bits of their scores may exchange two rows that are all but equal, and so move an AUC.
STACKED_TOLERANCE = 1e-6


def largest_difference(one: Row, other: Row) -> tuple[float, str]:
    """Return how far the figures of two rows are apart at most, and in which metric.

    A figure that is not defined is far from any that is.
    """
    apart = []
    for name in METRICS:
        undefined = [row[name] is None for row in (one, other)]
        distance = 0.0 if all(undefined) else math.inf
        apart.append((distance if any(undefined) else abs(one[name] - other[name]), name))
    return max(apart)


def tolerance_of(study: Study, cell: Cell) -> float:
    """Return how far the figures of a cell may be apart on two machines."""
    method = study.method(cell.method)
    used = (study.component(study.learner(cell.learner), method), method.ensemble)
    stacked = any(_is_stacked(component) for component in used if component is not None)
    return STACKED_TOLERANCE if stacked else TOLERANCE


def _is_stacked(component: Component) -> bool:
    """Say whether a component, or a part of it, learns a second level."""
    try:
        found = component.find()
    except StudyError:  # code that is not trusted, or not installed, is not asked
        found = None
    stacked = isinstance(found, type) and issubclass(found, StackedBagging)
    return stacked or any(map(_is_stacked, component.parts().values()))


def _check_no_conflict(mine: Iterable[Row], other: Iterable[Row], studies: Sequence[Study]) -> None:
    """Raise if two rows are of the same cell and configuration, but with different figures.

    One of the studies that the other rows belong to says how far the figures may be apart.
    """
    done = {key_of(row): row for row in mine if row["status"] == "done"}
    for row in other:
        known = done.get(key_of(row))
        if row["status"] != "done" or known is None:
            continue
        apart, name = largest_difference(known, row)
        if apart > TOLERANCE and apart > max(
            (tolerance_of(study, cell_of(row)) for study in studies if rows_of(study, [row])),
            default=TOLERANCE,
        ):
            raise StudyError(
                "Merged results must agree on the cells they share",
                f"{name} of {cell_of(row)} is {known[name]!r} in one and {row[name]!r} in another",
                "Check which is right: labelance study verify",
            )
