"""
Folds that keep rare labels
===========================

A random split gives some folds none of a rare label's rows, and no model can be judged on them.
Iterative stratification deals the rarest label first.
"""

# %%
# Ten labels; the four rarest have 6 to 14 rows.

from labelance.datasets import make_multilabel_imbalanced

X, y = make_multilabel_imbalanced(500, n_labels=10, imbalance=30, random_state=0)
print("rows of each label:", y.sum(axis=0))

# %%
# Five folds, at random and stratified. ``label_distribution`` is 0 for a perfect split.

import numpy as np
from sklearn.model_selection import KFold

from labelance.model_selection import IterativeStratifiedKFold, label_distribution

splitters = {
    "KFold": KFold(5, shuffle=True, random_state=0),
    "IterativeStratifiedKFold": IterativeStratifiedKFold(5, random_state=0),
}
counts = {}
for name, splitter in splitters.items():
    folds = [test for _, test in splitter.split(X, y)]
    counts[name] = np.array([y[test].sum(axis=0) for test in folds])
    empty = int((counts[name] == 0).sum())
    print(f"{name:<25} label distribution {label_distribution(y, folds):.4f}, empty: {empty}")

# %%
# Rows of the five rarest labels in each fold. Orange cells are empty.

import matplotlib.pyplot as plt

rarest = np.argsort(y.sum(axis=0))[:5]
fig, axes = plt.subplots(1, 2, figsize=(7.6, 3.2), sharey=True, layout="constrained")
for ax, (name, table) in zip(axes, counts.items()):
    shown = table[:, rarest].T
    ax.imshow(np.where(shown, shown, np.nan), cmap="Blues", vmin=0, vmax=8, aspect="auto")
    for (label, fold), count in np.ndenumerate(shown):
        if not count:
            ax.add_patch(plt.Rectangle((fold - 0.5, label - 0.5), 1, 1, color="#D55E00"))
        color = "white" if count == 0 or count > 5 else "black"
        ax.text(fold, label, count, ha="center", va="center", color=color)
    ax.set_xticks(range(5), range(1, 6))
    ax.set(title=name, xlabel="fold")
axes[0].set_yticks(range(5), [f"{y[:, label].sum()} rows" for label in rarest])
axes[0].set_ylabel("label")
plt.show()
