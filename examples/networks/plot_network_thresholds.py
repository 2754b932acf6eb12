"""
Thresholds for the scores of a network
======================================

A network trained with binary cross-entropy seldom gives a rare label a score of 0.5. Validation
rows show where to cut instead, label by label.
"""

# %%
# Scores of validation rows and of test rows. With torch they are ``torch.sigmoid(model(X)).cpu()``.

from sklearn.neural_network import MLPClassifier

from labelance.datasets import make_multilabel_imbalanced
from labelance.model_selection import multilabel_train_test_split

X, y = make_multilabel_imbalanced(6000, n_labels=8, imbalance=30, random_state=0)
X_train, X_rest, y_train, y_rest = multilabel_train_test_split(X, y, test_size=0.5, random_state=0)
X_val, X_test, y_val, y_test = multilabel_train_test_split(
    X_rest, y_rest, test_size=0.5, random_state=0
)
network = MLPClassifier(early_stopping=True, n_iter_no_change=20, random_state=0)
network.fit(X_train, y_train)
val_scores, test_scores = network.predict_proba(X_val), network.predict_proba(X_test)

# %%
# Thresholds are found on validation rows. The result says what each one finds, and why.

from labelance.decisions import find_thresholds

found = find_thresholds(y_val, val_scores)
print(found.to_frame()[["threshold", "n_positive", "n_predicted", "n_found"]].round(2))
print("label 7:", found.reasons[7])

# %%
# F of each label on the test rows, from frequent labels to rare ones.

import matplotlib.pyplot as plt
import numpy as np

from labelance.metrics import macro_f1

half = macro_f1(y_test, test_scores >= 0.5, average=None)
tuned = macro_f1(y_test, found.predict(test_scores), average=None)
print(f"macro F: {half.mean():.3f} at 0.5, {tuned.mean():.3f} with thresholds")

place = np.arange(len(half))
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.bar(place - 0.19, half, 0.36, color="#8FB4C8", label="0.5 for all labels")
ax.bar(place + 0.19, tuned, 0.36, color="#D55E00", label="thresholds of validation rows")
ticks = [f"{m}\n({t:.2f})" for m, t in zip(y_val.sum(axis=0), found.thresholds)]
ax.set_xticks(place, ticks)
ax.set(xlabel="positives among 1,500 validation rows (threshold)", ylabel="F of test rows")
ax.set_ylim(0, 0.85)
ax.legend(frameon=False, ncols=2, loc="upper right")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
