"""
Embeddings with rare labels
===========================

Vectors from a language model have no empty columns, and their directions matter more than their
lengths. Which cure for rare labels works on them: thresholds, class weights, or MLSOL with cosine
distances?
"""

# %%
# Precomputed vectors take the place of ``X``. Here they are 64 dimensions of a latent semantic
# analysis of 2,243 short texts, so nothing has to be downloaded; vectors of a sentence
# transformer go the same way. Of 28 labels, we keep those with at least 10 rows.

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize

from labelance.datasets import load_dataset
from labelance.model_selection import multilabel_train_test_split

words, y = load_dataset("verbframes", return_X_y=True)
y = np.asarray(y)[:, np.asarray(y).sum(axis=0) >= 10]
embed = make_pipeline(TfidfTransformer(), TruncatedSVD(64, random_state=0))
X = normalize(embed.fit_transform(words))
X_train, X_test, y_train, y_test = multilabel_train_test_split(X, y, random_state=0)
counts = y_train.sum(axis=0)
print(X_train.shape, "training rows of the rarest labels:", np.sort(counts)[:8])

# %%
# Four logistic regressions: as they come, with class weights, with thresholds, and after MLSOL.
# Thresholds are found on rows that a copy of the model did not learn from.

from imblearn.pipeline import make_pipeline as make_resampling_pipeline
from sklearn.linear_model import LogisticRegression

from labelance import MLSOL
from labelance.decisions import LabelThresholds
from labelance.learners import BinaryRelevance
from labelance.metrics import macro_f1

plain = BinaryRelevance(LogisticRegression(C=10, max_iter=500))
weighted = BinaryRelevance(LogisticRegression(C=10, max_iter=500, class_weight="balanced"))
models = {
    "nothing": plain,
    "MLSOL, cosine": make_resampling_pipeline(MLSOL(metric="cosine", random_state=0), plain),
    "class weights": weighted,
    "thresholds": LabelThresholds(plain, random_state=0),
}
predicted = {
    name: np.asarray(model.fit(X_train, y_train).predict(X_test)) for name, model in models.items()
}

# %%
# F of unseen rows, over labels of like rarity.

groups = {
    "up to 20 rows": counts <= 20,
    "21 to 50": (counts > 20) & (counts <= 50),
    "more than 50": counts > 50,
}
f1 = {name: np.asarray(macro_f1(y_test, found, average=None)) for name, found in predicted.items()}
for name, values in f1.items():
    means = ", ".join(f"{group} {values[labels].mean():.2f}" for group, labels in groups.items())
    print(f"{name:<14} macro F {values.mean():.3f} ({means})")

# %%
# Bars are means over the labels of a group. Thresholds cost one more round of fits and change no
# score; weights change the scores too, so their probabilities are no longer frequencies.

import matplotlib.pyplot as plt

place = np.arange(len(groups))
colors = ("#B8B8B8", "#8FB4C8", "#1F5C7A", "#D55E00")
fig, ax = plt.subplots(figsize=(6.8, 3.6), layout="constrained")
for i, (name, values) in enumerate(f1.items()):
    heights = [values[labels].mean() for labels in groups.values()]
    ax.bar(place + 0.2 * (i - 1.5), heights, 0.18, color=colors[i], label=name)
ax.set_xticks(place, [f"{name}\n({labels.sum()} labels)" for name, labels in groups.items()])
ax.set(xlabel="training rows of a label", ylabel="mean F of unseen rows")
ax.legend(frameon=False, loc="upper left")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
