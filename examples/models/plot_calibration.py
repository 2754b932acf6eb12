"""
Scores that mean what they say
==============================

Of the rows that get 0.2 for a label, about a fifth should have it. Boosted trees, naive Bayes,
and everything that learned from resampled rows say other numbers. ``LabelCalibration`` finds a
map for every label, on rows that the model did not learn from.
"""

# %%
# Naive Bayes takes features for independent, and is far too sure of itself, alone and after MLSOL.

from imblearn.pipeline import make_pipeline
from sklearn.naive_bayes import GaussianNB

from labelance import MLSOL
from labelance.datasets import make_multilabel_imbalanced
from labelance.decisions import LabelCalibration
from labelance.learners import BinaryRelevance
from labelance.model_selection import multilabel_train_test_split

X, y = make_multilabel_imbalanced(1500, n_labels=6, imbalance=15, random_state=0)
X_train, X_test, y_train, y_test = multilabel_train_test_split(X, y, test_size=0.5, random_state=0)
bayes = BinaryRelevance(GaussianNB())
resampled = make_pipeline(MLSOL(sampling_ratio=0.5, random_state=0), bayes)
models = {
    "naive Bayes": bayes,
    "after MLSOL": resampled,
    "after MLSOL, calibrated": LabelCalibration(resampled, random_state=0),
}

# %%
# The calibration error is the distance between what is said and what is so; the Brier loss also
# counts how much the scores tell apart. Areas under curves do not change: the order of the rows
# stays.

from labelance.metrics import macro_auc_roc, macro_brier_loss, macro_calibration_error

scores = {name: model.fit(X_train, y_train).predict_proba(X_test) for name, model in models.items()}
print(f"{'':<24} {'error':>6} {'Brier':>6} {'AUC':>6}")
for name, score in scores.items():
    values = [
        measure(y_test, score)
        for measure in (macro_calibration_error, macro_brier_loss, macro_auc_roc)
    ]
    print(f"{name:<24}", *(f"{value:6.3f}" for value in values))

# %%
# On the diagonal scores are probabilities; below it they are too large. A line for each rarity
# band.

import matplotlib.pyplot as plt

from labelance.report import CalibrationDisplay

fig, axes = plt.subplots(1, 3, figsize=(9.6, 3.6), layout="constrained", sharey=True)
for ax, (name, score) in zip(axes, scores.items()):
    CalibrationDisplay.from_predictions(y_test, score, ax=ax)
    ax.set_title(name, loc="left", fontsize=10)
plt.show()
