"""
Files of Mulan and MEKA, CSV, and back
======================================

Most public multi-label data are ARFF files with an XML file that names the labels, as Mulan has
them, or with ``-C`` in the relation, as MEKA has them. Both are read as they are, and any format
is written.
"""

# %%
# A small file of each kind.

import tempfile
from pathlib import Path

folder = Path(tempfile.mkdtemp())
rows = "\n".join(
    f"{90 + 7 * i % 60},{'C' if i % 3 else 'a'},{int(i % 2 == 0)},{int(i % 5 == 0)}"
    for i in range(40)
)
attributes = (
    "@attribute tempo numeric\n@attribute key {C, a}\n@attribute happy {0,1}\n@attribute sad {0,1}"
)
(folder / "songs.arff").write_text(f"@relation songs\n{attributes}\n@data\n{rows}\n")
(folder / "songs.xml").write_text('<labels><label name="happy"/><label name="sad"/></labels>')
(folder / "meka.arff").write_text(f"@relation 'songs: -C -2'\n{attributes}\n@data\n{rows}\n")

# %%
# The label file of a Mulan file is found by its name; ``-C -2`` says that the last two columns are
# labels.

from labelance.datasets import read_multilabel

songs = read_multilabel(folder / "songs.arff")
print(songs)
print(songs.label_names, songs.feature_names, songs.categories)
print("the same data:", songs.same_as(read_multilabel(folder / "meka.arff")))

# %%
# ``songs.X`` is what learners and samplers take. Categorical features are categoricals there, so
# that no learner takes their codes for numbers.

from labelance import MLSOL

print(songs.X.dtypes.astype(str).to_dict())
X_more, y_more = MLSOL(sampling_ratio=0.5, scale="range", random_state=0).fit_resample(
    songs.X, songs.Y
)
print(X_more.shape, y_more.shape)

# %%
# Written in another format, and as Mulan wants it, with its label file.

from labelance.datasets import write_multilabel

write_multilabel(songs, folder / "songs.parquet")
write_multilabel(songs, folder / "again.arff.gz")
print(sorted(path.name for path in folder.iterdir()))
print("nothing lost:", read_multilabel(folder / "again.arff.gz").same_as(songs))

# %%
# How often each label comes with each key, as a picture.

import matplotlib.pyplot as plt

table = songs.to_frame()[1].groupby(songs.X["key"], observed=True).mean()
ax = table.plot.bar(figsize=(5.6, 3.2), rot=0, color=["#1F5C7A", "#D55E00"])
ax.set(ylabel="share of songs")
ax.legend(frameon=False)
plt.tight_layout()
plt.show()
