"""What the catalogue knows of each dataset: figures, words, where it is published, checksums."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal

from labelance._utils._messages import did_you_mean
from labelance.exceptions import InputError

# Places that serve any file of a public repository at a commit, the origin first.
MIRRORS = (
    "https://raw.githubusercontent.com/{repository}/{commit}/{path}",
    "https://cdn.jsdelivr.net/gh/{repository}@{commit}/{path}",
    "https://rawcdn.githack.com/{repository}/{commit}/{path}",
    "https://github.com/{repository}/raw/{commit}/{path}",
)


@dataclass(frozen=True)
class SourceFile:
    """A published file: its path, the git blob id of its content, and who serves it."""

    path: str
    git_blob: str
    addresses: tuple[str, ...]


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a dataset of the catalogue.

    Attributes
    ----------
    name, domain : str
        Its name, and what it is about (text, music, image, biology, audio).
    n_samples, n_features, n_labels : int
        Its size as published.
    cardinality : float
        Mean number of labels of a row.
    mean_imr : float
        Mean imbalance ratio (MeanImR) of the labels that at least two rows have.
    in_paper : bool
        Whether it is one of the 13 datasets of the paper.
    bundled : bool
        Whether it comes with labelance, so that it loads without a network.
    feature_share : float
        The share of its features that the paper keeps.
    description, citation, license : str
        What it holds, whose it is, and what its source says about its use.
    sha256_arff, sha256_xml : str
        Checksums of the ARFF file (uncompressed) and of the label file.
    recipe : {"verbatim", "join", "mldr", "made"}
        How the two files are made from the published ones: taken as they are, training rows
        followed by test rows, or converted from an object of the R package mldr. One that was
        made for labelance has no published files.
    repository, commit : str
        Where the published files are.
    sources : tuple of SourceFile
        The published files.
    """

    name: str
    domain: str
    n_samples: int
    n_features: int
    n_labels: int
    cardinality: float
    mean_imr: float
    in_paper: bool
    bundled: bool
    feature_share: float
    description: str
    citation: str
    license: str
    sha256_arff: str
    sha256_xml: str
    recipe: Literal["verbatim", "join", "mldr", "made"]
    repository: str
    commit: str
    sources: tuple[SourceFile, ...]


def _entry(name: str, fields: dict[str, Any]) -> DatasetInfo:
    place = {"repository": fields["repository"], "commit": fields["commit"]}
    sources = tuple(
        SourceFile(
            path=file["path"],
            git_blob=file["git_blob"],
            addresses=tuple(mirror.format(**place, path=file["path"]) for mirror in MIRRORS),
        )
        for file in fields.pop("files")
    )
    return DatasetInfo(name=name, sources=sources, **fields)


def _read_registry() -> Mapping[str, DatasetInfo]:
    text = files("labelance.datasets").joinpath("registry.json").read_text(encoding="utf-8")
    entries = json.loads(text).items()
    return MappingProxyType({name: _entry(name, fields) for name, fields in entries})


REGISTRY: Mapping[str, DatasetInfo] = _read_registry()


def find_entry(name: str) -> DatasetInfo:
    """Return the entry of that name, whatever the case of its letters, or say which are near."""
    by_lower = {known.lower(): info for known, info in REGISTRY.items()}
    if name.lower() in by_lower:
        return by_lower[name.lower()]
    raise InputError(
        f"{name!r} is not a dataset of the catalogue",
        f"The catalogue has {', '.join(REGISTRY)}",
        f"{did_you_mean(name, REGISTRY)}Or read a file with read_multilabel",
    )
