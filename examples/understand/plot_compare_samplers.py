"""
All samplers on the same points
===============================

Every sampler of the library on the hard data of the paper's Figure 1: points with three labels,
*triangle*, *borderless* and *red*, rare ones broken into small groups amid other points. Left the
points as they are; right what the sampler made of them: kept points faded, new points in full
color, deleted points crossed out.
"""

# %%
# The data, and how a point looks.

import matplotlib.pyplot as plt
import numpy as np

from labelance.datasets import make_figure1
from labelance.imbalance import mean_ir
from labelance.sampling import all_samplers

X, y = make_figure1("b", n_samples=300, random_state=0)
RED, GREEN, INK = "#D55E00", "#009E73", "#1A1A1A"


def draw_points(ax, points, labels, *, alpha=1.0, size=24):
    """Draw points by their labels: shape, border and color."""
    for combination in np.unique(labels, axis=0):
        triangle, borderless, red = combination
        rows = (labels == combination).all(axis=1)
        ax.scatter(
            *points[rows].T,
            s=size,
            alpha=alpha,
            linewidth=0.6,
            marker="^" if triangle else "o",
            facecolor=RED if red else GREEN,
            edgecolor="none" if borderless else INK,
        )


def compare(name, sampler):
    """Draw the data before and after a sampler."""
    X_new, y_new = sampler.fit_resample(X, y)
    kept = getattr(sampler, "sample_indices_", np.arange(len(X)))
    deleted = np.setdiff1d(np.arange(len(X)), kept)
    fig = plt.figure(figsize=(7.6, 3.9), layout="constrained")
    before, after = fig.subplots(1, 2, sharex=True, sharey=True)
    draw_points(before, X, y)
    draw_points(after, X_new[: len(kept)], y_new[: len(kept)], alpha=0.25, size=16)
    draw_points(after, X_new[len(kept) :], y_new[len(kept) :])
    after.scatter(*X[deleted].T, marker="x", s=14, color="#777777", linewidth=0.8)
    before.set_title(f"{len(X)} points, MeanIR {mean_ir(y):.2f}", loc="left", fontsize=10)
    after.set_title(
        f"{name}: {len(X_new) - len(kept)} added, {len(deleted)} deleted, "
        f"MeanIR {mean_ir(y_new):.2f}",
        loc="left",
        fontsize=10,
    )
    for ax in (before, after):
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_color("#BBBBBB")


# %%
# One pair of pictures for every sampler. RemedialHwR is the class of the three RHw names.

for name, kind in sorted(all_samplers().items()):
    if name == "RemedialHwR":
        continue
    sampler = kind()
    if "random_state" in sampler.get_params():
        sampler.set_params(random_state=0)
    compare(name, sampler)
plt.show()

# %%
# Cloning repeats points where they are; MLSMOTE fills the space between rows of a rare label,
# whatever lies there; MLSOL puts its points where the minority is outnumbered but not alone. The
# deleting methods thin out the crowd, each with its own idea of who belongs to it. REMEDIAL moves
# no point: of one with rare and frequent labels it makes two, each with one part of them.
