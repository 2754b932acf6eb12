"""
MLSOL in a pipeline, on sparse text
===================================

A sampler belongs inside the cross-validation: it may add rows to the training folds, and must
never touch the rows that a model is judged on. imbalanced-learn's ``Pipeline`` does exactly that
with any object that has ``fit_resample``, so MLSOL goes between the features and the classifier.
The features are a sparse matrix, and stay one.
"""

# %%
# Real text: glosses of 2243 verbs of thinking and saying, as counts of words, and the sentence
# frames in which each verb can stand. Half of the verbs take *somebody verbs something*; eight
# frames have at most 12 verbs each.

import numpy as np

from labelance.datasets import load_dataset

X, y = load_dataset("verbframes", return_X_y=True)
print(f"{X.shape[0]} rows, {X.shape[1]} words, {X.nnz / X.shape[0]:.1f} words a row")
print("rows of each label:", sorted(y.sum(axis=0).tolist(), reverse=True))

# %%
# Three pipelines: as it is, with MLSOL, and with a threshold of its own for every label instead.

from imblearn.pipeline import make_pipeline
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from labelance import MLSOL
from labelance.decisions import LabelThresholds

words = TfidfTransformer(sublinear_tf=True)
sampler = MLSOL(sampling_ratio=0.5, random_state=0)
classifier = OneVsRestClassifier(LogisticRegression(C=10, solver="liblinear"))

pipelines = {
    "no sampling": make_pipeline(words, classifier),
    "MLSOL": make_pipeline(words, sampler, classifier),
    "thresholds": make_pipeline(words, LabelThresholds(classifier, random_state=0)),
}

# %%
# Folds in which every label has its share, and scores that average over labels, so that a rare
# label counts as much as a frequent one.

from sklearn.model_selection import cross_validate

from labelance.metrics import get_joint_scorer
from labelance.model_selection import IterativeStratifiedKFold

folds = IterativeStratifiedKFold(5, shuffle=True, random_state=0)
scoring = get_joint_scorer("macro_f1", "macro_auc_pr")

print(f"{'':<12} {'macro F':>8} {'macro AUCPR':>12}")
for name, pipeline in pipelines.items():
    scores = cross_validate(pipeline, X, y, cv=folds, scoring=scoring)
    f1, auc_pr = scores["test_macro_f1"].mean(), scores["test_macro_auc_pr"].mean()
    print(f"{name:<12} {f1:8.3f} {auc_pr:12.3f}")

# %%
# Label by label, the most frequent first: where does the difference come from?

import matplotlib.pyplot as plt
from sklearn.model_selection import cross_val_predict

from labelance.metrics import macro_f1

order = np.argsort(-y.sum(axis=0), kind="stable")
f1_of = {
    name: macro_f1(y, cross_val_predict(pipeline, X, y, cv=folds), average=None)[order]
    for name, pipeline in pipelines.items()
}

place = np.arange(len(order))
low, high = np.min(list(f1_of.values()), axis=0), np.max(list(f1_of.values()), axis=0)
fig, ax = plt.subplots(figsize=(8.4, 4.2), layout="constrained")
ax.vlines(place, low, high, color="#BBBBBB", linewidth=2, zorder=1)
ax.scatter(place, f1_of["no sampling"], s=40, facecolor="white", edgecolor="#1F5C7A", linewidth=1.6)
ax.scatter(place, f1_of["MLSOL"], s=40, color="#D55E00")
ax.scatter(place, f1_of["thresholds"], s=40, marker="D", color="#009E73")
ax.set_xticks(place, y.sum(axis=0)[order], fontsize=8)
ax.set(xlabel="verbs that take the frame", ylabel="F of the frame", ylim=(-0.02, 1))
ax.legend(["spread", *f1_of], frameon=False, loc="upper right")
ax.spines[["top", "right"]].set_visible(False)
ax.grid(axis="y", color="#EEEEEE")
ax.set_axisbelow(True)
plt.show()

# %%
# F counts decisions, and with more rows of rare frames the classifier decides for them more often:
# MLSOL helps frames of 39 to 144 verbs. AUCPR judges only the order of the scores, and that gained
# nothing here, so moving the thresholds does more, and the rarest frames are found by nothing
# else. Look at both kinds of score, and try the cheaper cure too, before trusting one.
