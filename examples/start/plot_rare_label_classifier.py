"""
A good start for rare labels
============================

``RareLabelClassifier`` blends linear models, a network, a kernel machine, forests and boosted
trees, and finds a threshold for each label without setting rows aside. There is nothing to tune.
"""

# %%
# Short texts on 2,243 verbs, as word counts, and the sentence frames that each verb takes: 28
# labels, more than half of them with fewer than 40 rows.

import numpy as np

from labelance.datasets import load_dataset
from labelance.model_selection import multilabel_train_test_split

X, y = load_dataset("verbframes", return_X_y=True)
X_train, X_test, y_train, y_test = multilabel_train_test_split(X, y, random_state=0)
print(X_train.shape, "training rows of the labels:", np.sort(y_train.sum(axis=0)))

# %%
# A random forest of scikit-learn for comparison.

from sklearn.ensemble import RandomForestClassifier

from labelance import RareLabelClassifier
from labelance.metrics import macro_f1

forest = RandomForestClassifier(150, random_state=0).fit(X_train, y_train)
model = RareLabelClassifier(random_state=0).fit(X_train, y_train)
print("parts:", ", ".join(model.parts_))
for name, fitted in (("random forest", forest), ("RareLabelClassifier", model)):
    print(f"{name:<20} macro F {macro_f1(y_test, fitted.predict(X_test)):.3f}")

# %%
# What some of the thresholds find among training rows, by models that did not learn from them.

print(model.decisions_.to_frame()[["threshold", "n_positive", "n_found"]].tail(8).round(2))

# %%
# F of each label, by the number of its training rows. The lines are means of labels of like rarity.

import matplotlib.pyplot as plt

from labelance.report import MetricByRarityDisplay

display = MetricByRarityDisplay.from_estimator(
    forest, X_test, y_test, y_train=y_train, name="random forest", color="#8FB4C8"
)
MetricByRarityDisplay.from_estimator(
    model, X_test, y_test, y_train=y_train, ax=display.ax_, color="#D55E00"
)
display.ax_.set(xlabel="training rows of the label", ylabel="F of unseen rows")
plt.show()
