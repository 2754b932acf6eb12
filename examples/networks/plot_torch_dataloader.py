"""
Embeddings in torch: a DataLoader that meets rare labels more often
===================================================================

With embeddings and a network one rarely makes new rows. The same local label distribution that
guides MLSOL gives weights instead: to rows, for a ``DataLoader`` that draws hard minority rows
more often. Needs torch; without it this page shows the weights alone. Weights of labels, for the
loss, have an example of their own.
"""

# %%
# 2,000 made embeddings of 32 numbers, and ten labels, the last of which few rows have.

import numpy as np

from labelance.datasets import make_multilabel_imbalanced

X, y = make_multilabel_imbalanced(2000, 32, 10, imbalance=25, random_state=0)
train, test = slice(0, 1400), slice(1400, None)
print("rows of each label:", y.sum(axis=0).tolist())

# %%
# Weights of rows from their neighbors.

from labelance.sampling import WeightedIndexSampler, sample_weights

rows = sample_weights(X[train], y[train])
sampler = WeightedIndexSampler(
    rows + rows.mean(), random_state=0
)  # the mean keeps all rows in play
drawn = y[train][np.array(list(sampler))]
print(
    "share of rows with the rarest label:",
    y[train][:, -1].mean().round(4),
    "->",
    drawn[:, -1].mean().round(4),
)

# %%
# The sampler goes into torch's own ``DataLoader``; nothing of the data is copied.

import matplotlib.pyplot as plt

from labelance.metrics import macro_auc_pr, macro_f1

try:
    import torch
    from torch.utils.data import DataLoader, TensorDataset
except ImportError:
    torch = None
    print("torch is not installed: pip install torch")


def fit(sampler):
    """Train a small network for a few epochs; return its scores of the test rows."""
    torch.manual_seed(0)
    data = TensorDataset(
        torch.as_tensor(X[train], dtype=torch.float32),
        torch.as_tensor(y[train], dtype=torch.float32),
    )
    loader = DataLoader(data, batch_size=64, sampler=sampler)
    network = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    loss = torch.nn.BCEWithLogitsLoss()
    for _ in range(15):
        for features, target in loader:
            optimizer.zero_grad()
            loss(network(features), target).backward()
            optimizer.step()
    with torch.no_grad():
        return torch.sigmoid(network(torch.as_tensor(X[test], dtype=torch.float32))).numpy()


if torch is not None:
    scores = {"every row alike": fit(range(1400)), "hard rows more often": fit(sampler)}
    for name, score in scores.items():
        f1, area = macro_f1(y[test], score >= 0.5), macro_auc_pr(y[test], score)
        print(f"{name:<20} macro F {f1:.3f}, macro AUCPR {area:.3f}")

# %%
# Which rows are drawn more often: those with a rare label whose neighbors lack it.

fig, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
ax.hist(
    rows[y[train][:, -3:].any(axis=1)],
    bins=40,
    color="#D55E00",
    alpha=0.8,
    label="with one of the three rarest labels",
)
ax.hist(rows[~y[train][:, -3:].any(axis=1)], bins=40, color="#1F5C7A", alpha=0.5, label="others")
ax.set(xlabel="weight of a row", ylabel="rows", yscale="log")
ax.legend(frameon=False)
plt.show()

# %%
# F counts decisions, and a network that meets rare labels more often decides for them more often.
# AUCPR judges only the order of the scores, and that gains nothing here: look at both.
