"""What all samplers share: names of arguments, verbose, sources of rows, where to import them."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import labelance
from labelance import sampling
from labelance.exceptions import LabelanceError
from labelance.sampling import (
    MLROS,
    MLRUS,
    MLSMOTE,
    MLSOL,
    MLTL,
    MLUL,
    REMEDIAL,
    UCLSO,
    BaseMultiLabelSampler,
    FunctionSampler,
    MLeNN,
    MLRkNNOS,
    SamplerSequence,
    all_samplers,
)
from labelance.testing import sampler_data


def drop_every_third_row(X, y):
    keep = np.arange(len(X)) % 3 > 0
    return X[keep], y[keep]


SAMPLERS = [
    *(kind() for kind in all_samplers().values()),
    FunctionSampler(drop_every_third_row),
    FunctionSampler(drop_every_third_row, validate=False),
    SamplerSequence([MLROS(), FunctionSampler(drop_every_third_row)]),
]
# The text of a sampler may hold the address of a function, which differs between processes.
every_sampler = pytest.mark.parametrize(
    "sampler", SAMPLERS, ids=lambda sampler: type(sampler).__name__
)


def seeded(sampler):
    sampler = clone(sampler)
    return sampler.set_params(random_state=0) if "random_state" in sampler.get_params() else sampler


@every_sampler
def test_arguments_are_called_as_in_imbalanced_learn(sampler):
    X, y = sampler_data()
    by_place, by_name = seeded(sampler), seeded(sampler)
    for one, two in zip(by_place.fit_resample(X, y), by_name.fit_resample(X=X, y=y)):
        np.testing.assert_array_equal(one, two)
    seeded(sampler).fit(X=X, y=y)
    drawn = seeded(sampler).plan(X=X, y=y).draw(0)
    assert len(drawn.X) == len(drawn.y) == len(drawn.source_rows)


@every_sampler
def test_verbose_says_in_one_line_what_was_done(sampler, capsys):
    X, y = sampler_data()
    assert sampler.get_params()["verbose"] == 0
    seeded(sampler).fit_resample(X, y)
    assert capsys.readouterr().out == ""
    X_new, _ = seeded(sampler).set_params(verbose=1).fit_resample(X, y)
    (line,) = capsys.readouterr().out.splitlines()
    n, n_after, added, deleted = map(int, re.findall(r"\d+", line.partition("total")[0]))
    assert line.startswith(f"[{type(sampler).__name__}] ")
    assert (n, n_after) == (len(X), len(X_new))
    assert n + added - deleted == n_after


@every_sampler
def test_every_row_of_a_draw_has_a_source(sampler):
    X, y = sampler_data()
    drawn = seeded(sampler).plan(X, y).draw(0)
    old = drawn.source_rows >= 0
    np.testing.assert_array_equal(drawn.X[old], X[drawn.source_rows[old]])
    assert old[drawn.is_original].all()
    originals = drawn.source_rows[drawn.is_original]
    assert len(np.unique(originals)) == len(originals)


@every_sampler
def test_explanations_count_every_label(sampler):
    X, y = sampler_data()
    told = seeded(sampler).explain(X=X, y=y)
    _, y_new = seeded(sampler).fit_resample(X, y)
    np.testing.assert_array_equal(told.gained - told.lost, y_new.sum(axis=0) - y.sum(axis=0))


WITH_STRATEGY = [s for s in SAMPLERS if "sampling_strategy" in s.get_params()]


@pytest.mark.parametrize("sampler", WITH_STRATEGY, ids=str)
def test_the_chosen_labels_are_a_fitted_attribute(sampler):
    X, y = sampler_data()
    sampler = seeded(sampler)
    assert not hasattr(sampler, "sampling_strategy_")
    sampler.fit_resample(X, y)
    assert set(sampler.sampling_strategy_) <= set(range(y.shape[1]))
    if isinstance(sampler, MLTL):
        assert sampler.sampling_strategy_ == {}
        sampler.set_params(protect_minority=True)
    frame = pd.DataFrame(y, columns=list("vwxyz"))
    sampler.set_params(sampling_strategy=["z", "w"]).fit_resample(X, frame)
    assert set(sampler.sampling_strategy_) <= {"z", "w"}


@pytest.mark.slow
@pytest.mark.parametrize("sampler", [MLSMOTE(), MLRkNNOS()], ids=str)
def test_the_strategy_counts_the_rows_added_for_a_label(sampler):
    X, y = sampler_data()
    sampler = seeded(sampler)
    for strategy in ("auto", [0, 2], {0: 50, 2: 60}):
        sampler.set_params(sampling_strategy=strategy).fit_resample(X, y)
        added = np.bincount(sampler.label_indices_, minlength=5)
        assert sampler.sampling_strategy_ == {int(j): added[j] for j in np.flatnonzero(added)}


@pytest.mark.parametrize("sampler", [MLSOL(), MLROS()], ids=str)
def test_the_strategy_counts_what_a_label_lacks(sampler):
    X, y = sampler_data()
    sampler = seeded(sampler).set_params(sampling_strategy=[1, 2])
    sampler.fit_resample(X, y)
    assert sampler.sampling_strategy_ == {1: None, 2: None}
    sampler.set_params(sampling_strategy={2: int(y[:, 2].sum()) + 9}).fit_resample(X, y)
    assert sampler.sampling_strategy_ == {2: 9}


@pytest.mark.parametrize("sampler", [MLRUS(), MLeNN(), MLTL(protect_minority=True)], ids=str)
def test_the_strategy_counts_protected_rows(sampler):
    X, y = sampler_data()
    sampler = seeded(sampler).set_params(sampling_strategy=[1])
    _, y_kept = sampler.fit_resample(X, y)
    assert sampler.sampling_strategy_ == {1: y_kept[:, 1].sum()} == {1: y[:, 1].sum()}


def test_the_strategy_counts_labels_that_are_moved_to_copies():
    X, y = sampler_data()
    sampler = REMEDIAL()
    _, y_new = sampler.fit_resample(X, y)
    moved = y_new[len(y) :].sum(axis=0)
    assert moved.any()
    assert sampler.sampling_strategy_.items() >= {(int(j), moved[j]) for j in np.flatnonzero(moved)}


REFUSED = [
    (MLSOL(), np.eye(30, 5)[:, :1]),  # a single minority cell has no other one around it
    (MLUL(), np.eye(30, 5)[:, :1]),
    (MLeNN(label_distance_threshold=0.0), np.eye(30)),  # all labelsets differ
    (MLTL(label_distance_threshold=0.0, mode="clean"), np.eye(30)),
    (MLROS(sampling_strategy={0: 10**15}), np.eye(30, 2)),
    (MLSMOTE(sampling_strategy={0: 10**15}), np.eye(15, 2)[np.arange(30) % 15]),
    (
        MLRkNNOS(sampling_strategy={0: 10**15}, max_synthetic=None),
        np.eye(15, 2)[np.arange(30) % 15],
    ),
    (UCLSO(sampling_strategy={0: 10**15}, max_synthetic=None), np.eye(15, 2)[np.arange(30) % 15]),
    (MLRUS(variant="mulan", sampling_strategy=[0]), np.eye(30, 2)),
]


@pytest.mark.parametrize(("sampler", "y"), REFUSED, ids=lambda value: type(value).__name__)
def test_a_sampler_that_refuses_its_data_has_chosen_no_labels(sampler, y):
    X = np.random.default_rng(0).random((30, 3))
    sampler = seeded(sampler)
    with pytest.raises(LabelanceError):
        sampler.fit_resample(X, y.astype(int))
    assert not hasattr(sampler, "sampling_strategy_")


def test_samplers_are_importable_from_labelance_itself():
    public = [getattr(sampling, name) for name in sampling.__all__]
    kinds = [
        kind
        for kind in public
        if isinstance(kind, type)
        and issubclass(kind, BaseMultiLabelSampler)
        and kind is not BaseMultiLabelSampler
    ]
    assert {kind.__name__ for kind in kinds} >= set(sampling.all_samplers())
    for kind in kinds:
        assert kind.__name__ in dir(labelance)
        assert getattr(labelance, kind.__name__) is kind


def test_which_samplers_depend_on_the_order_of_labels():
    """As docs/user_guide/extend.md has it; the law of the others leaves these out."""
    in_turn = {
        name for name, kind in sampling.all_samplers().items() if not kind().traits.label_order_free
    }
    assert in_turn == {
        "LPROS", "LPRUS", "LSDMLO", "MLBOTE", "MLROS", "MLRUS", "MLRkNNOS", "MLSMOTE",
        "RHwROS", "RHwRSMT", "RemedialHwR", "UCLSO",
    }  # fmt: skip
