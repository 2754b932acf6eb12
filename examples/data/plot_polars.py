"""
polars in, polars out
=====================

Samplers, profiles, splitters and learners take polars frames as they are, and samplers give them
back with dtypes, names and categories. No pandas is asked for on the way.
"""

# %%
# A frame with floats, integers, categories, and a column of label lists.

import numpy as np
import polars as pl

rng = np.random.default_rng(0)
n = 300
mood = rng.normal(size=n)
songs = pl.DataFrame(
    {
        "tempo": (120 + 20 * mood + rng.normal(0, 8, n)).round().astype(int),
        "loudness": mood + rng.normal(0, 0.5, n),
        "key": pl.Series(rng.choice(["C", "G", "a"], n), dtype=pl.Categorical),
    }
)
tags = pl.Series(
    "tags",
    [
        [tag for tag, cut in (("dance", 0.2), ("happy", 0.9), ("party", 1.6)) if value > cut]
        for value in mood + rng.normal(0, 0.3, n)
    ],
)
print(songs.head(3))
print(tags.head(3).to_list())

# %%
# Resampled: the same kinds come back, labels as lists.

from labelance import MLSOL

X_more, y_more = MLSOL(scale="range", random_state=0).fit_resample(songs, tags)
print(type(X_more).__module__.partition(".")[0], X_more.shape, X_more.schema)
print(y_more.tail(3).to_list())

# %%
# Before and after, as a picture of two columns; rings are synthetic rows with the rarest tag.

import matplotlib.pyplot as plt

is_party = np.array(["party" in row for row in y_more.to_list()])
new = np.arange(len(X_more)) >= n
tempo, loudness = X_more["tempo"].to_numpy(), X_more["loudness"].to_numpy()
fig, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
ax.scatter(tempo[~is_party], loudness[~is_party], s=12, color="#CCCCCC", label="others")
ax.scatter(tempo[is_party & ~new], loudness[is_party & ~new], s=26, color="#1F5C7A", label="party")
ax.scatter(
    tempo[is_party & new], loudness[is_party & new], s=40, facecolor="none", edgecolor="#D55E00",
    label="party, synthetic",
)  # fmt: skip
ax.set(xlabel="tempo", ylabel="loudness")
ax.legend(frameon=False)
plt.show()
