"""``labelance resample`` and ``labelance methods``: any sampler on any file."""

from __future__ import annotations

import json as json_text
from dataclasses import replace
from inspect import getdoc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import labelance
from labelance.cli._console import errors, print_json, print_table, say, telling_what_is_kept
from labelance.cli._data import (
    DataArgument,
    ForceOption,
    JsonOption,
    LabelsOption,
    MaxMemoryOption,
    ProtocolOption,
    check_free,
    load,
)
from labelance.exceptions import InputError

if TYPE_CHECKING:
    from labelance.datasets import MultiLabelDataset
    from labelance.sampling import SamplerTraits


def resample(
    data: DataArgument,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", help="Where to write; its ending says the format.", show_default=False
        ),
    ],
    method: Annotated[str, typer.Option(help="A sampler; labelance methods lists them.")] = "mlsol",
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="A parameter, as name=value; may be repeated.", show_default=False
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers.")] = 0,
    labels: LabelsOption = None,
    protocol: ProtocolOption = None,
    max_memory: MaxMemoryOption = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Resample a data file and write the result."""
    check_free(output, force)
    sampler = _make_sampler(method, set_ or [], seed)
    with telling_what_is_kept(output):
        dataset = load(data, labels, protocol, max_memory)
        with errors.status(f"{type(sampler).__name__} on {dataset.n_samples} rows …"):
            result = _resample(sampler, dataset)
        labelance.datasets.write_multilabel(result, output, overwrite=force)
        _report(dataset, result, output, json)


def _make_sampler(method: str, settings: list[str], seed: int) -> Any:
    """Make a sampler from its name and name=value texts."""
    known = {name.lower(): kind for name, kind in labelance.sampling.all_samplers().items()}
    if method.lower() not in known:
        raise InputError(
            "--method names a sampler",
            f"there is none called {method!r}",
            f"Choose from: {', '.join(sorted(known))}",
        )
    kind = known[method.lower()]
    names = sorted(kind().get_params())
    options = {"random_state": seed} if "random_state" in names else {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise InputError(
                "--set takes name=value", f"{setting!r} has no value", "Write --set k_neighbors=7"
            )
        if name not in names:
            raise InputError(
                f"--set changes a parameter of {kind.__name__}",
                f"it has none called {name!r}",
                f"Its parameters are: {', '.join(names)}",
            )
        options[name] = _parse_value(text)
    return kind().set_params(**options)


def _parse_value(text: str) -> Any:
    """Read a number, true, false, null or a list as JSON; anything else is a word."""
    try:
        return json_text.loads(text)
    except ValueError:
        return text


def _resample(sampler: Any, dataset: MultiLabelDataset) -> MultiLabelDataset:
    _set_nominal_features(sampler, dataset)
    _number_labels(sampler, dataset)
    X, Y = sampler.fit_resample(dataset.X, dataset.Y)
    return replace(dataset, X=X, Y=Y)


def _set_nominal_features(sampler: Any, dataset: MultiLabelDataset) -> None:
    """Set ``categorical_features``, of the sampler or of the one inside it."""
    if "resampler" in sampler.get_params(deep=False) and sampler.resampler is None:
        sampler.set_params(resampler=sampler._second())
    for name in sampler.get_params():
        if name.rpartition("__")[2] == "categorical_features":
            sampler.set_params(**{name: dataset.categorical_features})


def _number_labels(sampler: Any, dataset: MultiLabelDataset) -> None:
    """Turn label names in ``sampling_strategy`` into numbers, since Y travels without names."""
    strategy = sampler.get_params().get("sampling_strategy")
    number = {name: j for j, name in enumerate(dataset.label_names)}
    if isinstance(strategy, list):
        sampler.set_params(sampling_strategy=[number.get(name, name) for name in strategy])
    elif isinstance(strategy, dict):
        numbered = {number.get(name, name): target for name, target in strategy.items()}
        sampler.set_params(sampling_strategy=numbered)


def _report(
    before: MultiLabelDataset, after: MultiLabelDataset, output: Path, as_json: bool
) -> None:
    measures = labelance.imbalance
    figures = {
        "output": str(output),
        "rows_before": before.n_samples,
        "rows_after": after.n_samples,
        "mean_ir_before": measures.mean_ir(before.Y),
        "mean_ir_after": measures.mean_ir(after.Y),
        "scumble_before": measures.scumble(before.Y),
        "scumble_after": measures.scumble(after.Y),
    }
    if as_json:
        print_json(figures)
        return
    say(
        f"{output}: {before.n_samples} -> {after.n_samples} rows, "
        f"MeanIR {figures['mean_ir_before']:.3f} -> {figures['mean_ir_after']:.3f}, "
        f"SCUMBLE {figures['scumble_before']:.3f} -> {figures['scumble_after']:.3f}"
    )


def methods(
    name: Annotated[
        str | None, typer.Argument(help="One sampler, to read all about it.", show_default=False)
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the samplers and what each does to the rows; or show all about one of them."""
    if name is not None:
        _print_one(name)
        return
    rows = [_row(name, kind) for name, kind in sorted(labelance.sampling.all_samplers().items())]
    if json:
        print_json(rows)
        return
    print_table(
        "Samplers",
        ("method", "rows", "what it is"),
        [(row["method"], row["rows"], row["summary"]) for row in rows],
        left=3,
    )


def _print_one(name: str) -> None:
    known = {key.lower(): kind for key, kind in labelance.sampling.all_samplers().items()}
    if name.lower() not in known:
        raise InputError(
            "methods takes the name of a sampler",
            f"there is none called {name!r}",
            f"Choose from: {', '.join(sorted(known))}",
        )
    print(getdoc(known[name.lower()]))


def _row(name: str, kind: Any) -> dict[str, Any]:
    return {
        "method": name,
        "rows": _verbs(kind().traits),
        "summary": (getdoc(kind) or "").partition("\n")[0],
        "parameters": sorted(kind._get_param_names()),
    }


def _verbs(traits: SamplerTraits) -> str:
    verbs = [verb for verb in ("adds", "deletes", "edits") if getattr(traits, verb)]
    return ", ".join(verbs)
