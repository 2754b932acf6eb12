"""
A sampler of your own, and the laws it has to keep
==================================================

A sampler is a plan, all that chance does not change, and a draw. The base does the rest:
validation, containers, seeds, pipelines, ``explain``. The checks that every sampler of the
library passes are there for yours, too.
"""

# %%
# This one clones rows in proportion to the rarest label they have, and moves the clones a little.

from typing import ClassVar

import numpy as np

from labelance.sampling import BaseMultiLabelSampler, Draw, SamplerTraits


class ShakenClones(BaseMultiLabelSampler):
    """Clones of rows with rare labels, each moved by a little noise.

    Parameters
    ----------
    sampling_ratio : float, default=0.25
        Rows to add, as a share of those there are.
    noise : float, default=0.1
        The noise, as a share of each feature's standard deviation.
    random_state : int, RandomState, Generator or None, default=None
        Decides which rows are cloned, and how they are moved.
    """

    traits: ClassVar[SamplerTraits] = SamplerTraits(adds=True, exact_budget=True)
    _parameter_constraints: ClassVar[dict] = {
        "sampling_ratio": [float, int],
        "noise": [float, int],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(self, *, sampling_ratio=0.25, noise=0.1, random_state=None):
        self.sampling_ratio = sampling_ratio
        self.noise = noise
        self.random_state = random_state

    def _plan(self, data, neighborhood):
        counts = np.bincount(data.Y.indices, minlength=data.Y.shape[1])
        rarity = data.Y @ (1 / np.maximum(counts, 1))
        return rarity / rarity.sum()

    def _draw(self, data, plan, rng):
        seeds = rng.choice(data.n_samples, round(self.sampling_ratio * data.n_samples), p=plan)
        noise = self.noise * data.X.std(axis=0) * rng.standard_normal((len(seeds), data.X.shape[1]))
        return Draw(
            X_new=data.X[seeds] + noise,
            Y_new=data.Y[seeds],
            provenance={"seed_indices_": seeds},
        )


# %%
# It works at once, on arrays and frames, and inside pipelines.

from labelance.datasets import make_figure1

X, y = make_figure1("b", random_state=0)
X_more, y_more = ShakenClones(sampling_ratio=0.5, random_state=0).fit_resample(X, y)
print(X.shape, "->", X_more.shape, y.sum(axis=0), "->", y_more.sum(axis=0))

# %%
# And now the laws. Each check is a function; one that fails says what it found.

from labelance.testing import yield_sampler_checks

kept, broken = [], {}
for name, check in yield_sampler_checks(ShakenClones(random_state=0)):
    try:
        check()
    except Exception as problem:
        broken[name] = str(problem).partition("\n")[0][:90]
    else:
        kept.append(name)
print(f"{len(kept)} laws kept, {len(broken)} broken")
for name, problem in list(broken.items())[:4]:
    print(f"- {name}: {problem}")

# %%
# Most of what is broken comes from one line: ``data.X.std(axis=0)`` knows dense numbers only, and
# noise on codes of categories makes no sense. Clones that are not moved keep all laws;
# CONTRIBUTING shows that sampler. Draw where ours went:

import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(5.6, 4.6), layout="constrained")
ax.scatter(*X.T, s=14, color="#CCCCCC", label="rows")
ax.scatter(*X_more[len(X) :].T, s=18, color="#D55E00", label="shaken clones")
ax.set(xticks=[], yticks=[])
ax.legend(frameon=False)
plt.show()
