"""Displays draw what was computed, on axes of their own or given ones."""

import sys
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelance import MLSOL, profile, report
from labelance.datasets import make_multilabel_imbalanced
from labelance.decisions import (
    LabelThresholds,
    decide_within_budget,
    find_thresholds,
    guarantee_precision,
    guarantee_recall,
)
from labelance.exceptions import InputError, MissingDependencyError
from labelance.metrics import imbalance_report, label_areas, label_scores, macro_f1, macro_f1_at_k
from labelance.report import (
    BudgetDisplay,
    CalibrationDisplay,
    CriticalDifferenceDisplay,
    GuaranteeDisplay,
    LabelFrequencyDisplay,
    MetricByRarityDisplay,
    MinorityTypesDisplay,
    ResamplingDisplay,
    ThresholdDisplay,
    plot_critical_difference,
)
from labelance.study.statistics import compare

X, y = make_multilabel_imbalanced(150, n_labels=5, random_state=0)
NAMES = ["sun", "$sea", "a_b", "rain", "<b>"]
FRAME = pd.DataFrame(np.asarray(y), columns=NAMES)
MODEL = KNeighborsClassifier(7).fit(X, y)
SCORES = pd.DataFrame(
    np.random.default_rng(0).normal([0.70, 0.71, 0.78], 0.02, size=(10, 3)),
    columns=["none", "MLSOL", "EMLSOL"],
)
DISPLAYS = {
    "CalibrationDisplay": lambda **o: CalibrationDisplay.from_estimator(MODEL, X, FRAME, **o),
    "LabelFrequencyDisplay": lambda **o: LabelFrequencyDisplay.from_data(FRAME, **o),
    "MinorityTypesDisplay": lambda **o: MinorityTypesDisplay.from_data(X, FRAME, **o),
    "ResamplingDisplay": lambda **o: ResamplingDisplay.from_estimator(
        MLSOL(random_state=0), X, FRAME, **o
    ),
    "ThresholdDisplay": lambda **o: ThresholdDisplay.from_estimator(MODEL, X, FRAME, **o),
    "MetricByRarityDisplay": lambda **o: MetricByRarityDisplay.from_estimator(MODEL, X, FRAME, **o),
    "BudgetDisplay": lambda **o: BudgetDisplay.from_predictions(
        FRAME, label_scores(MODEL, X), random_state=0, **o
    ),
    "GuaranteeDisplay": lambda **o: GuaranteeDisplay.from_guarantees(
        guarantee_recall(FRAME, label_scores(MODEL, X), too_few="never"), **o
    ),
    "CriticalDifferenceDisplay": lambda **o: CriticalDifferenceDisplay.from_data(SCORES, **o),
}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_every_public_display_is_tried():
    assert {name for name in report.__all__ if name.endswith("Display")} == DISPLAYS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", DISPLAYS)
def test_it_draws_on_its_own_axes_or_given_ones(name):
    display = DISPLAYS[name]()
    assert display.ax_.figure is display.figure_
    display.figure_.canvas.draw()
    _, axes = plt.subplots(1, 2)
    for ax in axes:
        assert DISPLAYS[name](ax=ax).ax_ is ax
    assert display.plot(ax=axes[0]) is display
    assert display.ax_ is axes[0]
    axes[0].figure.canvas.draw()  # a dollar sign in a name begins no formula


@pytest.mark.parametrize("name", DISPLAYS)
def test_text_and_lines_can_be_seen_on_light_and_dark_paper(name, case):
    for style in ["default", "dark_background"]:
        with case(style):

            def light(color):
                red, green, blue = to_rgb(color)
                return 0.21 * red + 0.72 * green + 0.07 * blue

            with plt.style.context(style):
                display = DISPLAYS[name]()
                paper = light(display.figure_.get_facecolor())
                ax = display.ax_
                drawn = [ax.title, *ax.texts, *ax.lines, *ax.get_xticklabels()]
                assert min(abs(light(one.get_color()) - paper) for one in drawn) > 0.15


@pytest.mark.parametrize("name", DISPLAYS)
def test_it_says_so_when_matplotlib_is_not_there(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingDependencyError, match=r"labelance\[plots\]"):
        DISPLAYS[name]()


def test_bars_are_the_counts_rarest_first():
    display = LabelFrequencyDisplay.from_data(FRAME, folds=5)
    counts = FRAME.sum().sort_values(kind="stable")
    assert [bar.get_width() for bar in display.ax_.patches] == counts.tolist()
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == counts.index.tolist()
    numbered = LabelFrequencyDisplay.from_data(y).ax_.get_yticklabels()
    assert {tick.get_text() for tick in numbered} == set("01234")
    line = LabelFrequencyDisplay.from_profile(profile(None, FRAME), top=3).ax_.lines[0]
    assert_array_equal(line.get_ydata(), np.sort(FRAME.sum()))


@pytest.mark.slow
def test_bars_of_types_add_up_to_one():
    display = MinorityTypesDisplay.from_data(X, FRAME, scale="range")
    found = profile(X, FRAME, scale="range")
    widths = np.array([bar.get_width() for bar in display.ax_.patches]).reshape(4, 5)
    assert_allclose(widths.sum(axis=0), 1)
    order = np.argsort(found.label_counts, kind="stable")
    shares = found.type_counts / found.type_counts.sum(axis=1, keepdims=True)
    assert_allclose(widths, shares[order].T)
    with pytest.raises(InputError, match="needs a profile with types"):
        MinorityTypesDisplay.from_profile(profile(None, FRAME))


@pytest.mark.slow
def test_resampling_shows_the_rows_of_the_label():
    X_more, y_more = MLSOL(sampling_ratio=0.5, random_state=0).fit_resample(X, FRAME)
    display = ResamplingDisplay.from_data(X, FRAME, X_more, y_more, label="rain")
    n, n_after = FRAME["rain"].sum(), y_more["rain"].sum()
    assert display.ax_.get_title() == f"rain: {n} -> {n_after} rows"
    absent, present, added = display.ax_.collections
    assert len(present.get_offsets()) == n
    assert len(added.get_offsets()) == n_after - n
    assert len(absent.get_offsets()) == len(y_more) - n_after
    counts = ResamplingDisplay.from_data(X, FRAME, X_more, y_more, kind="counts")
    before, after = (line.get_xdata() for line in counts.ax_.lines)
    assert sorted(before) == sorted(FRAME.sum())
    assert sorted(after) == sorted(y_more.sum())
    with pytest.raises(InputError, match=r"no label 'rian'.*rain"):
        ResamplingDisplay.from_data(X, FRAME, X_more, y_more, label="rian")
    with pytest.raises(InputError, match="kind must be one of"):
        ResamplingDisplay.from_data(X, FRAME, X_more, y_more, kind="maps")


def test_threshold_curve_is_scikit_learns_f():
    scores = label_scores(MODEL, X)
    display = ThresholdDisplay.from_predictions(FRAME, scores, label="rain")
    j = NAMES.index("rain")
    for t, value in zip(display.thresholds, display.f1):
        assert value == pytest.approx(f1_score(y[:, j], scores[:, j] >= t))
    assert display.f1[display.thresholds == display.threshold] == display.f1.max()
    assert ThresholdDisplay.from_predictions(FRAME, scores).label_name == FRAME.sum().idxmin()
    with pytest.raises(InputError, match="No row has 1"):
        ThresholdDisplay.from_predictions([[1, 0], [0, 0]], [[0.5, 0.5], [0.1, 0.2]], label=1)


@pytest.mark.slow
def test_the_models_own_threshold_is_marked():
    model = OneVsRestClassifier(LogisticRegression())
    model = make_pipeline(StandardScaler(), LabelThresholds(model, random_state=0)).fit(X, y)
    display = ThresholdDisplay.from_estimator(model, X, FRAME, label="sun")
    assert display.threshold == model[-1].thresholds_[0]
    other = ThresholdDisplay.from_estimator(model, X, FRAME, label="sun", threshold=0.25)
    assert other.threshold == 0.25


@pytest.mark.slow
def test_a_threshold_that_was_found_is_marked_even_if_infinite():
    scores = label_scores(MODEL, X)
    found = find_thresholds(FRAME, scores)
    for threshold in (found.thresholds[0], np.inf, -np.inf):
        display = ThresholdDisplay.from_predictions(FRAME, scores, label=0, threshold=threshold)
        display.figure_.canvas.draw()
        assert display.threshold == threshold
        assert np.isfinite(display.ax_.get_xlim()).all()


@pytest.mark.slow
def test_intervals_of_guarantees_stand_over_their_counts():
    scores = label_scores(MODEL, X) + np.arange(5) / 10
    found = guarantee_recall(FRAME, scores, recall=0.95, too_few="never")
    assert found.guaranteed.any()
    assert not found.guaranteed.all()
    ax = GuaranteeDisplay.from_guarantees(found).ax_
    for bars, some in zip(ax.containers, (found.guaranteed, ~found.guaranteed)):
        points, _, (lines,) = bars
        assert_array_equal(points.get_xdata(), found.n_positive[some])
        assert_array_equal(points.get_ydata(), found.value[some])
        ends = np.array([segment[:, 1] for segment in lines.get_segments()])
        assert_allclose(ends, np.column_stack([found.low, found.high])[some])
    assert_array_equal(ax.lines[-1].get_ydata(), 0.95)
    exact = guarantee_precision(FRAME, scores, precision=0.5, random_state=0)
    assert GuaranteeDisplay.from_guarantees(exact).ax_.get_xlabel().startswith("alarms")
    nothing = guarantee_recall(np.zeros((5, 2)), np.zeros((5, 2)), too_few="never")
    GuaranteeDisplay.from_guarantees(nothing).figure_.canvas.draw()


def test_utility_is_that_of_decisions_and_of_the_top_k():
    proba = label_scores(MODEL, X)
    display = BudgetDisplay.from_predictions(FRAME, proba, [3, 1], random_state=0)
    assert_array_equal(display.ks, [1, 3])
    for i, k in enumerate(display.ks):
        found = decide_within_budget(proba, per_row=k, random_state=0)
        assert display.decided[i] == pytest.approx(macro_f1(y, found.y))
        assert display.expected[i] == found.value
        assert display.top[i] == macro_f1_at_k(y, proba, k=k)
    for utility in ("macro_recall", "coverage"):
        all_labels = BudgetDisplay.from_predictions(y, proba, [5], utility=utility)
        assert all_labels.top == 1
    with pytest.raises(InputError, match="utility must be one of"):
        BudgetDisplay.from_predictions(y, proba, utility="f1")
    with pytest.raises(InputError, match="integer from 1 to 5"):
        BudgetDisplay.from_predictions(y, proba, [6])


@pytest.mark.slow
def test_measures_stand_over_the_rows_of_their_label():
    predicted = MODEL.predict(X)
    display = MetricByRarityDisplay.from_predictions(FRAME, predicted, metric="recall", name="kNN")
    assert_array_equal(display.values, imbalance_report(FRAME, predicted).recall)
    points = display.ax_.collections[0].get_offsets()
    assert_array_equal(points[:, 0], FRAME.sum())
    area = MetricByRarityDisplay.from_estimator(
        MODEL, X, FRAME, metric="auc_pr", y_train=FRAME[:90]
    )
    assert_array_equal(area.values, label_areas(FRAME, label_scores(MODEL, X)).auc_pr)
    assert_array_equal(area.counts, FRAME[:90].sum())
    absent = FRAME.assign(sun=0)
    assert np.isnan(MetricByRarityDisplay.from_predictions(absent, absent).values[0])
    with pytest.raises(InputError, match="metric must be one of"):
        MetricByRarityDisplay.from_predictions(FRAME, predicted, metric="f2")


def test_ranks_are_those_of_the_comparison():
    comparison = compare(SCORES)
    display = CriticalDifferenceDisplay.from_comparison(comparison, title="ranks")
    words = {text.get_text() for text in display.ax_.texts}
    for method, rank in comparison.average_ranks.items():
        assert {f"{method}  {rank:.2f}", f"{rank:.2f}  {method}"} & words
    left, right = display.ax_.get_xlim()
    assert left < 1
    assert right > 3


def draw_ranks_display(comparison):
    return CriticalDifferenceDisplay.from_comparison(comparison, title="Ranks").figure_


@pytest.mark.slow
@pytest.mark.parametrize("draw", [plot_critical_difference, draw_ranks_display])
def test_numbers_of_ranks_do_not_touch_and_names_are_on_the_paper(draw, case):
    for k in [2, 7, 9, 10, 14, 30]:
        with case(k):
            scores = np.random.default_rng(k).normal(np.linspace(0, 0.1, k), 0.05, size=(12, k))
            methods = [f"EMLSMOTE{place}" for place in range(k)]
            figure = draw(compare(scores, methods=methods, correction="holm"))
            figure.draw_without_rendering()
            texts = figure.axes[0].texts
            boxes = [text.get_window_extent() for text in texts]
            numbers = [box for text, box in zip(texts, boxes) if text.get_text().isdigit()]
            assert len(numbers) >= 2
            letter = 0.5 * 9.5 / 72 * figure.dpi
            for left, right in pairwise(numbers):
                assert left.x1 + letter / 2 < right.x0
            assert min(box.x0 for box in boxes) >= 0
            assert max(box.x1 for box in boxes) <= figure.bbox.x1
            if k >= 10:
                assert numbers[-1].x1 - numbers[0].x0 > figure.bbox.width / 5, (
                    "the axis has its room"
                )


@pytest.mark.parametrize("kind", [np.array, pd.Index, iter])
def test_names_of_labels_come_in_any_sequence(kind):
    plain = np.asarray(y)
    drawn = LabelFrequencyDisplay.from_data(plain, label_names=kind(NAMES))
    assert drawn.label_names == tuple(NAMES)
    drawn = ResamplingDisplay.from_data(X, plain, X, plain, label_names=kind(NAMES))
    assert drawn.label_names == tuple(NAMES)


@pytest.mark.slow
def test_rows_of_two_columns_may_be_dense_before_and_sparse_after():
    X, y = make_multilabel_imbalanced(30, n_features=2, n_labels=3, random_state=0)
    dense, mixed = (report.plot_before_after(X, y, after, y) for after in (X, csr_array(X)))
    for one, other in zip(dense.axes, mixed.axes, strict=True):
        for points, same in zip(one.collections, other.collections, strict=True):
            assert_array_equal(points.get_offsets(), same.get_offsets())
