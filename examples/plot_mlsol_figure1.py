"""
What MLSOL adds, and where
==========================

Two datasets with the same label imbalance can be very different to learn from. The paper opens
with such a pair: every point has three labels, *triangle* (else a circle), *borderless* (else
with a border) and *red* (else green). In the first dataset every combination of labels is a cloud
of its own; in the second, the rare labels are broken into sub-concepts, and classes overlap.

MLSOL looks at the nearest neighbors of every point. It puts new points where a rare label is
outnumbered by its surroundings, and leaves alone the ones that nothing in their
surroundings supports.
"""

# %%
# Both datasets have the same number of points of every combination.

from labelance.datasets import make_figure1

datasets = {
    "easy": make_figure1("a", random_state=0),
    "hard": make_figure1("b", random_state=0),
}
for name, (_, Y) in datasets.items():
    print(f"{name}: {len(Y)} points, of each label {Y.sum(axis=0).tolist()}")

# %%
# Add 30 % of new points to each. The new points come after the original ones.

from labelance import MLSOL

resampled = {
    name: MLSOL(sampling_ratio=0.3, k_neighbors=5, random_state=0).fit_resample(X, Y)
    for name, (X, Y) in datasets.items()
}

# %%
# The pictures draw a point as its labels say: shape, border and color. On the right the
# original points fade, so that the new ones stand out.

import matplotlib.pyplot as plt
from matplotlib.lines import Line2D

RED, GREEN, INK = "#D55E00", "#009E73", "#1A1A1A"
COMBINATIONS = [
    (0, 0, 0),
    (1, 0, 0),
    (1, 0, 1),
    (0, 0, 1),
    (0, 1, 1),
    (0, 1, 0),
    (1, 1, 0),
    (1, 1, 1),
]


def style(triangle, borderless, red):
    """How a point with these three labels looks."""
    return {
        "marker": "^" if triangle else "o",
        "facecolor": RED if red else GREEN,
        "edgecolor": "none" if borderless else INK,
    }


def draw_points(ax, X, Y, *, size=26, alpha=1.0):
    """Draw every combination of labels in its own style."""
    for labels in COMBINATIONS:
        rows = (Y == labels).all(axis=1)
        if rows.any():
            ax.scatter(*X[rows].T, s=size, alpha=alpha, linewidth=0.7, **style(*labels))


def frame_square(ax, X):
    """The same square window for both pictures of a dataset, so that distances compare."""
    center, reach = (
        (X.max(axis=0) + X.min(axis=0)) / 2,
        0.53 * (X.max(axis=0) - X.min(axis=0)).max(),
    )
    (left, low), (right, high) = center - reach, center + reach
    ax.set(xlim=(left, right), ylim=(low, high), xticks=[], yticks=[], aspect="equal")
    ax.spines[:].set_color("#BBBBBB")


def legend_entry(text, *labels):
    look = style(*labels)
    return Line2D(
        [], [], linestyle="", label=text, markersize=6, marker=look["marker"],
        markerfacecolor=look["facecolor"], markeredgecolor=look["edgecolor"],
    )  # fmt: skip


fig, axes = plt.subplots(2, 2, figsize=(7.8, 8.4), layout="constrained")
for (before, after), (name, (X, Y)) in zip(axes, datasets.items()):
    X_more, Y_more = resampled[name]
    n = len(X)
    draw_points(before, X, Y)
    draw_points(after, X, Y, size=16, alpha=0.15)
    draw_points(after, X_more[n:], Y_more[n:])
    before.set_title(f"{name}: {n} points", loc="left")
    after.set_title(f"{name}: {len(X_more) - n} points added by MLSOL", loc="left")
    frame_square(before, X)
    frame_square(after, X)
fig.legend(
    handles=[
        legend_entry("circle, border, green", 0, 0, 0),
        legend_entry("triangle, border, green", 1, 0, 0),
        legend_entry("triangle, border, red", 1, 0, 1),
        legend_entry("circle, border, red", 0, 0, 1),
        legend_entry("circle, borderless, red", 0, 1, 1),
    ],
    loc="outside lower center",
    ncols=3,
    frameon=False,
)
plt.show()

# %%
# In the easy dataset rare labels sit safely in clouds of their own; only the points on the rims
# of the clouds have weight, and few new ones are needed elsewhere. In the hard one the new
# points gather where classes overlap and inside the sub-concepts.
