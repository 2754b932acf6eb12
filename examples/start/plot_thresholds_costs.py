"""
Thresholds that know what a mistake costs
=========================================

A missed diagnosis and a false alarm rarely cost the same. A classifier's scores stay what they
are; a threshold for every label decides, and it can be found for what mistakes cost, on rows that
the classifier did not learn from.
"""

# %%
# A forest of five labels, the last of which few rows have.

from sklearn.ensemble import RandomForestClassifier

from labelance.datasets import make_multilabel_imbalanced
from labelance.model_selection import multilabel_train_test_split

X, y = make_multilabel_imbalanced(900, n_labels=5, imbalance=20, random_state=0)
X_train, X_test, y_train, y_test = multilabel_train_test_split(X, y, random_state=0)
forest = RandomForestClassifier(100, random_state=0).fit(X_train, y_train)
print(
    "rows that have a label:", y_test.sum(axis=0), "predicted:", forest.predict(X_test).sum(axis=0)
)

# %%
# Missing a row may be as bad as one, three, nine or thirty false alarms. Out-of-bag scores of the
# forest are unseen enough to choose by.

import numpy as np

from labelance.decisions import CostMatrix, LabelThresholds

prices = (1, 3, 9, 30)
tuned = {
    price: LabelThresholds(forest, objective=CostMatrix([[0, 1], [price, 0]])).fit(X_train, y_train)
    for price in prices
}
for price, model in tuned.items():
    print(f"a miss costs {price:>2}: thresholds", model.thresholds_.round(2))

# %%
# What the mistakes on unseen rows cost, by threshold 0.5 and by those that know the price.


def cost_of(predicted, price):
    """The cost of a row: false alarms, and misses at their price."""
    misses, alarms = (y_test > predicted).sum(), (y_test < predicted).sum()
    return (alarms + price * misses) / len(y_test)


half = [cost_of(forest.predict(X_test), price) for price in prices]
known = [cost_of(model.predict(X_test), price) for price, model in tuned.items()]
print("at 0.5:     ", np.round(half, 2))
print("thresholds: ", np.round(known, 2))

# %%
# Where both mistakes cost alike, 0.5 is as good as any; the dearer a miss, the more is saved.

import matplotlib.pyplot as plt

place = np.arange(len(prices))
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.bar(place - 0.18, half, 0.34, color="#8FB4C8", label="0.5 for all")
ax.bar(place + 0.18, known, 0.34, color="#D55E00", label="thresholds for this cost")
ax.set_xticks(place, [f"1 : {price}" for price in prices])
ax.set(xlabel="false alarm : miss", ylabel="cost of a row")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
