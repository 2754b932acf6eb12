"""``labelance resample`` and ``labelance methods``: any sampler on any file."""

from __future__ import annotations

import re
import warnings
from ast import literal_eval
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from inspect import getdoc
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

import labelance
from labelance._utils._compat import parameter_names
from labelance._utils._messages import optional_import, show_names, unknown_name
from labelance.cli._console import (
    errors,
    flags,
    long_work,
    print_json,
    print_table,
    report_kept_files,
    say,
    use_names,
)
from labelance.cli._data import (
    ABOUT_IDS,
    ABOUT_TEXTS,
    STREAM,
    ForceOption,
    Format,
    JsonOption,
    SeedOption,
    Source,
    ToOption,
    argument,
    check_free,
    choose_format,
    option,
    output_option,
    split_names,
    takes_options,
    tell_losses,
    write,
)
from labelance.exceptions import InputError, LabelanceWarning, arg

if TYPE_CHECKING:
    from labelance.datasets import MultiLabelDataset
    from labelance.sampling import BaseMultiLabelSampler


@takes_options
def resample(
    source: Source,
    output: Annotated[
        Path, output_option("Where to write; its ending says the format. - is standard output.")
    ],
    method: Annotated[str, typer.Option(help="A sampler; labelance methods lists them.")] = "mlsol",
    set_: Annotated[
        list[str] | None, option("A parameter, as name=value; may be repeated.", "--set")
    ] = None,
    seed: SeedOption = 0,
    device: Annotated[
        str, typer.Option(help="Where to compute: cpu, or cuda for an NVIDIA GPU (needs torch).")
    ] = "cpu",
    to: ToOption = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Resample a data file and write the result."""
    check_free(output, force)
    sampler = _make_sampler(method, set_ or [], seed)
    _check_device(device)
    format = choose_format(source, output, to)
    dates = _find_dates(sampler, source, output, format) if device == "cpu" else []
    if dates:
        ignored = [*(split_names(source.ignore) or ()), *dates]
        source = replace(source, ignore=",".join(ignored))
    with report_kept_files(output):
        with long_work("Reading", quiet=json) as tell:
            dataset = _load(source, sampler)
            whole = _whole_columns(dataset, source.find_format())
            tell(f"{type(sampler).__name__} on {dataset.n_samples} rows")
            result, rows = _resample(sampler, dataset, whole, device)
            tell("Writing")
            tell_losses((result, format))
            written = write(result, output, format=format, force=force)
            if dates:
                from labelance.datasets.formats._parquet import copy_dates

                copy_dates(Path(source.data), dates, rows, output)
        if not json:
            _tell_targets(sampler, dataset, result)
        _report(dataset.Y, result.Y, written, as_json=json, aside=str(output) == STREAM)


def _load(source: Source, sampler: Any) -> MultiLabelDataset:
    """Read the data; ids are no worry of a sampler that copies them and compares nothing."""
    with warnings.catch_warnings():
        if _only_copies_rows(sampler):
            warnings.filterwarnings("ignore", ABOUT_IDS, LabelanceWarning)
        else:  # an error
            warnings.filterwarnings("ignore", ABOUT_TEXTS, LabelanceWarning)
        dataset = source.load()
    _check_no_texts(sampler, dataset, split_names(source.categorical) or ())
    return dataset


def _find_dates(sampler: Any, source: Source, output: Path, format: Format) -> list[str]:
    """Return the dates of a Parquet file that go to another one as its rows are only copied."""
    path = Path(source.data)
    parquet_to_parquet = (
        format == "parquet"
        and str(output) != STREAM
        and path.is_file()
        and source.find_format() == "parquet"
    )
    if not (parquet_to_parquet and _only_copies_rows(sampler)) or source.missing_labels == "drop":
        return []
    from labelance.datasets.formats._parquet import find_dates

    return find_dates(path, split_names(source.ignore) or ())


def _only_copies_rows(sampler: BaseMultiLabelSampler) -> bool:
    """Tell whether a sampler looks at no feature, so that these may be anything."""
    return bool(sampler._validation_options().get("only_rows", False))


def _check_no_texts(
    sampler: BaseMultiLabelSampler, data: MultiLabelDataset, categorical: Collection[str] = ()
) -> None:
    """Raise for columns of texts and ids, which no sampler can mix.

    Their codes would pair the text of a row with another row's numbers and labels. ``categorical``
    are columns that the caller calls so.
    """
    from labelance.datasets._dataset import find_texts

    texts = {name: kind for name, kind in find_texts(data).items() if name not in categorical}
    if _only_copies_rows(sampler) or not texts:
        return
    name, kind = max(texts.items(), key=lambda one: one[1] == "text")
    what = "text" if kind == "text" else "an id"
    ignored = list(texts)
    ways = "Vectorize text first, or use a sampler that only copies rows (MLROS)"
    if len(ignored) < data.X.shape[1]:  # without them there are others to mix
        ways += f", or leave such columns out with {arg('ignore', ignored[:5])}"
    problem = f"{type(sampler).__name__} needs numbers or categories, and column {name!r} is {what}"
    cure = f"{ways}; the page Text of the user guide has models for text"
    raise InputError(problem, "Most rows have a string of their own there", cure)


def _make_sampler(method: str, settings: list[str], seed: int) -> Any:
    """Make a sampler from its name and name=value texts."""
    kind = _find_kind("sampler", method, labelance.sampling.all_samplers(), "--method")
    names = sorted(kind().get_params())
    options = {"random_state": seed} if "random_state" in names else {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            problem = "--set needs name=value, such as k_neighbors=7"
            raise InputError(problem, f"{setting!r} has no value")
        if name not in names:
            raise unknown_name("parameter", name, names, kind.__name__)
        second = re.search(r",\s*(\w+)=", text)
        if second and second[1] in names:
            parts = re.split(rf",\s*(?=(?:{'|'.join(names)})=)", setting)
            cure = f"Repeat it: --set {' --set '.join(parts)}"
            raise InputError("--set takes one name=value", f"{setting!r} has several", cure)
        options[name] = _parse_value(text)
    return kind().set_params(**options)


def _find_kind(what: str, name: str, kinds: Mapping[str, Any], where: str = "") -> Any:
    """Return the class of this name, in whatever letters."""
    known = {key.lower(): kind for key, kind in kinds.items()}
    if name.lower() not in known:
        raise unknown_name(what, name, sorted(known), where)
    return known[name.lower()]


def _parse_value(text: str) -> Any:
    """Read a number, true, false, null, a list or a dict of JSON or Python; others are words."""
    for read in (loads, literal_eval):
        with suppress(Exception), warnings.catch_warnings(action="ignore"):
            return read(text)
    return text


def _check_device(device: str) -> None:
    """Raise where torch does not know the device, or this computer has none like it."""
    if device == "cpu":
        return
    torch = optional_import("torch", extra="gpu", purpose="--device")
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as problem:
        raise InputError(
            "--device must be a device that torch can use, such as cuda or cuda:1",
            f"torch cannot use {device!r} ({str(problem).partition(chr(10))[0]})",
            "Remove --device to compute on the CPU, or install a torch build for your GPU",
        ) from problem


def _resample_on(sampler: Any, dataset: MultiLabelDataset, device: str) -> tuple[Any, Any]:
    """Copy the rows to a device, resample there, and copy the result back."""
    import scipy.sparse as sp

    from labelance._arrays._open import open_container
    from labelance._arrays._torch import to_host

    if dataset.is_sparse:
        raise InputError("--device needs dense features", "The features of this file are sparse")
    torch = optional_import("torch", extra="gpu", purpose="--device")
    Y = sp.coo_array(dataset.Y)
    y = torch.zeros(Y.shape, dtype=torch.bool, device=device)
    y[tuple(torch.as_tensor(at, device=device).long() for at in Y.coords)] = True
    X, y = sampler.fit_resample(torch.as_tensor(np.asarray(dataset.values), device=device), y)
    cells = open_container(y, "y").raw()
    return to_host(X), sp.csr_array(cells).astype(dataset.Y.dtype)


def _resample(
    sampler: Any, dataset: MultiLabelDataset, whole: NDArray[Any], device: str
) -> tuple[MultiLabelDataset, NDArray[np.intp]]:
    """Resample; new values in ``whole`` columns are rounded to integers.

    Also return which rows the result has, where a sampler only copies rows.
    """
    from labelance.sampling._base import warning_with_names

    rows = np.arange(dataset.n_samples)
    names = sampler.get_params().keys() - {"random_state"}
    flags.update({name: f"--set {name}" for name in names})
    use_names(dataset.feature_names, dataset.label_names)
    _adapt_sampler(sampler, dataset)
    with warning_with_names(dataset.Y, dataset.label_names):
        if device != "cpu":
            X, Y = _resample_on(sampler, dataset, device)
        elif _only_copies_rows(sampler):
            numbers, Y = sampler.fit_resample(rows[:, np.newaxis], dataset.Y)
            rows = numbers.ravel()
            X = dataset.values[rows]
        else:
            X, Y = sampler.fit_resample(dataset.values, dataset.Y)
    # Between two integers a value stays when it is rounded.
    X[:, whole] = np.rint(X[:, whole])
    return replace(dataset, values=X, Y=Y), rows


def _adapt_sampler(
    sampler: BaseMultiLabelSampler, dataset: MultiLabelDataset
) -> BaseMultiLabelSampler:
    """Tell a sampler which features are nominal, and the numbers of labels that it names.

    Values and Y of a dataset travel without names and categories.
    """
    from labelance._validation._categorical import mask_of_columns

    if "resampler" in sampler.get_params(deep=False) and sampler.resampler is None:
        sampler.set_params(resampler=sampler._second())
    for name in sampler.get_params():
        if name.rpartition("__")[2] == "categorical_features":
            nominal, said = dataset.categorical_features, sampler.get_params()[name]
            if said is not None:
                nominal = nominal | mask_of_columns(said, len(nominal), dataset.feature_names)
            sampler.set_params(**{name: nominal})
    strategy = sampler.get_params().get("sampling_strategy")
    if isinstance(strategy, (list, dict)):
        number = {name: j for j, name in enumerate(dataset.label_names)}
        unknown = [name for name in strategy if isinstance(name, str) and name not in number]
        if unknown:
            raise unknown_name("label", unknown[0], number, arg("sampling_strategy"))
        listed = [number.get(name, name) for name in strategy]
        targets = dict(zip(listed, strategy.values())) if isinstance(strategy, dict) else listed
        sampler.set_params(sampling_strategy=targets)
    return sampler


def _whole_columns(dataset: MultiLabelDataset, format: str) -> NDArray[np.intp]:
    """Return the columns of integers in CSV, which says no types; ARFF's numbers are real."""
    if format not in ("csv", "tsv"):
        return np.empty(0, dtype=np.intp)
    X: Any = dataset.values
    whole = (np.isnan(X) | (X == np.rint(X))).all(axis=0)
    return np.flatnonzero(whole & ~dataset.categorical_features)


def _tell_targets(sampler: Any, before: MultiLabelDataset, after: MultiLabelDataset) -> None:
    """Say, once, where labels have other numbers of rows than --set sampling_strategy asks for."""
    strategy = sampler.get_params().get("sampling_strategy")
    if isinstance(strategy, bool) or not isinstance(strategy, (int, float, dict)):
        return
    had, has = before.Y.sum(axis=0), after.Y.sum(axis=0)
    missed = [
        f"{before.label_names[j]} {had[j] + rows} asked, {has[j]} given"
        for j, rows in sampler.sampling_strategy_.items()
        # Samplers count the rows with the label, or those of its rarer value.
        if 2 * had[j] <= before.n_samples and has[j] != had[j] + rows
    ]
    if missed:
        say(
            f"note: sampling_strategy steers {type(sampler).__name__}, as a row has all its "
            f"labels, and these rows are not as asked: {show_names(missed, 5)}",
            to=errors,
        )


def _report(before: Any, after: Any, written: str, *, as_json: bool, aside: bool) -> None:
    """Print what was done, on standard error if the data went to standard output."""
    from labelance.sampling._explain import MEAN_IR_ROSE

    measures = labelance.imbalance
    figures: dict[str, Any] = {
        "output": written.partition(" (")[0],
        "rows_before": before.shape[0],
        "rows_after": after.shape[0],
        "mean_ir_before": measures.mean_ir(before),
        "mean_ir_after": measures.mean_ir(after),
    }
    if before.dtype.kind != "f":  # SCUMBLE, a measure of whole rows, needs every label
        figures["scumble_before"] = measures.scumble(before)
        figures["scumble_after"] = measures.scumble(after)
    if as_json:
        print_json(figures, aside=aside)
        return
    if after.shape[0] > before.shape[0] and figures["mean_ir_after"] > figures["mean_ir_before"]:
        say(f"note: {MEAN_IR_ROSE}", to=errors)
    changes = [
        f"{title} {figures[f'{name}_before']:.3f} -> {figures[f'{name}_after']:.3f}"
        for title, name in (("MeanIR", "mean_ir"), ("SCUMBLE", "scumble"))
        if f"{name}_before" in figures
    ]
    rows = f"{before.shape[0]} -> {after.shape[0]} rows"
    say(f"{written}: {', '.join([rows, *changes])}", to=errors if aside else None)


def methods(
    name: Annotated[
        str | None, argument(None, "A sampler or learner, to read all about it.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """List samplers, with what each does to the rows, and learners; or show all about one."""
    samplers, learners = labelance.sampling.all_samplers(), _learners()
    if name is not None:
        kind = _find_kind("method", name, samplers | learners)
        doc = getdoc(kind)
        print_json({**_row(kind), "doc": doc}) if json else print(doc)
        return
    rows = [[_row(kind) for _, kind in sorted(kinds.items())] for kinds in (samplers, learners)]
    if json:
        print_json([*rows[0], *rows[1]])
        return
    for title, heads, part in zip(
        ("Samplers", "Learners"), (("method", "rows", "summary"), ("method", "summary")), rows
    ):
        columns = [head.replace("summary", "what it is") for head in heads]
        print_table(title, columns, [[row[head] for head in heads] for row in part], left=3)


def _learners() -> dict[str, Any]:
    """Return learners, decisions and ensembles, which plans of studies name alike."""
    packages = labelance.decisions, labelance.ensemble
    public = {name: getattr(package, name) for package in packages for name in package.__all__}
    others = {name: kind for name, kind in public.items() if hasattr(kind, "fit")}
    return labelance.learners.all_learners() | others


def _row(kind: Any) -> dict[str, Any]:
    is_sampler = kind.__name__ in labelance.sampling.all_samplers()
    traits = kind().traits if is_sampler else None
    verbs = [verb for verb in ("adds", "deletes", "edits") if getattr(traits, verb, False)]
    return {
        "method": kind.__name__,
        "kind": "sampler" if is_sampler else "learner",
        "rows": ", ".join(verbs),
        "summary": (getdoc(kind) or "").partition("\n")[0],
        "parameters": parameter_names(kind),
    }
