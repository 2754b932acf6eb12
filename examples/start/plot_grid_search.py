"""
Which sampler? A search over samplers and their settings
========================================================

A sampler is a step of a pipeline, so a grid search chooses it like anything else: which one, how
many rows, and none at all. The folds keep rare labels in proportion, and rows are only ever added
to training folds.
"""

# %%
# Points of the paper's Figure 1 (b), a pipeline with a place for a sampler, and what may stand
# there.

from imblearn.pipeline import Pipeline
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier

from labelance import MLROS, MLSMOTE, MLSOL
from labelance.datasets import make_figure1
from labelance.metrics import get_label_scorer
from labelance.model_selection import IterativeStratifiedKFold

X, y = make_figure1("b", n_samples=400, random_state=0)
pipeline = Pipeline([("sampler", "passthrough"), ("classifier", KNeighborsClassifier(7))])
grid = [
    {"sampler": ["passthrough"]},
    {"sampler": [MLSMOTE(random_state=0)], "sampler__n_synthetic": [100, 200, 400]},
    {
        "sampler": [MLSOL(random_state=0), MLROS(random_state=0)],
        "sampler__sampling_ratio": [0.25, 0.5, 1.0],
    },
]
search = GridSearchCV(
    pipeline,
    grid,
    scoring=get_label_scorer("macro_f1"),
    cv=IterativeStratifiedKFold(5, shuffle=True, random_state=0),
).fit(X, y)
print(f"best: {search.best_params_} with macro F {search.best_score_:.3f}")

# %%
# All candidates with the spread over folds. A difference smaller than the spread is none.

import matplotlib.pyplot as plt
import numpy as np

found = search.cv_results_
names = []
for options in found["params"]:
    sampler = options["sampler"]
    rows = options.get("sampler__sampling_ratio", options.get("sampler__n_synthetic", 0) / len(X))
    names.append("none" if sampler == "passthrough" else f"{type(sampler).__name__}, +{rows:.0%}")
order = np.argsort(found["mean_test_score"])
fig, ax = plt.subplots(figsize=(7.2, 4), layout="constrained")
ax.errorbar(
    found["mean_test_score"][order],
    np.arange(len(order)),
    xerr=found["std_test_score"][order],
    fmt="o",
    color="#1F5C7A",
    ecolor="#BBBBBB",
)
ax.set_yticks(np.arange(len(order)), [names[i] for i in order])
ax.set(xlabel="macro F, mean and standard deviation over five folds")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
