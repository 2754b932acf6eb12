"""
MLSOL in a pipeline, on sparse text
===================================

A sampler belongs inside the cross-validation: it may add rows to the training folds, and must
never touch the rows that a model is judged on. imbalanced-learn's ``Pipeline`` does exactly that
with any object that has ``fit_resample``, so MLSOL goes between the features and the classifier.
The features are a sparse matrix, and stay one.
"""

# %%
# Documents about some of 12 topics, or about none. The first topic is in every third document,
# the last in one of fifty. A word is from the common language or from a topic of its document.

import numpy as np

rng = np.random.default_rng(0)
n_documents, n_topics = 1500, 12

frequency = np.geomspace(1 / 3, 1 / 50, n_topics)
y = (rng.random((n_documents, n_topics)) < frequency).astype(int)

language = np.array([f"word{i}" for i in range(2000)])
vocabulary = [rng.choice(language, size=80, replace=False) for _ in range(n_topics)]


def write(topics, n_words=50):
    """Five words of the common language for each word of a topic."""
    sources = [language] * 5 + [vocabulary[topic] for topic in topics]
    return " ".join(rng.choice(sources[rng.integers(len(sources))]) for _ in range(n_words))


documents = [write(np.flatnonzero(row)) for row in y]
print("documents of each topic:", y.sum(axis=0).tolist())

# %%
# Two pipelines that differ by one step.

from imblearn.pipeline import make_pipeline
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from labelance import MLSOL

words = TfidfVectorizer(sublinear_tf=True)
sampler = MLSOL(sampling_ratio=0.5, random_state=0)
classifier = OneVsRestClassifier(LogisticRegression(C=10, solver="liblinear"))

pipelines = {
    "no sampling": make_pipeline(words, classifier),
    "MLSOL": make_pipeline(words, sampler, classifier),
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
    scores = cross_validate(pipeline, documents, y, cv=folds, scoring=scoring)
    f1, auc_pr = scores["test_macro_f1"].mean(), scores["test_macro_auc_pr"].mean()
    print(f"{name:<12} {f1:8.3f} {auc_pr:12.3f}")

# %%
# Label by label: where does the difference come from?

import matplotlib.pyplot as plt
from sklearn.model_selection import cross_val_predict

from labelance.metrics import macro_f1

f1_of = {
    name: macro_f1(y, cross_val_predict(pipeline, documents, y, cv=folds), average=None)
    for name, pipeline in pipelines.items()
}

place = np.arange(n_topics)
fig, ax = plt.subplots(figsize=(7.6, 4.2), layout="constrained")
ax.vlines(place, f1_of["no sampling"], f1_of["MLSOL"], color="#BBBBBB", linewidth=2, zorder=1)
ax.scatter(place, f1_of["no sampling"], s=44, facecolor="white", edgecolor="#1F5C7A", linewidth=1.6)
ax.scatter(place, f1_of["MLSOL"], s=44, color="#D55E00")
ax.set_xticks(place, y.sum(axis=0))
ax.set(xlabel="documents of the topic", ylabel="F of the topic", ylim=(0, 1))
ax.legend(["change", *f1_of], frameon=False, loc="upper right")
ax.spines[["top", "right"]].set_visible(False)
ax.grid(axis="y", color="#EEEEEE")
ax.set_axisbelow(True)
plt.show()

# %%
# F counts decisions, and with more rows of rare topics the classifier decides for them more often.
# AUCPR judges only the order of the scores, and that gained nothing here: on data where a linear
# model orders well already, moving the threshold may do as much. The rarest topics were
# found by neither. Look at both kinds of score before trusting one.
