"""
Recall that is guaranteed
=========================

``guarantee_recall`` chooses thresholds on calibration rows so that each label keeps its recall on
new rows. "In expectation" holds on average over calibration sets; "with confidence 0.9" holds for
nine of ten of them. Here 300 calibration sets show the difference.
"""

# %%
# Three labels in 20, 5 and 2 % of the rows, whose scores are known: N(1.5, 1) with the label, and
# N(0, 1) without. So the recall of any threshold is known, too.

import numpy as np
from scipy.stats import norm

shares = np.array([0.2, 0.05, 0.02])
rng = np.random.default_rng(0)

# %%
# 90 % of each label are to be found. A confidence of 0.9 needs 22 positives.

from labelance.decisions import guarantee_recall, positives_needed

print("positives needed:", positives_needed(0.9), "and", positives_needed(0.9, confidence=0.9))
promises = {"in expectation": None, "with confidence 0.9": 0.9}
recalls = {name: [] for name in promises}
for _ in range(300):
    y = (rng.random((3000, 3)) < shares).astype(int)
    scores = 1.5 * y + rng.normal(size=y.shape)
    for name, confidence in promises.items():
        found = guarantee_recall(y, scores, confidence=confidence)
        recalls[name].append(norm.sf(found.thresholds - 1.5))
for name, values in recalls.items():
    kept = np.mean(np.array(values) >= 0.9, axis=0)
    print(f"{name:<20} mean {np.mean(values, axis=0).round(3)}, at least 0.9 in {kept.round(2)}")

# %%
# The rarer the label, the more the recall varies, and the more the threshold must fall to be sure.
# Bars hold 80 % of the calibration sets; points are medians.

import matplotlib.pyplot as plt

fig, axes = plt.subplots(1, 2, figsize=(7.6, 3.4), layout="constrained", sharey=True)
for ax, (name, values) in zip(axes, recalls.items()):
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9], axis=0)
    ax.vlines([1, 2, 3], low, high, color="#1F5C7A", linewidth=8, alpha=0.5)
    ax.plot([1, 2, 3], middle, "o", color="#1F5C7A")
    ax.axhline(0.9, color="#D55E00", linestyle="--", label="promised: 0.9")
    ax.set_xticks([1, 2, 3], [f"{3000 * share:.0f}" for share in shares])
    ax.set(title=name, xlabel="positives of the label, on average", xlim=(0.5, 3.5))
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("recall on new rows")
axes[0].legend(frameon=False, loc="lower left")
plt.show()
