"""How much work is left, from what is measured, probed or guessed."""

import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelance.study import (
    Component,
    DataSource,
    Learner,
    Store,
    forecast_study,
    load_study,
    run_study,
)
from labelance.study._data import load_source
from labelance.study._forecast import (
    TimeLeft,
    all_costs,
    measured_costs,
    models_to_fit,
    scaled_up,
)

LEARNERS = ("BR", "MLkNN")


def test_a_single_model_is_the_first_of_its_ensemble(tiny):
    # Default, and five members for each of the three samplers, on two folds.
    assert models_to_fit(tiny, tiny.cells()) == {
        (dataset, learner): 2 * (1 + 3 * 5) for dataset in ("one", "two") for learner in LEARNERS
    }
    alone = [cell for cell in tiny.cells() if cell.method == "MLSOL"]
    both = [cell for cell in tiny.cells() if cell.method in ("MLSOL", "EMLSOL")]
    assert models_to_fit(tiny, alone)["one", "BR"] == 2
    assert models_to_fit(tiny, both)["one", "BR"] == 10
    assert models_to_fit(tiny, []) == {}


def test_thresholds_of_their_own_models_cost_more():
    fair = load_study("fair").only(datasets=["flags"], learners=["BR"], repeats=1)
    tuned = [cell for cell in fair.cells() if cell.method in ("Default", "Tuned")]
    crossed = [cell for cell in fair.cells() if cell.method == "TunedCV"]
    assert models_to_fit(fair, tuned)["flags", "BR"] == 2
    assert models_to_fit(fair, crossed)["flags", "BR"] == 2 * 3


def test_costs_are_measured_by_the_model(tiny):
    rows = [
        {**cell._asdict(), "status": "done", "cpu_seconds": 0.3 * n, "predict_seconds": 0.1 * n}
        for cell in tiny.cells()
        for n in [tiny.method(cell.method).n_estimators]
    ]
    rows[0]["cpu_seconds"] = 100.0  # compiled something
    rows[1]["status"] = "failed"
    costs = measured_costs(tiny, rows)
    assert set(costs) == set(models_to_fit(tiny, tiny.cells()))
    assert list(costs.values()) == pytest.approx([0.4] * 4)
    assert measured_costs(tiny, []) == {}


def test_a_learner_is_guessed_by_what_it_costs_elsewhere():
    known = {("d0", "l0"): 2.0, ("d1", "l0"): 8.0, ("d0", "l1"): 1.0}
    pairs = [("d2", "l0"), ("d1", "l1"), ("d2", "l2"), ("d0", "l0")]
    guessed = all_costs(known, pairs)
    assert guessed == pytest.approx(dict(zip(pairs, (4.0, 1.0, 16 ** (1 / 3), 2.0))))


def test_without_knowledge_costs_grow_with_the_size():
    sizes = {"small": 10.0, "large": 1000.0}
    pairs = [("small", "BR"), ("large", "BR"), ("large", "CLR")]
    guessed = all_costs({("small", "BR"): 2.0}, pairs, sizes=sizes)
    assert guessed == pytest.approx({pairs[0]: 2.0, pairs[1]: 200.0, pairs[2]: 200.0})
    assert all_costs({("small", "BR"): 2.0}, pairs, sizes={"small": 1})[pairs[1]] == pytest.approx(
        2.0
    )
    assert all_costs({}, pairs) == {}


def test_time_left_is_of_what_the_store_does_not_have(tiny, tiny_store, tmp_path):
    assert TimeLeft(tiny, workers=1).seconds(Store(tmp_path / "empty.db")) is None
    assert TimeLeft(tiny, workers=1).seconds(Store(tiny_store)) == 0
    assert TimeLeft(replace(tiny, repeats=3), workers=1).seconds(Store(tiny_store)) > 0


def test_a_forecast_tries_every_pair_and_writes_nothing(tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    forecast = forecast_study(tiny, tmp_path / "absent.db", probe_seconds=5)
    pairs = set(models_to_fit(tiny, tiny.cells()))
    assert set(forecast.costs) == set(forecast.origins) == pairs
    assert "probed" in forecast.origins.values()
    assert all(cost > 0 for cost in forecast.costs.values())
    assert (forecast.failures, forecast.left) == ({}, 56)
    assert forecast.cpu_seconds > 0
    assert list(tmp_path.iterdir()) == []


def test_compilation_takes_no_time_from_the_probe(tiny, monkeypatch):
    spent = [0.0]

    def load(source):
        spent[0] += 7200.0  # as if kernels were compiled for hours
        return load_source(source)

    clock = SimpleNamespace(
        perf_counter=lambda: time.perf_counter() + spent[0], process_time=time.process_time
    )
    monkeypatch.setattr("labelance.study._forecast.time", clock)
    monkeypatch.setattr("labelance.study._forecast.compilation_seconds", lambda: spent[0])
    monkeypatch.setattr("labelance.study._forecast.load_source", load)
    forecast = forecast_study(tiny, probe_seconds=60)
    assert set(forecast.origins.values()) == {"probed"}
    assert forecast.cpu_seconds < 7200


def test_a_forecast_without_time_knows_what_the_store_says(tiny, tiny_store):
    small = replace(tiny, repeats=2)
    assert forecast_study(small, probe_seconds=0).cpu_seconds is None
    forecast = forecast_study(small, tiny_store, probe_seconds=0)
    assert (forecast.done, forecast.left) == (56, 56)
    assert set(forecast.origins.values()) == {"measured"}
    assert forecast.cpu_seconds > 0


def test_what_cannot_be_fitted_is_told(tiny):
    broken = DataSource("broken", make=Component("builtins.int", {"x": "no data"}))
    nothing = DataSource("nothing", make=Component("builtins.dict", {}))
    odd = Learner("odd", Component("BinaryRelevance", {"estimator": "not one"}))
    study = replace(tiny, datasets=[tiny.datasets[0], broken, nothing], learners=[odd])
    forecast = forecast_study(study, probe_seconds=2)
    assert (forecast.costs, forecast.cpu_seconds) == ({}, None)
    assert set(forecast.failures) == {("one", "odd"), ("broken", ""), ("nothing", "")}
    assert "TypeError" in forecast.failures["nothing", ""]


def test_what_every_fit_costs_does_not_grow_with_the_rows(tiny, monkeypatch):
    """With no time for more, one small fit was scaled up whole: seven hours instead of two."""
    fitted = []

    def second(study, learner, data, n):
        fitted.append(n)
        return 1.0

    monkeypatch.setattr("labelance.study._forecast._fit_and_score", second)
    monkeypatch.setattr("labelance.study._forecast._MOST_ROWS", 20)
    forecast = forecast_study(tiny, probe_seconds=0.001)
    probed = [pair for pair, origin in forecast.origins.items() if origin == "probed"]
    assert probed
    assert set(fitted) == {10, 20}
    assert all(1 <= forecast.costs[pair] < 2 for pair in probed)


@given(st.floats(0, 10), st.floats(0.2, 10), st.integers(500, 10**6))
def test_a_fixed_part_and_one_that_grows_are_told_apart(fixed, last, n):
    """If the growing part is not small beside the fixed one."""
    last = max(last, fixed)
    half, whole = (fixed + last * share**1.3 for share in (0.5, 1))
    expected = fixed + last * (n / 480) ** 1.3
    assert scaled_up(half, whole, 480, n) == pytest.approx(expected, rel=1e-6)


def test_times_that_differ_by_chance_alone_hardly_grow():
    less, more = (scaled_up(0.0115, time, 120, 6000) for time in (0.0110, 0.0120))
    assert less <= more < 2.5 * less


@pytest.mark.slow
@pytest.mark.data
def test_the_estimate_is_of_the_right_order(data_dir, tmp_path):
    study = load_study("paper").only(datasets=["flags"], learners=["BR", "COCOA"], repeats=1)
    run_study(study, tmp_path / "warm.db", executor="serial")
    run_study(study, tmp_path / "s.db", executor="serial")
    models = models_to_fit(study, study.cells())
    measured = measured_costs(study, Store(tmp_path / "s.db").rows(study))
    done = sum(number * measured[pair] for pair, number in models.items())
    assert 0.1 < forecast_study(study, probe_seconds=5).cpu_seconds / done < 10
