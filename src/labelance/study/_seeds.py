"""Random streams: one for every member of every family on every fold, wherever it is run."""

from __future__ import annotations

import numpy as np

from labelance.study._cells import Task
from labelance.study._design import Family, stable_hash


def family_stream(seed: int, task: Task, family: Family) -> np.random.Generator:
    """Return the generator of a family on a fold; ``spawn`` gives one to each member.

    It depends on the study's seed, the dataset's name, the fold and the sampler, and not on the
    learner: all learners see the same rows, and a small ensemble is the beginning of a large one.
    """
    key = (stable_hash(task.dataset), task.repeat, task.fold, family.seed_key)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
