"""
Five hundred labels of text
===========================

Tags of articles, subjects of a catalogue, codes of diseases: a few labels everywhere, and
hundreds that few rows have. Here are 3,000 made texts with 500 tags. Nothing is made dense: not
the words, not the labels.
"""

# %%
# Every tag has a handful of words of its own; frequencies of tags fall as in real catalogues.

import numpy as np

rng = np.random.default_rng(0)
n, q, n_words = 3000, 500, 4000
chance = np.minimum(0.3, 1.6 / np.arange(1, q + 1))
own_words = rng.choice(n_words, (q, 6))


def write_text(tags):
    """Some words of every tag, in the noise of others."""
    words = [rng.choice(own_words[tag], 4) for tag in tags] + [rng.integers(n_words, size=30)]
    return " ".join(f"word{number}" for number in np.concatenate(words))


tags = [np.flatnonzero(rng.random(q) < chance) for _ in range(n)]
texts = [write_text(row) for row in tags]
y = [[f"tag{number:03d}" for number in row] for row in tags]
print(texts[0][:70], "…")
print(y[0])

# %%
# Lists of label names are labels too. The rarest of them are on a handful of texts.

from sklearn.feature_extraction.text import TfidfVectorizer

from labelance import profile

X = TfidfVectorizer(min_df=3, sublinear_tf=True).fit_transform(texts)
print(str(profile(X, y, n_neighbors=None)).partition("label ")[0])

# %%
# As a table the labels stay sparse. A split in which every tag has its share on both sides:

from scipy.sparse import csr_array

from labelance.datasets import MultiLabelDataset
from labelance.model_selection import multilabel_train_test_split

data = MultiLabelDataset.from_data(csr_array(X), y)
X, Y = data.X, data.Y.astype(np.int64)  # scikit-learn miscounts over 127 labels of eight bits
train, test = multilabel_train_test_split(np.arange(n), Y, test_size=0.5, random_state=0)[:2]
print(f"{Y.nnz / n:.1f} tags on a text; {Y.nnz / np.prod(Y.shape):.2%} of the table are ones")

# %%
# One linear classifier for every tag, on the texts as they are and with half as many more by MLSOL;
# neighbors of sparse text are best found by the cosine.

from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from labelance import MLSOL
from labelance.metrics import macro_f1

sampler = MLSOL(sampling_ratio=0.5, metric="cosine", random_state=0)
X_more, Y_more = sampler.fit_resample(X[train], Y[train])
print(f"{X[train].shape} -> {X_more.shape}, still {type(X_more).__name__}")
classifier = OneVsRestClassifier(LinearSVC())
f1 = {
    name: macro_f1(Y[test], classifier.fit(*rows).predict(X[test]), average=None)
    for name, rows in {"as it was": (X[train], Y[train]), "MLSOL": (X_more, Y_more)}.items()
}

# %%
# F by how many training texts a tag has: what is frequent is found anyway; what five texts have is
# not found.

import matplotlib.pyplot as plt

counts = np.bincount(Y[train].indices, minlength=q)
edges = [0, 5, 10, 20, 50, 1500]
bands = np.digitize(counts, edges[1:-1])
names = ["under 5", "5 to 9", "10 to 19", "20 to 49", "50 and more"]
fig, ax = plt.subplots(figsize=(7.2, 3.8), layout="constrained")
for number, (name, color) in enumerate(zip(f1, ("#8FB4C8", "#D55E00"))):
    means = [np.nanmean(f1[name][bands == band]) for band in range(len(names))]
    ax.bar(np.arange(len(names)) + 0.36 * number, means, 0.34, color=color, label=name)
    print(f"{name:<10}", *(f"{mean:.3f}" for mean in means))
labels = [f"{name}\n{(bands == band).sum()} tags" for band, name in enumerate(names)]
ax.set_xticks(np.arange(len(names)) + 0.18, labels)
ax.set(xlabel="training texts of a tag", ylabel="mean F")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
