"""
Labels that look wrong, and rows to annotate next
=================================================

Annotators make mistakes, and there is no time to read every row again. Scores of a model that did
not learn from a row say which of its labels look wrong, and which rows without labels are likely to
have rare ones.
"""

# %%
# Short texts with 28 labels. 1,000 rows are annotated; of every label, a tenth of the positives
# went missing, and as many were given by mistake.

import numpy as np

from labelance.datasets import load_dataset

data = load_dataset("verbframes")
X, truth, names = data.values, data.Y.toarray(), data.label_names
rng = np.random.default_rng(0)
annotated, others = np.split(rng.permutation(len(truth)), [1000])
y = truth[annotated].copy()
for label, column in enumerate(truth[annotated].T):
    for value in (0, 1):
        rows = np.flatnonzero(column == value)
        y[rng.choice(rows, min(len(rows), column.sum() // 10), replace=False), label] = 1 - value
print((y != truth[annotated]).sum(), "of", y.size, "cells are wrong")

# %%
# Which labels look wrong? Scores are out of fold, and the folds are stratified so that each has
# rows of rare labels. The list begins with the most suspect cell of every label.

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from labelance.annotation import rows_to_annotate, suspect_labels
from labelance.learners import BinaryRelevance
from labelance.model_selection import IterativeStratifiedKFold

model = BinaryRelevance(LogisticRegression())
folds = IterativeStratifiedKFold(5, random_state=0)
scores = cross_val_predict(model, X[annotated], y, cv=folds, method="predict_proba")
suspects = suspect_labels(y, scores, label_names=names)
suspects.head()

# %%
# How many of the first 100 are wrong, next to the share by chance?

first = suspect_labels(y, scores).head(100)
wrong = (y != truth[annotated])[first["row"], first["label"]]
print(f"{wrong.sum()} of 100 are wrong, of {first['label'][wrong].nunique()} labels")
print(f"by chance: {100 * (y != truth[annotated]).mean():.1f} of 100")

# %%
# Which rows to annotate next? Here 100 of the others, next to the 100 of which the model is least
# certain, and to 100 random ones.

import matplotlib.pyplot as plt

proba = model.fit(X[annotated], y).predict_proba(X[others])
chosen = {
    "rows_to_annotate": rows_to_annotate(proba, 100),
    "least certain": np.argsort(-np.minimum(proba, 1 - proba).mean(axis=1))[:100],
    "random": rng.choice(len(others), 100, replace=False),
}
order = np.argsort(-truth.sum(axis=0), kind="stable")
fig, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
for (name, rows), color in zip(chosen.items(), ("#1F5C7A", "#D55E00", "#7F7F7F")):
    found = truth[others[rows]].sum(axis=0)[order]
    print(f"{name:<17} positives of the rarer 14 labels: {found[14:].sum()}")
    ax.plot(np.arange(1, 29), found, "o-", color=color, label=name)
ax.set(xlabel="label, from frequent to rare", ylabel="positives among 100 rows", yscale="symlog")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()
