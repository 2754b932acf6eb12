"""The paper's Figure 2: MLSMOTE labels by the neighbors, MLSOL by the place."""

import numpy as np
from numpy.testing import assert_array_equal

from labelance.datasets import make_figure2
from labelance.imbalance import local_distribution
from labelance.neighbors import find_neighbors
from labelance.neighbors._metric import FeatureMetric
from labelance.sampling import MLSMOTE, MLSOL
from labelance.sampling._mlsol import assign_labels, positions


def test_the_references_are_the_neighbors_of_the_seed():
    figure = make_figure2()
    around = find_neighbors(figure.X, 5)
    assert set(around.indices[figure.seed]) == set(figure.references)


def test_mlsol_labels_by_the_place():
    figure = make_figure2()
    local = local_distribution(figure.Y, find_neighbors(figure.X, 5))
    seeds = np.full(4, figure.seed)
    metric = FeatureMetric.learn(
        figure.X, metric="euclidean", scale=None, categorical=np.zeros(2, bool), missing="error"
    )
    cd = positions(metric, figure.X, figure.candidates, seeds, figure.candidate_references)
    labels = assign_labels(local, seeds, figure.candidate_references, cd)[0].toarray()
    assert_array_equal(labels, [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]])


def test_mlsmote_gives_every_row_of_the_seed_the_same_labels():
    figure = make_figure2()
    for random_state in range(20):
        sampler = MLSMOTE(random_state=random_state)
        _, Y = sampler.fit_resample(figure.X, figure.Y)
        made = Y[len(figure.Y) :][sampler.seed_indices_ == figure.seed]
        assert len(made)
        assert (made == [1, 0, 0]).all()


def test_mlsol_draws_from_the_seed_follow_the_rule_too():
    figure = make_figure2()
    sampler = MLSOL(n_synthetic=2000, random_state=0)
    _, Y = sampler.fit_resample(figure.X, figure.Y)
    made = Y[len(figure.Y) :]
    of_pair = (sampler.seed_indices_ == figure.seed) & (sampler.reference_indices_ == 2)
    assert of_pair.any()
    near_seed = sampler.positions_[of_pair] < 0.5
    assert_array_equal(made[of_pair, 1], ~near_seed)
