"""``labelance methods``: the samplers there are."""

from __future__ import annotations

from inspect import getdoc
from typing import TYPE_CHECKING, Annotated, Any

import typer

import labelance
from labelance.cli._console import print_json, print_table
from labelance.cli._data import JsonOption
from labelance.exceptions import InputError

if TYPE_CHECKING:
    from labelance.sampling import SamplerTraits

EXAMPLE = "Example: labelance methods mlsol"


def methods(
    name: Annotated[
        str | None, typer.Argument(help="One sampler, to read all about it.", show_default=False)
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the samplers and what each does to the rows; or tell all about one of them."""
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
