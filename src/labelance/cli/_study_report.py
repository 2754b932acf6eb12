"""``labelance study report``: results and where they come from, handed to the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import labelance
from labelance._utils import optional_import
from labelance.cli._console import errors


def write(results: Path, output: Path, *, title: str | None, study: str | None) -> Path:
    """Write the report of a store or an exported folder; return where it is."""
    opened = labelance.study.import_results(results, study=study)
    pandas = optional_import("pandas", extra="data", purpose="A report")
    with errors.status("Comparing …"):
        figures = opened.describe_datasets()
        return labelance.report.write_report(
            opened.frame(missing=True),
            output,
            datasets=pandas.DataFrame(figures) if figures else None,
            title=title or f"Study: {opened.study.name}",
            about=_about(opened.about),
        )


def _about(about: dict[str, Any]) -> dict[str, str]:
    """Return what a reader wants to know of the origin of results, as text."""
    days = [str(about[name])[:10] for name in ("first_finished", "last_finished") if about[name]]
    said = {
        "study": about["study"],
        "labelance": ", ".join(about["labelance"]),
        "commit": ", ".join(about["commits"]),
        "packages": ", ".join(f"{name} {'/'.join(v)}" for name, v in about["versions"].items()),
        "machine": "; ".join(about["machines"]),
        "computed": " to ".join(dict.fromkeys(days)),
    }
    return {name: text for name, text in said.items() if text}
