"""
LightGBM, XGBoost and other boosters
====================================

Any binary classifier learns several labels inside ``BinaryRelevance``, one model for each label.
``LabelThresholds`` around it finds where to cut the scores of each label.
"""

# %%
# Boosters of scikit-learn are always there; LightGBM and XGBoost join where they are installed.

from sklearn.ensemble import HistGradientBoostingClassifier

boosters = {
    "scikit-learn": HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=15, random_state=0)
}
try:
    from lightgbm import LGBMClassifier

    boosters["LightGBM"] = LGBMClassifier(
        n_estimators=40, num_leaves=15, verbose=-1, random_state=0
    )
except ImportError:
    print("LightGBM is not installed: pip install lightgbm")
try:
    from xgboost import XGBClassifier

    boosters["XGBoost"] = XGBClassifier(n_estimators=40, max_leaves=15, random_state=0)
except ImportError:
    print("XGBoost is not installed: pip install xgboost")

# %%
# Six labels; the most frequent one has twenty times the rows of the rarest. Four in ten minority
# cells are borderline and four in ten are rare or outliers, as in much real data.

from labelance.datasets import make_multilabel_imbalanced
from labelance.model_selection import multilabel_train_test_split

X, y = make_multilabel_imbalanced(
    1500, n_labels=6, imbalance=20, type_shares=(0.2, 0.4, 0.3, 0.1), random_state=0
)
X_train, X_test, y_train, y_test = multilabel_train_test_split(X, y, random_state=0)
print("training rows of each label:", y_train.sum(axis=0))

# %%
# The same booster at 0.5 and with thresholds, which come from the scores of rows that a copy of
# the booster did not learn from (three folds, so three fits more).

from labelance.decisions import LabelThresholds
from labelance.learners import BinaryRelevance
from labelance.metrics import macro_f1

scores = {}
for name, booster in boosters.items():
    labels = BinaryRelevance(booster)
    at_half = labels.fit(X_train, y_train).predict(X_test)
    tuned = LabelThresholds(labels, random_state=0).fit(X_train, y_train)
    scores[name] = [
        macro_f1(y_test, found, average=None) for found in (at_half, tuned.predict(X_test))
    ]
    half, cut = (values.mean() for values in scores[name])
    print(f"{name:<13} macro F {half:.3f} at 0.5, {cut:.3f} with thresholds")

# %%
# F of each label, from frequent to rare. Boosters seldom give a rare label a score of 0.5.

import matplotlib.pyplot as plt
import numpy as np

order = np.argsort(-y_train.sum(axis=0))
fig, axes = plt.subplots(
    1, len(scores), figsize=(max(6.4, 3.4 * len(scores)), 3.4), sharey=True, squeeze=False,
    layout="constrained",
)  # fmt: skip
place = np.arange(len(order))
for ax, (name, (half, cut)) in zip(axes[0], scores.items()):
    ax.bar(place - 0.19, half[order], 0.36, color="#8FB4C8", label="0.5 for all labels")
    ax.bar(place + 0.19, cut[order], 0.36, color="#D55E00", label="thresholds")
    ax.set_xticks(place, y_train.sum(axis=0)[order])
    ax.set(title=name, xlabel="training rows of the label", ylim=(0, 1))
    ax.spines[["top", "right"]].set_visible(False)
axes[0, 0].set_ylabel("F of unseen rows")
axes[0, 0].legend(frameon=False, ncols=2)
plt.show()
