"""A tree as text, one line per branch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from labelance.learners.tree._forest import Forest
from labelance.learners.tree._measure import children_of
from labelance.learners.tree._sprouts import LEAF


def text_of(
    tree: Forest,
    features: Sequence[str],
    classes: Sequence[str],
    words: Mapping[int, Sequence[str]],
    decimals: int,
) -> str:
    """Return the tree as text; a leaf tells its class and (weight/weight of other classes).

    ``words`` are the categories of nominal features; those that are not in it tell their codes.
    """

    def outcome(v: int) -> str:
        C = len(classes)
        weights = tree.histogram[v * C : (v + 1) * C]
        best, total = int(np.argmax(weights)), float(tree.weight[v])
        wrong = total - float(weights[best]) if total else 0.0
        seen = f"{total:.{decimals}f}".rstrip("0").rstrip(".") if decimals else f"{total:.0f}"
        lost = f"{wrong:.{decimals}f}".rstrip("0").rstrip(".") if decimals else f"{wrong:.0f}"
        return (
            f": {classes[best]} ({seen})" if lost == "0" else f": {classes[best]} ({seen}/{lost})"
        )

    def condition(v: int, branch: int) -> str:
        f = int(tree.feature[v])
        name = features[f]
        if tree.n_categories[f]:
            return f"{name} = {words[f][branch] if f in words else branch}"
        return f"{name} {'>' if branch else '<='} {tree.threshold[v]:.{decimals + 4}g}"

    def lines(v: int, indent: str) -> list[str]:
        written = []
        for branch, child in enumerate(children_of(tree, v)):
            end = outcome(child) if tree.feature[child] == LEAF else ""
            written.append(indent + condition(v, branch) + end)
            written += lines(child, indent + "|   ")
        return written

    return "\n".join(lines(0, "")) or outcome(0)
