"""
Weights and shifts for the loss of a network
============================================

Networks are trained on batches, and their losses take numbers for every label or cell instead of
other rows. Here one linear layer, the head of any network, learns rare labels with five losses;
the numbers come from :mod:`labelance.sampling`, as plain arrays, and go into torch, JAX or, as
here, NumPy alike.
"""

# %%
# Ten labels, which a quarter down to a twenty-fifth of the rows have.

import numpy as np

from labelance.datasets import make_multilabel_imbalanced
from labelance.metrics import macro_auc_roc, macro_f1

X, y = make_multilabel_imbalanced(1200, 12, 10, random_state=0)
X = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones(len(X))])
X_train, y_train, X_test, y_test = X[::2], y[::2], X[1::2], y[1::2]
print("training rows with each label:", y_train.sum(axis=0))

# %%
# The loss is binary cross-entropy: -log sigmoid(z) for a present and -log sigmoid(-z) for an
# absent label, with a weight for every cell and a shift of the logits z. In torch this is
# ``binary_cross_entropy_with_logits(z + shift, y, weight=weight)``.

from scipy.optimize import minimize
from scipy.special import expit


def train(weight, shift):
    """Return the scores of the test rows; the shift belongs to training alone."""

    def loss(flat):
        z = X_train @ flat.reshape(X.shape[1], -1) + shift
        cells = np.logaddexp(0, z) - y_train * z
        slope = X_train.T @ (weight * (expit(z) - y_train))
        return np.sum(weight * cells) + flat @ flat / 2, slope.ravel() + flat

    start = np.zeros(X.shape[1] * y.shape[1])
    layer = minimize(loss, start, jac=True, method="L-BFGS-B").x.reshape(X.shape[1], -1)
    return expit(X_test @ layer)


# %%
# Five losses. ``by_class`` picks the weight of absence or of presence for every cell.

from labelance.sampling import distribution_balanced_weights, label_weights, logit_adjustment


def by_class(weights):
    return np.where(y_train == 1, weights[:, 1], weights[:, 0])


losses = {
    "plain": (np.ones(y_train.shape), 0),
    "balanced": (by_class(label_weights(y_train)), 0),
    "effective number": (by_class(label_weights(y_train, kind="effective", beta=0.99)), 0),
    "distribution-balanced": (distribution_balanced_weights(y_train), logit_adjustment(y_train)),
    "logit adjustment": (np.ones(y_train.shape), logit_adjustment(y_train)),
}
scores = {name: train(*numbers) for name, numbers in losses.items()}
for name, found in scores.items():
    f, area = macro_f1(y_test, found >= 0.5), macro_auc_roc(y_test, found)
    print(f"{name:<22} macro F {f:.3f}, AUC-ROC {area:.3f}")

# %%
# All of them rank the rows alike: the areas hardly differ. What they move is the border at which a
# label is predicted. Full balance, by weights or by shifted logits, asks for few missed rows of
# either class and predicts rare labels far too often for F; the effective number lies between
# that and the plain loss. A threshold for every label moves the same border afterwards
# (:class:`~labelance.decisions.LabelThresholds`).

import matplotlib.pyplot as plt

order = np.argsort(-y_train.sum(axis=0))
fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
for name, found in scores.items():
    ax.plot((found >= 0.5).mean(axis=0)[order], marker="o", markersize=4, label=name)
ax.plot(y_test.mean(axis=0)[order], color="black", linestyle=":", label="true share")
ax.set(xlabel="label, frequent to rare", ylabel="share of rows predicted")
ax.legend(frameon=False, fontsize=8)
plt.show()
