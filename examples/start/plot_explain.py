"""
What did the sampler do, and through which rows?
================================================

``explain`` resamples once and tells label by label what changed: how many rows, which seeds, and
what became of safe, borderline, rare and outlier cells. It is the first thing to look at when a
sampler does not help.
"""

# %%
# Flags of 194 countries, with seven colors as labels, and two samplers.

from labelance import MLSMOTE, MLSOL
from labelance.datasets import load_dataset

X, y = load_dataset("flags", return_X_y=True)
told = MLSOL(sampling_ratio=0.5, scale="range", random_state=0).explain(X, y)
print(told)

# %%
# MLSMOTE chooses labels by their imbalance ratio, MLSOL rows by their neighbors.

print(MLSMOTE(scale="range", random_state=0).explain(X, y))

# %%
# The same as a frame, for pictures: how much of each label's minority is safe, before and after.

import matplotlib.pyplot as plt

before, after = told.before, told.after
names = before.label_names
shares = [part.type_counts[:, 0] / part.type_counts.sum(axis=1) for part in (before, after)]
fig, ax = plt.subplots(figsize=(7.2, 3.4), layout="constrained")
ax.hlines(names, shares[0], shares[1], color="#BBBBBB", linewidth=2)
ax.scatter(shares[0], names, facecolor="white", edgecolor="#1F5C7A", zorder=3, label="before")
ax.scatter(shares[1], names, color="#D55E00", zorder=3, label="after MLSOL")
ax.set(xlabel="share of minority cells that are safe", xlim=(-0.02, 1))
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
