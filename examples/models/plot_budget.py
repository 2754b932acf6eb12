"""
A budget of labels per row
==========================

A reviewer reads at most k suggested labels per row. The k most probable labels use up the budget in
every row. Decisions for macro F stop earlier; decisions for macro recall give more of it to rare
labels.
"""

# %%
# Probabilities of a batch of rows. Budgets need calibrated ones; logistic regressions give them.

from sklearn.linear_model import LogisticRegression

from labelance.datasets import make_multilabel_imbalanced
from labelance.learners import BinaryRelevance
from labelance.model_selection import multilabel_train_test_split

X, y = make_multilabel_imbalanced(6000, n_labels=20, imbalance=30, random_state=0)
X_train, X_test, y_train, y_test = multilabel_train_test_split(X, y, random_state=0)
proba = BinaryRelevance(LogisticRegression()).fit(X_train, y_train).predict_proba(X_test)

# %%
# The utility "precision" takes the most probable labels of each row.

from sklearn.metrics import recall_score

from labelance.decisions import decide_within_budget
from labelance.metrics import macro_f1

budgets = (1, 2, 3, 5, 8)
scores = {}
for utility in ("precision", "macro_f1", "macro_recall"):
    options = {"utility": utility, "random_state": 0}
    decided = [decide_within_budget(proba, per_row=k, **options) for k in budgets]
    scores[utility] = [
        (macro_f1(y_test, found.y), recall_score(y_test, found.y.toarray(), average="macro"))
        for found in decided
    ]
    rarest = [int(found.n_predicted[-1]) for found in decided]
    mean = [round(found.y.nnz / len(proba), 1) for found in decided]
    print(f"{utility:<13} labels per row {mean}, rows of the rarest label {rarest}")

# %%
# Each utility is best at what it maximizes. For macro F, a budget above 3 changes little.

import matplotlib.pyplot as plt

fig, axes = plt.subplots(1, 2, figsize=(7.6, 3.4), layout="constrained", sharex=True)
names = {"precision": "most probable", "macro_f1": "macro F", "macro_recall": "macro recall"}
colors = ("#7F7F7F", "#D55E00", "#1F5C7A")
for (utility, values), color in zip(scores.items(), colors):
    for ax, value in zip(axes, zip(*values)):
        ax.plot(budgets, value, "o-", color=color, label=names[utility])
for ax, measure in zip(axes, ("macro F", "macro recall")):
    ax.set(xlabel="labels per row, at most", ylabel=f"{measure} of unseen rows", ylim=(0, None))
    ax.spines[["top", "right"]].set_visible(False)
axes[1].legend(frameon=False, title="decided for")
plt.show()
