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
# Both datasets have the same number of points of every combination, and so the same imbalance.

from labelance.datasets import make_figure1

X_easy, y_easy = make_figure1("a", random_state=0)
X, y = make_figure1("b", random_state=0)
print("points with each label, easy:", y_easy.sum(axis=0))
print("points with each label, hard:", y.sum(axis=0))

# %%
# In the easy one no rare label has a neighbor of the other class. There is nothing that
# new points could improve, and MLSOL says so rather than adding copies of what is clear already.

from labelance import MLSOL
from labelance.exceptions import NothingToSampleError

sampler = MLSOL(sampling_ratio=0.3, k_neighbors=5, random_state=0)
try:
    sampler.fit_resample(X_easy, y_easy)
except NothingToSampleError as error:
    print(error)

# %%
# In the hard one there is work to do. The weight of a point says how often it is chosen as the
# seed of a new one. The new points come after the original ones.

from labelance.imbalance import local_distribution
from labelance.neighbors import find_neighbors

weights = local_distribution(y, find_neighbors(X, 5)).weights
X_more, y_more = sampler.fit_resample(X, y)
X_new, y_new = X_more[len(X) :], y_more[len(y) :]

# %%
# The pictures draw a point as its labels say: shape, border and color. In the last one the
# original points fade, so that the new ones stand out.

from itertools import product

import matplotlib.pyplot as plt
from matplotlib.lines import Line2D

RED, GREEN, INK = "#D55E00", "#009E73", "#1A1A1A"
COMBINATIONS = list(product((0, 1), repeat=3))


def style(triangle, borderless, red):
    """How a point with these three labels looks."""
    return {
        "marker": "^" if triangle else "o",
        "facecolor": RED if red else GREEN,
        "edgecolor": "none" if borderless else INK,
    }


def draw_points(ax, X, y, *, size=26, alpha=1.0):
    """Draw every combination of labels in its own style."""
    for labels in COMBINATIONS:
        rows = (y == labels).all(axis=1)
        if rows.any():
            ax.scatter(*X[rows].T, s=size, alpha=alpha, linewidth=0.7, **style(*labels))


def frame_square(ax, X):
    """The same square window for all pictures of a dataset, so that distances compare."""
    lowest, highest = X.min(axis=0), X.max(axis=0)
    center, reach = (lowest + highest) / 2, 0.53 * (highest - lowest).max()
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
(easy, hard), (seeds, new) = axes

draw_points(easy, X_easy, y_easy)
easy.set_title(f"easy: {len(X_easy)} points, none to add", loc="left")
draw_points(hard, X, y)
hard.set_title(f"hard: {len(X)} points", loc="left")
seeds.scatter(*X.T, s=6, color="#CCCCCC")
seeds.scatter(*X.T, s=60 * weights / weights.max(), color="#1F5C7A", alpha=0.8, linewidth=0)
seeds.set_title("hard: the larger, the likelier a seed", loc="left")
draw_points(new, X, y, size=16, alpha=0.15)
draw_points(new, X_new, y_new)
new.set_title(f"hard: {len(X_new)} points added by MLSOL", loc="left")

frame_square(easy, X_easy)
for ax in (hard, seeds, new):
    frame_square(ax, X)
fig.legend(
    handles=[
        legend_entry("circle, border, green", 0, 0, 0),
        legend_entry("triangle, border, green", 1, 0, 0),
        legend_entry("triangle, border, red", 1, 0, 1),
        legend_entry("circle, border, red", 0, 0, 1),
        legend_entry("circle, borderless, red", 0, 1, 1),
        legend_entry("circle, borderless, green (new)", 0, 1, 0),
    ],
    loc="outside lower center",
    ncols=3,
    frameon=False,
)
plt.show()

# %%
# Seeds, and with them the new points, gather where classes overlap and inside the small
# sub-concepts. A rare point all alone among the others has no weight: it may be noise.
