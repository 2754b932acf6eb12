"""What is measured on a test fold."""

from __future__ import annotations

import io
import zlib
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from labelance.metrics import label_areas, macro_f1


@dataclass(frozen=True, eq=False)
class Measures:
    """F and both areas of every label, and their means as the paper takes them.

    F is 1 for a label that is neither there nor predicted; a label without an area is left
    out of the mean AUC-ROC and counts 0 in AUCPR, as in the authors' program.
    """

    f1: np.ndarray
    auc_roc: np.ndarray
    auc_pr: np.ndarray

    def row(self) -> dict[str, Any]:
        """Return the columns of a result."""
        defined = ~np.isnan(self.auc_roc)
        return {
            "macro_f1": float(self.f1.mean()),
            "macro_auc_roc": float(self.auc_roc[defined].mean()) if defined.any() else None,
            "macro_auc_pr": float(np.nan_to_num(self.auc_pr).mean()),
            "n_undefined": int((~defined).sum()),
            "labels": pack(np.stack([self.f1, self.auc_roc, self.auc_pr])),
        }


def measure(Y: Any, scores: np.ndarray, predicted: Any) -> Measures:
    """Measure scores and predictions of the rows of a test fold."""
    areas = label_areas(Y, scores)
    f1 = macro_f1(Y, predicted, average=None, zero_division=1)
    return Measures(f1, areas.auc_roc, areas.auc_pr)


def disagreement(scores: list[np.ndarray]) -> float:
    """Return one minus the mean correlation of two members' scores, over labels and pairs.

    0 means that members rank the rows alike, 1 that they know nothing of each other. Labels
    for which some member gives all rows the same score have no correlation and are left out.
    """
    if len(scores) < 2:
        return float("nan")
    centred = [member - member.mean(axis=0) for member in scores]
    lengths = [np.sqrt((member**2).sum(axis=0)) for member in centred]
    varied = np.all([length > 1e-12 for length in lengths], axis=0)
    if not varied.any():
        return float("nan")
    units = [
        member[:, varied] / length[varied] for member, length in zip(centred, lengths, strict=True)
    ]
    pairs = [(a * b).sum(axis=0).mean() for a, b in combinations(units, 2)]
    return float(1 - np.mean(pairs))


def pack(table: np.ndarray) -> bytes:
    """Return an array as compressed bytes."""
    buffer = io.BytesIO()
    np.save(buffer, table, allow_pickle=False)
    return zlib.compress(buffer.getvalue())


def unpack(content: bytes) -> np.ndarray:
    """Return what :func:`pack` packed."""
    return np.load(io.BytesIO(zlib.decompress(content)), allow_pickle=False)
