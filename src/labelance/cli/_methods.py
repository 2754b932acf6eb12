"""``labelance methods``: the samplers there are."""

from __future__ import annotations

from inspect import getdoc
from typing import TYPE_CHECKING, Any

import labelance
from labelance.cli._console import print_json, print_table
from labelance.cli._data import JsonOption

if TYPE_CHECKING:
    from labelance.sampling import SamplerTraits

EXAMPLE = "Example: labelance methods --json"


def methods(json: JsonOption = False) -> None:
    """List the samplers, what each does to the rows, and its parameters."""
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


def _row(name: str, kind: Any) -> dict[str, Any]:
    return {
        "method": name,
        "rows": _verbs(kind.traits),
        "summary": (getdoc(kind) or "").partition("\n")[0],
        "parameters": sorted(kind._get_param_names()),
    }


def _verbs(traits: SamplerTraits) -> str:
    verbs = [verb for verb in ("adds", "deletes", "edits") if getattr(traits, verb)]
    return ", ".join(verbs)
