"""
Mixed columns and missing values, with boosted trees
====================================================

Tables at work have words, numbers and holes. A data frame goes into a sampler as it is and comes
out as one: categorical columns stay categorical, integers stay integers, and
``missing="distance"`` measures distances with holes in them. Boosted trees take such a frame too,
so nothing has to be encoded or filled in.
"""

# %%
# A synthetic table of 600 patients: four measurements, one of them an integer, two columns of
# words, five diagnoses, and a twelfth of all measurements missing.

import numpy as np
import pandas as pd

from labelance.datasets import make_multilabel_imbalanced

values, y = make_multilabel_imbalanced(
    600, 6, 5, n_categorical=2, imbalance=8, type_shares=(0.4, 0.4, 0.15, 0.05), random_state=1
)
X = pd.DataFrame(values[:, :3], columns=["pressure", "glucose", "weight"])
X["age"] = (50 + 12 * values[:, 3]).round().astype(int)
X["ward"] = pd.Categorical.from_codes(values[:, 4].astype(int), ["north", "east", "south", "west"])
X["smoker"] = pd.Categorical.from_codes(values[:, 5].astype(int), ["no", "once", "yes", "unknown"])
rng = np.random.default_rng(0)
for column in ("pressure", "glucose", "weight"):
    X.loc[rng.random(len(X)) < 1 / 12, column] = np.nan
y = pd.DataFrame(y, columns=["flu", "asthma", "gout", "lupus", "rickets"])
print(X.head(3))
print(y.sum().to_dict())

# %%
# The sampler alone, to see what comes out.

from labelance import MLSOL

sampler = MLSOL(sampling_ratio=0.5, scale="range", missing="distance", random_state=0)
X_more, y_more = sampler.fit_resample(X, y)
print(X_more.tail(3))
print(dict(X_more.dtypes.astype(str)))

# %%
# In a pipeline with one boosted forest for every label, judged on folds that keep rare labels in
# proportion.

from imblearn.pipeline import make_pipeline
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_predict

from labelance.learners import BinaryRelevance
from labelance.metrics import macro_f1
from labelance.model_selection import IterativeStratifiedKFold

trees = HistGradientBoostingClassifier(
    max_iter=20, max_leaf_nodes=8, categorical_features="from_dtype", random_state=0
)
pipelines = {
    "no sampling": make_pipeline(BinaryRelevance(trees)),
    "MLSOL": make_pipeline(sampler, BinaryRelevance(trees)),
}
folds = IterativeStratifiedKFold(3, shuffle=True, random_state=0)
f1 = {
    name: macro_f1(y, cross_val_predict(pipeline, X, y, cv=folds), average=None)
    for name, pipeline in pipelines.items()
}
print(pd.DataFrame(f1, index=y.columns).round(3))

# %%
# Label by label, the most frequent first.

import matplotlib.pyplot as plt

ax = pd.DataFrame(f1, index=[f"{name}\n{count} rows" for name, count in y.sum().items()]).plot.bar(
    figsize=(7.2, 3.6), rot=0, color=["#8FB4C8", "#D55E00"], width=0.7
)
ax.set(ylabel="F of the label")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.tight_layout()
plt.show()
