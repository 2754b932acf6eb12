"""
Labels by the neighbors, labels by the place
============================================

MLSMOTE and MLSOL both put a synthetic row between a seed and one of its neighbors. They differ in
the labels they give it. This is the paper's Figure 2 as data: a seed *s*, its five nearest
neighbors *r*, and four places *c* where a synthetic row may fall.
"""

# %%
# The seed and most of its neighbors have labels [1, 0, 0]; two neighbors have another label
# instead, and stand at the edge of a group that shares it.

from labelance.datasets import make_figure2

figure = make_figure2()
print("seed", figure.Y[figure.seed].tolist())
for row in figure.references:
    print(f"r{row}", figure.Y[row].tolist())

# %%
# MLSMOTE asks the neighbors: a label that half of them have, it gives to every synthetic row of
# this seed, wherever the row lies.

from labelance.sampling import MLSMOTE

sampler = MLSMOTE(random_state=0)
X_new, y_new = sampler.fit_resample(figure.X, figure.Y)
of_seed = sampler.seed_indices_ == figure.seed
print("MLSMOTE:", y_new[len(figure.Y) :][of_seed].tolist())

# %%
# MLSOL asks the place: closer to a neighbor, a synthetic row takes that neighbor's labels. To see
# it at the four places, draw many rows and take those nearest to each.

import numpy as np

from labelance import MLSOL

sampler = MLSOL(n_synthetic=20_000, interpolation="line", random_state=0)
X_new, y_new = sampler.fit_resample(figure.X, figure.Y)
X_new, y_new = X_new[len(figure.X) :], y_new[len(figure.Y) :]
at_place = []
for place, towards in zip(figure.candidates, figure.candidate_references):
    pair = (sampler.seed_indices_ == figure.seed) & (sampler.reference_indices_ == towards)
    nearest = np.linalg.norm(X_new[pair] - place, axis=1).argmin()
    at_place.append(y_new[pair][nearest].tolist())
for number, labels in enumerate(at_place, start=1):
    print(f"MLSOL at c{number}:", labels)

# %%
# At c1 and c4 both methods agree. At c2 and c3 MLSMOTE puts a row with the first label
# right next to rows that have the second (third) instead: noise. MLSOL does not.

import matplotlib.pyplot as plt

COLORS = {(1, 0, 0): "#0072B2", (0, 1, 0): "#D55E00", (0, 0, 1): "#009E73"}

fig, ax = plt.subplots(figsize=(7.2, 5.2), layout="constrained")
shown = figure.X[:, 0] > -3
for labels, color in COLORS.items():
    rows = shown & (figure.Y == labels).all(axis=1)
    if rows.any():
        ax.scatter(*figure.X[rows].T, s=90, color=color, label=str(list(labels)), zorder=3)
for row in figure.references:
    ax.plot(*figure.X[[figure.seed, row]].T, color="#D9D9D9", zorder=1)
    ax.annotate(f"r{row}", figure.X[row], xytext=(0, 9), textcoords="offset points", ha="center")
ax.annotate("s", figure.X[figure.seed], xytext=(-2, 9), textcoords="offset points", ha="center")
text_at = [(10, -16), (10, -16), (-88, -6), (10, -16)]
for number, (place, labels) in enumerate(zip(figure.candidates, at_place), start=1):
    edge = COLORS[tuple(labels)]
    ax.scatter(*place, s=70, marker="D", facecolor="white", edgecolor=edge, linewidth=2, zorder=4)
    offset = text_at[number - 1]
    ax.annotate(f"c{number} {labels}", place, offset, textcoords="offset points", fontsize=9)
ax.set(xticks=[], yticks=[], title="What MLSOL gives c1 … c4; MLSMOTE gives all four [1, 0, 0]")
ax.legend(title="labels", frameon=False, loc="lower left", bbox_to_anchor=(0, 0.02))
plt.show()
