"""The profile page: one HTML file with its data as JSON, which a script of our own draws."""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict, astuple
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

import labelance
from labelance._arrays._open import stack_rows, take_rows
from labelance._utils._messages import shorten
from labelance._utils._page import read_page_parts, read_template
from labelance._validation._categorical import name_columns
from labelance._validation._data import Features, take_unknown, validate_features
from labelance.exceptions import ContainerError, InputError
from labelance.imbalance._diagnosis import (
    ColumnSummary,
    Hubness,
    NeighborVotes,
    choose_rows,
    count_together,
    labelset_bands,
    measure_hubness,
    neighbor_votes,
    project,
    summarize_columns,
)
from labelance.imbalance._local import minority_matrix
from labelance.imbalance._measures import find_labelsets, mean_where_defined
from labelance.imbalance._profile_text import ProfiledData, ProfileValues, describe
from labelance.neighbors._metric import distance_shares, find_dominant_columns

_FOLDS = 5
_LONGEST_NAME = 60
_MOST_LABELSETS = 10


class Findings:
    """What a page says beyond the profile, computed when it is asked for."""

    def __init__(self, data: ProfiledData) -> None:
        self.data = data

    @cached_property
    def votes(self) -> NeighborVotes | None:
        """The votes of neighbors; None without neighbors."""
        data = self.data
        if data.neighborhood is None:
            return None
        Y, unknown = data.Y, data.unknown
        if data.rows is not None:
            Y, unknown = csr_array(Y)[data.rows], take_unknown(unknown, data.rows)
        return neighbor_votes(Y, np.asarray(data.neighborhood.indices), unknown)

    @cached_property
    def mean_auc(self) -> float | None:
        """The mean over labels of the AUC of the votes; None where there is none."""
        mean = math.nan if self.votes is None else mean_where_defined(self.votes.auc)
        return None if math.isnan(mean) else mean

    @cached_property
    def hubness(self) -> Hubness | None:
        """How unevenly rows serve as neighbors; None without neighbors."""
        around = self.data.neighborhood
        return None if around is None else measure_hubness(np.asarray(around.indices))

    @cached_property
    def features(self) -> Features | None:
        """Clean features in the computer's own memory; None where they are no numbers."""
        data = self.data
        if data.X is None:
            return None
        try:
            found = validate_features(
                data.X,
                caller="profile",
                categorical_features=data.categorical_features,
                missing="keep",
            )
        except (ContainerError, InputError):  # text or dates, which were not searched either
            return None
        return None if found.container.kind == "device" else found

    @cached_property
    def dominant_features(self) -> str | None:
        """The names of the few columns that alone decided which rows are neighbors."""
        plain = self.data.scale is None and self.data.metric == "euclidean"
        if self.features is None or not plain:
            return None
        wide = find_dominant_columns(self.features.X, self.features.categorical)
        if not len(wide):
            return None
        known = self.data.feature_names or self.features.names
        names = name_columns(wide, known or tuple(range(self.features.X.shape[1])))
        return f"column {names}" if len(wide) == 1 else f"columns {names}"

    def columns(self) -> list[ColumnSummary]:
        """Return what each column looks like, those that take most of the distance first."""
        features, data = self.features, self.data
        if features is None:
            return []
        shares = None
        if data.metric == "euclidean":
            shares = distance_shares(features.X, features.categorical, data.scale)
        return summarize_columns(features, data.feature_names, shares)


def draw_page(profile: ProfileValues, after: ProfileValues | None, *, title: str) -> str:
    """Return the page of a profile, or of two of the same labels."""
    profiles = [profile] if after is None else [profile, after]
    _check_no_other_labels(profiles)
    findings = [Findings(_data_of(one)) for one in profiles]
    sides = [_side(one, found) for one, found in zip(profiles, findings)]
    for side, points in zip(sides, _maps(profiles, findings)):
        side["map"] = points
    content = {
        "names": [shorten(name, _LONGEST_NAME) for name in profile.label_names],
        "folds": _FOLDS,
        "sides": sides,
    }
    parts = read_page_parts("labelance.imbalance", "profile")
    page = _fill(
        read_template("labelance.imbalance", "profile.html"),
        {
            "title": escape(title),
            "verdict": escape(describe_change(profiles) if after else " ".join(describe(profile))),
            "hide_advice": "hidden" if after else "",
            **parts._asdict(),
            "data": _to_json(content),
            "version": escape(labelance.__version__),
        },
    )
    # The name of a file may hold bytes that are no text.
    return page.encode("utf-8", "replace").decode("utf-8")


def _data_of(profile: ProfileValues) -> ProfiledData:
    """Return what a profile was made of."""
    if profile._data is None:
        raise InputError(
            "A page needs a profile with its data",
            "This profile was unpickled or copied, and has only its numbers",
            "Call profile(X, y) again",
        )
    return profile._data


def _check_no_other_labels(profiles: list[ProfileValues]) -> None:
    before, after = profiles[0], profiles[-1]
    if before.label_names != after.label_names:
        raise InputError(
            "A page needs the same labels before and after",
            f"Got {before.n_labels} labels before and {after.n_labels} after, or other names",
        )
    if before.n_features != after.n_features:
        raise InputError(
            "A page needs the same features before and after",
            f"Got {before.n_features} features before and {after.n_features} after",
        )


def describe_change(profiles: list[ProfileValues]) -> str:
    """Say in one sentence what a sampler changed, by the measures that there are on both sides."""
    measured = [
        ("Rows went", [f"{one.n_samples:,}" for one in profiles]),
        ("MeanIR", [_said(one.mean_ir, ".2f") for one in profiles]),
        ("SCUMBLE", [_said(one.scumble, ".3f") for one in profiles]),
        ("minority cells that are not safe", [_said(_unsafe(one), ".0%") for one in profiles]),
    ]
    *first, last = (f"{what} from {a} to {b}" for what, (a, b) in measured if a and b)
    return f"{', '.join(first)}, and {last}."


def _unsafe(profile: ProfileValues) -> float:
    """Return the share of minority cells that are not safe; nan where there are none."""
    shares = profile.type_shares
    return math.nan if shares is None else 1 - shares["safe"]


def _said(value: float, how: str) -> str:
    """Return a number as text, and none where it is not defined."""
    return "" if math.isnan(value) else format(value, how)


def _side(profile: ProfileValues, findings: Findings) -> dict[str, Any]:
    """Return what the script draws of one profile."""
    data = findings.data
    whole = data.unknown is None  # else nothing is said about the labels of whole rows
    together = count_together(data.Y, profile.scumble_labels, unknown=data.unknown)
    votes = findings.votes
    rows = data.rows
    return {
        "n": profile.n_samples,
        "d": profile.n_features,
        "k": profile.n_neighbors,
        "searched": profile.n_searched,
        "measures": _measures(profile),
        "count": profile.label_counts,
        "irlbl": profile.irlbl.round(1),
        "imr": profile.imr.round(1),
        "unknown": None if whole else profile.n_unknown,
        "scumble": profile.scumble_labels.round(3) if whole else None,
        "types": None if profile.type_counts is None else profile.type_counts.T,
        "auc": None if votes is None else votes.auc.round(2),
        "together": asdict(together),
        "labelsets": _labelsets(data.Y) if whole else None,
        "mean_auc": findings.mean_auc,
        "hubness": None if findings.hubness is None else asdict(findings.hubness),
        "dominant": findings.dominant_features,
        "columns": [astuple(column) for column in findings.columns()],
        "suspects": [
            [cell.row if rows is None else int(rows[cell.row]), cell.label, int(cell.present),
             cell.votes, round(cell.times)]
            for cell in (votes.suspects() if votes else [])
        ],
    }  # fmt: skip


def _labelsets(Y: csr_array) -> dict[str, Any]:
    sets = find_labelsets(Y)
    top = [
        [int(times), sets.sets.indices[slice(*sets.sets.indptr[i : i + 2])]]
        for i, times in enumerate(sets.frequencies[:_MOST_LABELSETS])
    ]
    return {"bands": labelset_bands(sets), "top": top}


def _measures(profile: ProfileValues) -> list[tuple[str, float]]:
    named = {
        "cardinality": profile.cardinality,
        "density": profile.density,
        "MeanIR": profile.mean_ir,
        "CVIR": profile.cvir,
        "MeanImR": profile.mean_imr,
        "SCUMBLE": profile.scumble,
        "labelsets": profile.n_labelsets,
        "TCS": profile.tcs,
    }
    return [(name, round(value, 4)) for name, value in named.items() if value is not None]


def _maps(profiles: list[ProfileValues], findings: list[Findings]) -> list[Any]:
    """Return the points of every profile in one plane; None without features."""
    features = [found.features for found in findings]
    if any(one is None for one in features):
        return [None] * len(profiles)
    chosen = [choose_rows(found.data.Y) for found in findings]
    parts = [take_rows(one.X, rows) for one, rows in zip(features, chosen) if one is not None]
    whole = parts[0] if len(parts) == 1 else stack_rows(parts[0], parts[1])
    first = features[0]
    assert first is not None
    points = np.rint(999 * project(whole, first.categorical, first.container.kind)).astype(int)
    ends = np.cumsum([len(rows) for rows in chosen])
    return [
        {"x": part[:, 0], "y": part[:, 1], "row": rows, "cells": _typed_cells(one, rows)}
        for one, rows, part in zip(profiles, chosen, np.split(points, ends[:-1]))
    ]


def _typed_cells(profile: ProfileValues, rows: NDArray[np.intp]) -> list[list[int]]:
    """Return, for every row, 5 (label + 1) + type of its minority cells; type 0 is not known."""
    data = _data_of(profile)
    M = minority_matrix(data.Y, profile.minority_value, data.unknown)[rows]
    numbers = 5 * (M.indices.astype(np.int64) + 1)
    code = csr_array((numbers, M.indices, M.indptr), shape=M.shape)
    if data.local is not None:
        code = code + _types_of(rows, data).multiply(M)
    return [part.tolist() for part in np.split(code.data, code.indptr[1:-1])]


def _types_of(rows: NDArray[np.intp], data: ProfiledData) -> csr_array:
    """Return the types of the cells of some rows; of a row that was not searched there are none."""
    assert data.local is not None
    if data.rows is None:
        return data.local.types[rows]
    place = np.searchsorted(data.rows, rows).clip(max=len(data.rows) - 1)
    known = data.rows[place] == rows
    return csr_array(data.local.types[place].multiply(known[:, None]))


def _to_json(data: Any) -> str:
    """Return JSON that no HTML parser takes for markup."""
    text = json.dumps(_plain(data), separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.replace("<", "\\u003c")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        return [_plain(one) for one in value.tolist()]
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() else value
    return value


def _fill(template: str, values: dict[str, str]) -> str:
    """Put the values into their places, in one pass: what they hold is not looked at."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], template)
