"""The race of parts, and the weights of their scores."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from labelance.ensemble import _race
from labelance.ensemble._encoding import Task
from labelance.ensemble._parts import Part
from labelance.ensemble._race import (
    Candidate,
    RaceResult,
    blend_weights,
    count_work,
    find_candidates,
    log_loss,
    race,
    rare_rows_first,
    weigh_parts,
)


def make_task(n=3000, q=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, q))
    share = np.geomspace(0.3, 0.01, q)
    Y = X + 0.5 * rng.normal(size=(n, q)) > np.quantile(X, 1 - share, axis=0).diagonal()
    return Task(X, sp.csr_array(Y.astype(np.int8)), None, None, 1, 1)


def scores_of(task, noise, seed=0):
    rng = np.random.default_rng(seed)
    Y = task.Y.toarray()
    return np.clip(0.7 * Y + 0.1 + noise * rng.normal(size=Y.shape), 0.001, 0.999)


class Guess(Part):
    """A part that knows the labels but for noise, at a price of its own."""

    row_work = 1.0

    def __init__(self, name, noise, price):
        self.name, self.noise, self.price = name, noise, price
        self.sizes = []

    def work(self, n, task):
        return self.price * n

    def fit_once(self, task, rng):
        self.sizes.append(task.Y.shape[0])
        return self

    def scores(self, table):
        rng = np.random.default_rng(len(self.name))
        return 1 / (1 + np.exp(-4 * (table - 1) - self.noise * rng.normal(size=table.shape)))


def run(*parts, n=12_000):
    task = make_task(n)
    found = race([task], [Candidate(one, 0, one.name) for one in parts], np.random.default_rng(0))
    return [one.name for one in found.chosen], found.trials


def test_a_part_without_weight_does_not_learn_from_all_rows():
    good, bad = Guess("good", 0.2, 0.01), Guess("bad", 8.0, 0.02)
    chosen, trials = run(good, bad, n=40_000)  # so that there are many rows to judge by
    assert chosen == ["good"]
    assert max(bad.sizes) < 40_000 / 2
    assert [one.decision for one in trials if one.part == "bad"][-1] == "dropped"
    assert {one.rows for one in trials} >= {1000}


def test_what_learns_from_all_rows_keeps_the_law_of_work():
    parts = [Guess(f"part{i}", 1.0 + i / 10, price) for i, price in enumerate((0.01, 0.012, 0.02))]
    chosen, trials = run(*parts)
    last = [one for one in trials if one.decision == "learns from all rows"]
    best = min(last, key=lambda one: one.loss)
    assert sum(one.work for one in last) <= max(_race._FREE, _race._TIMES * best.work)
    assert set(chosen) == {one.part for one in last}


def test_cheap_parts_of_more_weight_together_go_before_a_dear_one():
    # The best one and the dear one leave no room: .25 for 200 against .2 + .2 for 60 each.
    names, costs = ("best", "dear", "cheap", "as cheap"), (100.0, 200.0, 60.0, 60.0)
    parts = [Candidate(Guess(name, 1.0, 1.0), 0, name) for name in names]
    for one in parts[1:]:
        one.part.row_work = 0.5
    weights, losses = np.array([0.35, 0.25, 0.2, 0.2]), np.array([1.0, 2.0, 2.0, 2.0])
    chosen = _race._choose(parts, weights, losses, dict(zip(parts, costs)))
    assert [one.name for one in chosen] == ["best", "cheap", "as cheap"]


def test_a_part_that_would_cost_hours_is_not_tried():
    dear = Guess("dear", 0.1, 10.0)
    chosen, trials = run(Guess("cheap", 1.0, 0.01), dear)
    assert chosen == ["cheap"]
    assert not dear.sizes
    assert trials[0].decision == "too costly to try"


def test_a_part_that_would_predict_too_slowly_does_not_learn_in_vain():
    fast, slow = Guess("fast", 0.8, 0.01), Guess("slow, as good", 1.0, 0.01)
    assert run(fast, slow)[0] == ["fast", "slow, as good"]
    slow.row_work = 3.0
    assert len(run(fast, slow)[0]) == 1


@pytest.mark.parametrize("columns", [1536, 3072])
def test_linear_parts_and_networks_race_on_wide_embeddings(columns):
    n, rng = 50_000, np.random.default_rng(0)
    Y = sp.random_array((n, 10), density=0.05, rng=rng, format="csr", dtype=float)
    task = Task(np.broadcast_to(np.float64(0), (n, columns)), Y, None, None, 50, 1)
    candidates = find_candidates([task], ["table"])
    work = {one: count_work(one, [task], n) for one in candidates}
    started = {one.name for one in _race._startable(candidates, [task], work)}
    assert started >= {"linear", "network", "kernel ridge"}


def test_unknown_cells_count_as_the_work_that_they_make():
    known = make_task(600)
    hidden = np.random.default_rng(0).random(known.Y.shape) < 0.3
    holes = known._replace(Y=known.Y.multiply(~hidden).tocsr(), unknown=sp.csr_array(hidden * 1))
    one = next(one for one in find_candidates([known], ["table"]) if one.name == "kernel ridge")
    assert count_work(one, [holes], 600) > 3 * count_work(one, [known], 600)


def test_cheap_parts_do_not_race():
    cheap = [Guess("a", 1.0, 1e-4), Guess("b", 2.0, 1e-4)]
    assert run(*cheap) == (["a", "b"], [])
    assert not cheap[0].sizes


def test_rare_rows_come_first_and_all_rows_come_once():
    Y = make_task(5000).Y
    order = rare_rows_first(Y, np.random.default_rng(0))
    assert_array_equal(np.sort(order), np.arange(5000))
    first = Y[order[: 20 * Y.shape[1]]].sum(axis=0)
    assert (first >= np.minimum(20, Y.sum(axis=0))).all()


# ----------------------------------------------------------------------------------------- weights


def test_weights_are_those_of_the_least_loss():
    task = make_task()
    scores = [scores_of(task, 0.2, 1), scores_of(task, 0.3, 2)]
    found = blend_weights(scores, task)
    pull = 2 * _race._PULL / task.Y.nnz

    def total(share):
        w = np.array([share, 1 - share])
        return log_loss(w[0] * scores[0] + w[1] * scores[1], task) + pull * ((w - 0.5) ** 2).sum()

    shares = np.linspace(0, 1, 201)
    assert_allclose(found[0], shares[np.argmin([total(one) for one in shares])], atol=0.01)
    assert_allclose(found.sum(), 1)


def test_few_positives_leave_weights_equal_and_many_drop_noise():
    few, many = make_task(60), make_task(20_000)
    for task, bound in ((few, 0.2), (many, 0.0)):
        found = blend_weights([scores_of(task, 0.1, 1), scores_of(task, 5.0, 2)], task)
        assert found[1] >= bound
    assert found[1] == 0


def test_unknown_cells_and_rows_of_no_weight_do_not_count():
    task = make_task(2000)
    good, bad = scores_of(task, 0.1, 1), scores_of(task, 0.1, 3)
    hidden = np.random.default_rng(0).random(good.shape) < 0.3
    masked = task._replace(
        Y=sp.csr_array(np.where(hidden, 0, task.Y.toarray())), unknown=sp.csr_array(hidden * 1)
    )
    spoiled = np.where(hidden, 1 - bad, bad)
    assert_array_equal(blend_weights([good, bad], masked), blend_weights([good, spoiled], masked))
    weight = (np.arange(2000) < 1500).astype(float)
    weighted = task._replace(weight=weight)
    spoiled = np.where(weight[:, None] > 0, bad, 1 - bad)
    assert_allclose(
        blend_weights([good, bad], weighted), blend_weights([good, spoiled], weighted), atol=1e-6
    )


def test_of_very_many_cells_some_absent_ones_count_for_all(monkeypatch):
    task = make_task(8000)
    scores = [scores_of(task, 0.2, 1), scores_of(task, 0.3, 2)]
    whole = blend_weights(scores, task), log_loss(scores[0], task)
    monkeypatch.setattr(_race, "_MOST_CELLS", 8000)
    assert_allclose(blend_weights(scores, task), whole[0], atol=0.05)
    assert log_loss(scores[0], task) == pytest.approx(whole[1], rel=0.05)


def test_of_very_many_parts_none_is_dropped_for_counting_little():
    task = make_task(60)
    found = blend_weights([scores_of(task, 0.1, 1)] * 40, task)
    assert_allclose(found, np.full(40, 1 / 40), atol=1e-3)


def test_parts_with_the_name_of_another_have_work_of_their_own():
    parts = [Guess("same", 1.0, 0.01), Guess("same", 1.0, 10.0)]
    chosen, trials = run(*parts)
    assert chosen == ["same"]
    assert not parts[1].sizes
    assert trials[0].work == 120_000


@pytest.mark.parametrize("raced", [True, False])
def test_after_a_race_what_predicts_keeps_the_law_of_work(raced):
    task, parts = make_task(), [Guess(name, 0.2, 1.0) for name in ("best", "fast", "slow")]
    for part, row_work in zip(parts, (1.0, 2.0, 2.1)):
        part.row_work = row_work
    scores = [scores_of(task, 0.2, 1), scores_of(task, 0.3, 2), scores_of(task, 0.25, 3)]
    trials = [_race.Trial("best", 1000, 0.0, 0.0, 0.0, "stays")] * raced
    result = RaceResult([Candidate(one, 0, one.name) for one in parts], trials)
    found = weigh_parts(result, scores, task)
    if raced:
        assert_array_equal(found, [*blend_weights(scores[:2], task), 0.0])
    else:
        assert (found > 0).all()
