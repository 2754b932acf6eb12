"""
A weight for each label of XGBoost, CatBoost or any classifier
==============================================================

``scale_pos_weight`` of XGBoost is one number for all labels, and CatBoost refuses ``class_weights``
with a loss of several labels. ``BinaryRelevance`` fits one classifier for each label and hands
each the weights of its own label. With XGBoost that is one line::

    BinaryRelevance(XGBClassifier(), label_weight="balanced").fit(X, y)

and the same with ``CatBoostClassifier(verbose=0)`` or ``LGBMClassifier()``.
"""

# %%
# Here it is a booster of scikit-learn. Six labels; the most frequent one has twenty times the rows
# of the rarest.

import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

from labelance.datasets import make_multilabel_imbalanced
from labelance.learners import BinaryRelevance
from labelance.model_selection import multilabel_train_test_split

X, y = make_multilabel_imbalanced(
    2000, n_labels=6, imbalance=20, type_shares=(0.2, 0.4, 0.3, 0.1), random_state=0
)
y = pd.DataFrame(y, columns=["lamp", "chair", "table", "dog", "cat", "harp"])
X_train, X_test, y_train, y_test = multilabel_train_test_split(X, y, random_state=0)
booster = HistGradientBoostingClassifier(max_iter=30, max_leaf_nodes=15, max_bins=31)
model = BinaryRelevance(booster, label_weight="balanced").fit(X_train, y_train)

# %%
# "balanced" lets positives and negatives of a label weigh the same. Others are a ratio of your own,
# weights by name, or any function of y, which learns only from the rows of its fold in
# cross-validation.

import numpy as np

ways = {
    "no weights": None,
    "balanced": "balanced",
    "by name": {"harp": 20, "cat": 5},
    "root of the ratio": lambda y: np.sqrt((len(y) - y.sum()) / y.sum()),
}

# %%
# Weights and thresholds both move the border between absence and presence. So compare them at 0.5
# and with thresholds, and look at what both leave: do the scores rank better, and do probabilities
# still mean what they say?

from labelance.decisions import LabelThresholds
from labelance.metrics import macro_auc_pr, macro_calibration_error, macro_f1

table = {}
for name, weight in ways.items():
    plain = BinaryRelevance(booster, label_weight=weight)
    tuned = LabelThresholds(plain, random_state=0).fit(X_train, y_train)
    plain, scores = tuned.estimator_, tuned.predict_proba(X_test)
    table[name] = {
        "F at 0.5": macro_f1(y_test, plain.predict(X_test)),
        "F with thresholds": macro_f1(y_test, tuned.predict(X_test)),
        "AUCPR": macro_auc_pr(y_test, scores),
        "calibration error": macro_calibration_error(y_test, scores),
    }
table = pd.DataFrame(table).T.round(3)
print(table.to_string())

# %%
# Thresholds without weights have the largest F here, and the best probabilities. Weights are for
# models that must decide at 0.5, and take one fit instead of four.

import matplotlib.pyplot as plt

ax = table[["F at 0.5", "F with thresholds"]].plot.barh(color=["#8FB4C8", "#D55E00"])
ax.invert_yaxis()
ax.set_xlabel("macro F of unseen rows")
ax.spines[["top", "right"]].set_visible(False)
ax.figure.tight_layout()
plt.show()
