"""
One sampler, one learner, or an ensemble of both
================================================

A rare label amid other points is hard to find. Here two learners look for it, C4.5 trees by
binary relevance and ML-kNN: on the points as they are, after one draw of MLSOL, and as EMLSOL,
five members with a draw each, whose scores are averaged, with a threshold of its own for every
label.
"""

# %%
# The hard data of the paper's Figure 1. Of the three labels, *borderless* is the rarest: 10% of the
# points, in two groups that lie among the others. Learners see 400 points, and are asked about
# 4000 that they have not seen.

from labelance.datasets import make_figure1

X, y = make_figure1("b", n_samples=400, random_state=0)
X_new, y_new = make_figure1("b", n_samples=4000, random_state=1)
BORDERLESS = 1
print("points with each label:", y.sum(axis=0))

# %%
# Three ways for each learner. Every member of an ensemble is a learner after one draw.

from sklearn.base import clone

from labelance.ensemble import EMLSOL
from labelance.learners import BinaryRelevance, MLkNN
from labelance.metrics import macro_auc_roc, macro_f1


def fit_three_ways(learner):
    alone = clone(learner).fit(X, y)
    ensemble = EMLSOL(learner, random_state=0).fit(X, y)
    return {"no sampling": alone, "MLSOL": ensemble.estimators_[0], "EMLSOL": ensemble}


fitted = {
    "binary relevance": fit_three_ways(BinaryRelevance()),
    "ML-kNN": fit_three_ways(MLkNN()),
}
print(f"{'':<30}{'macro F':>8}{'AUC-ROC':>9}")
for learner, ways in fitted.items():
    for way, model in ways.items():
        f = macro_f1(y_new, model.predict(X_new))
        area = macro_auc_roc(y_new, model.predict_proba(X_new))
        print(f"{learner + ', ' + way:<30}{f:8.3f}{area:9.3f}")

# %%
# What the models think of the plane: the darker, the higher the score of *borderless*. Inside the
# line the label is predicted. Of the points that the models learned from, those with it are orange.

import matplotlib.pyplot as plt
import numpy as np

GRID = 160
lowest, highest = np.quantile(X, 0.01, axis=0) - 0.5, np.quantile(X, 0.99, axis=0) + 0.5
xs, ys = (np.linspace(a, b, GRID) for a, b in zip(lowest, highest))
plane = np.column_stack([axis.ravel() for axis in np.meshgrid(xs, ys)])


def draw(ax, model):
    scores = model.predict_proba(plane)[:, BORDERLESS].reshape(GRID, GRID)
    labels = model.predict(plane)[:, BORDERLESS].reshape(GRID, GRID)
    ax.pcolormesh(xs, ys, scores, cmap="Blues", vmin=0, vmax=1, rasterized=True)
    if labels.any():
        ax.contour(xs, ys, labels, levels=[0.5], colors="#1A1A1A", linewidths=0.9)
    has = y[:, BORDERLESS] == 1
    ax.scatter(*X[~has].T, s=2, color="#999999", linewidth=0)
    ax.scatter(*X[has].T, s=14, color="#D55E00", edgecolor="white", linewidth=0.4)
    ax.set(xticks=[], yticks=[], aspect="equal", xlim=xs[[0, -1]], ylim=ys[[0, -1]])
    ax.spines[:].set_color("#BBBBBB")


fig, axes = plt.subplots(2, 3, figsize=(9.6, 6.4), layout="constrained")
for row, (learner, ways) in zip(axes, fitted.items()):
    for ax, (way, model) in zip(row, ways.items()):
        draw(ax, model)
        f = macro_f1(y_new, model.predict(X_new), average=None)[BORDERLESS]
        ax.set_title(f"{way}, F {f:.2f}", loc="left", fontsize=10)
    row[0].set_ylabel(learner)
plt.show()

# %%
# Without sampling the label is never predicted. What one draw of MLSOL brings is a matter of luck:
# the first tree was pruned to its root all the same, while the other members found groups of the
# label. The mean of five orders points better than the first alone, and the threshold finds the
# height at which to cut.
