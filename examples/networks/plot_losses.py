"""
Weighted and focal losses for many labels, also in a Hugging Face Trainer
=========================================================================

``problem_type="multi_label_classification"`` gives a model ``BCEWithLogitsLoss`` without weights,
and no place to put any. A loss of :mod:`labelance.torch` has its weights from the training labels,
and goes into the ``Trainer`` in one line::

    from labelance.torch import WeightedLoss
    from transformers import AutoModelForSequenceClassification, Trainer

    model = AutoModelForSequenceClassification.from_pretrained(
        "distilbert-base-uncased",
        problem_type="multi_label_classification",
        num_labels=y_train.shape[1],
    )
    loss = WeightedLoss.from_labels(y_train, kind="effective")  # or "positive", as pos_weight
    trainer = Trainer(model, args, train_dataset=train, compute_loss_func=loss.compute_loss)
    trainer.train()

``compute_loss`` takes what the Trainer hands it: outputs, labels, and the number of cells in the
step, so that gradient accumulation gives the gradient of one large batch. Labels are floats, NaN
where unknown. Below the same loss trains a small network without transformers. It needs torch;
without it this page shows the batches alone.
"""

# %%
# Made embeddings and eight labels, of which the last is in few rows. A tenth of the training cells
# is unknown.

import numpy as np

from labelance.datasets import make_multilabel_imbalanced
from labelance.model_selection import multilabel_train_test_split

X, y = make_multilabel_imbalanced(3000, 32, 8, imbalance=40, random_state=0)
X_train, X_rest, y_train, y_rest = multilabel_train_test_split(X, y, test_size=0.5, random_state=0)
X_val, X_test, y_val, y_test = multilabel_train_test_split(
    X_rest, y_rest, test_size=0.5, random_state=0
)
unknown = np.random.default_rng(0).random(y_train.shape) < 0.1
y_train = np.where(unknown, np.nan, y_train)
print("training rows with each label:", np.nansum(y_train, axis=0).astype(int))

# %%
# One network for each loss, and macro F at 0.5 and with thresholds of the validation rows.

from labelance.decisions import find_thresholds
from labelance.metrics import macro_auc_pr, macro_f1

try:
    import torch

    from labelance.torch import (
        AsymmetricLoss,
        DistributionBalancedLoss,
        FocalLoss,
        LogitAdjustedLoss,
        WeightedLoss,
    )
except ImportError:
    torch = None
    print('torch is not installed: pip install "labelance[torch]"')


def fit(loss):
    """Train a network; return its scores of validation and test rows."""
    torch.manual_seed(0)
    rows, targets = (torch.as_tensor(part, dtype=torch.float32) for part in (X_train, y_train))
    network = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    for _ in range(15):
        for batch in torch.randperm(len(rows)).split(64):
            optimizer.zero_grad()
            loss(network(rows[batch]), targets[batch]).backward()
            optimizer.step()
    with torch.no_grad():
        return [
            torch.sigmoid(network(torch.as_tensor(part, dtype=torch.float32))).numpy()
            for part in (X_val, X_test)
        ]


if torch is not None:
    losses = {
        "cross-entropy": WeightedLoss(),
        "weighted, positive": WeightedLoss.from_labels(y_train, kind="positive"),
        "weighted, effective": WeightedLoss.from_labels(y_train, kind="effective"),
        "focal": FocalLoss.from_labels(y_train),
        "asymmetric": AsymmetricLoss.from_labels(y_train),
        "logit adjusted": LogitAdjustedLoss.from_labels(y_train),
        "distribution-balanced": DistributionBalancedLoss.from_labels(y_train),
    }
    for name, loss in losses.items():
        val, test = fit(loss)
        half = macro_f1(y_test, test >= 0.5)
        tuned = macro_f1(y_test, find_thresholds(y_val, val).predict(test))
        area = macro_auc_pr(y_test, test)
        print(f"{name:<22} F {half:.3f}, with thresholds {tuned:.3f}, AUCPR {area:.3f}")

# %%
# Thresholds raise F with every loss. One seed and a dozen rows of the rarest label say little about
# which loss is best: on goemotions and mirflickr, with three seeds, thresholds left nothing for
# other losses to gain. Where you cannot tune thresholds, a loss helps. The page on losses in the
# user guide has the figures.
#
# Shuffled batches of 64 rows often have no row with the rarest label. In those of
# ``RareLabelBatchSampler``, which goes into ``DataLoader(batch_sampler=...)`` and needs no torch,
# rare labels take turns.

import matplotlib.pyplot as plt

from labelance.sampling import RareLabelBatchSampler

in_turns = RareLabelBatchSampler(y_train, 64, random_state=0)
shuffled = np.split(np.random.default_rng(1).permutation(len(y_train)), range(64, len(y_train), 64))
fig, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
for name, batches, color in (
    ("shuffled", shuffled, "#1F5C7A"),
    ("rare labels in turns", in_turns, "#D55E00"),
):
    rarest = [np.nansum(y_train[batch, -1]) for batch in batches]
    ax.plot(rarest, marker="o", markersize=3, linewidth=0.8, color=color, label=name)
ax.set(xlabel="batch", ylabel="rows with the rarest label", ylim=0)
ax.legend(frameon=False)
plt.show()
