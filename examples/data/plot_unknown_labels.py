"""
Unknown labels
==============

In partially labelled data some cells of y are unknown. Taking them for absent teaches a model
that rows lack labels that they have; leaving out every row with an unknown cell leaves hardly
any row. Unknown cells (NaN) may stay unknown: every label learns from the rows of which it is
known, and so do its threshold and its score.
"""

# %%
# Hide cells, positives more often than negatives, as annotators do who stop early.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from labelance.datasets import make_multilabel_imbalanced
from labelance.decisions import LabelThresholds
from labelance.learners import BinaryRelevance
from labelance.metrics import macro_f1
from labelance.model_selection import multilabel_train_test_split

X, y = make_multilabel_imbalanced(1000, 10, 5, random_state=0)
X_train, X_test, y_train, y_test = multilabel_train_test_split(X, y, random_state=0)
rng = np.random.default_rng(0)
model = LabelThresholds(BinaryRelevance(LogisticRegression()), random_state=0)


def hide(y, share):
    """Return labels with NaN, a positive twice as often as a negative."""
    chance = np.where(y == 1, min(2 * share, 0.9), share)
    return np.where(rng.random(y.shape) < chance, np.nan, y)


# %%
# Three things to do with them, judged on rows whose labels are all known.
shares = [0, 0.1, 0.2, 0.3, 0.4]
found = {"unknown stays unknown": [], "unknown is absent": [], "rows are dropped": []}
for share in shares:
    partial = hide(y_train, share)
    whole = ~np.isnan(partial).any(axis=1)
    treated = {
        "unknown stays unknown": (X_train, partial),
        "unknown is absent": (X_train, np.nan_to_num(partial)),
        "rows are dropped": (X_train[whole], partial[whole]),
    }
    for name, rows in treated.items():
        found[name].append(macro_f1(y_test, model.fit(*rows).predict(X_test)))

# %%
fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name, values in found.items():
    ax.plot(shares, values, marker="o", label=name)
ax.set(xlabel="share of negatives that are hidden", ylabel="macro F of test rows")
ax.legend()
