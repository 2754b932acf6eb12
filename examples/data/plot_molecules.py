"""
Molecules: sparse bits and unknown labels
=========================================

A molecule is a row of fingerprint bits, few of them set, and most assays were run on some
molecules only. The bits stay a sparse matrix, and an assay that was not run stays unknown: each
assay learns from the molecules on which it was run.
"""

# %%
# Made fingerprints: 1,500 molecules in 60 families, which share a scaffold, with 256 bits of which
# some 40 are set. Six assays react to eight bits each. ``GetMorganGenerator`` of RDKit makes
# such rows from structures.

import numpy as np
from scipy.sparse import csr_array

rng = np.random.default_rng(0)
n, d, q = 1500, 256, 6
family = rng.integers(60, size=n)
own = rng.random((60, d)) < 0.1
bits = own[family] | (rng.random((n, d)) < 0.08)
X = csr_array(bits, dtype=np.float32)
sites = rng.choice(d, (q, 8))
active = bits[:, sites].sum(axis=2) + rng.normal(0, 0.5, (n, q))
y = (active > np.quantile(active, 1 - np.geomspace(0.2, 0.03, q), axis=0).diagonal()).astype(float)
y[rng.random(y.shape) < 0.4] = np.nan  # assays that were not run
print(f"{X.nnz / n:.0f} of {d} bits a row, {np.isnan(y).mean():.0%} of the cells unknown")
print("positives:", np.nansum(y, axis=0).astype(int))

# %%
# Molecules of one family are much alike. A family is in one fold only, else scores flatter.

from labelance.model_selection import IterativeStratifiedGroupKFold

folds = list(IterativeStratifiedGroupKFold(3, random_state=0).split(X, y, groups=family))

# %%
# Three ways to treat unknown cells, under one model: leave them out, take them for inactive, or
# drop the molecules that have any.

from sklearn.linear_model import LogisticRegression

from labelance.decisions import LabelThresholds
from labelance.learners import BinaryRelevance
from labelance.metrics import macro_f1

model = LabelThresholds(BinaryRelevance(LogisticRegression(solver="liblinear")), random_state=0)
f1 = {}
for name in ("left out", "taken for inactive", "molecules dropped"):
    found = np.zeros((len(folds), q))
    for i, (train, test) in enumerate(folds):
        if name == "molecules dropped":
            train = train[~np.isnan(y[train]).any(axis=1)]
        labels = np.nan_to_num(y[train]) if name == "taken for inactive" else y[train]
        predicted = model.fit(X[train], labels).predict(X[test])
        found[i] = macro_f1(y[test], predicted, average=None)
    f1[name] = found.mean(axis=0)
    print(f"{name:<20} macro F {f1[name].mean():.3f}, {len(train)} molecules in the last fold")

# %%
# F of each assay on the families that no model saw, by how often it is known to react.

import matplotlib.pyplot as plt

place = np.arange(q)
fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for i, (name, color) in enumerate(zip(f1, ("#D55E00", "#1F5C7A", "#B8B8B8"))):
    ax.bar(place + 0.27 * (i - 1), f1[name], 0.25, color=color, label=name)
ax.set_xticks(place, np.nansum(y, axis=0).astype(int))
ax.set(xlabel="known positives of the assay", ylabel="F of unseen families")
ax.legend(frameon=False, title="unknown cells are")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
