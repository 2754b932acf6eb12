"""The reliability of many labels in one picture."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from labelance.exceptions import InputError
from labelance.metrics import macro_calibration_error
from labelance.report import CalibrationDisplay


@pytest.fixture
def predictions():
    rng = np.random.default_rng(0)
    scores = rng.random((400, 6)) * [0.02, 0.02, 0.3, 0.4, 1, 1]
    y = (rng.random(scores.shape) < scores).astype(int)
    y[0] = 1
    return y, scores


def test_a_line_for_every_rarity_band(predictions):
    y, scores = predictions
    ax = Figure().subplots()
    display = CalibrationDisplay.from_predictions(y, scores, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert sorted(np.concatenate(list(display.bands.values()))) == list(range(6))
    assert len(display.lines_) == len(display.bands) == 3
    for labels, line in zip(display.bands.values(), display.lines_):
        error = macro_calibration_error(y, scores, average=None)[labels].mean()
        assert f"error {error:.3f}" in line.get_label()


def test_the_line_of_a_band_is_that_of_its_cells_together(predictions):
    y, scores = predictions
    display = CalibrationDisplay.from_predictions(y, scores, n_bins=5, ax=Figure().subplots())
    labels, line = display.bands["100-999 rows"], display.lines_[-1]
    cells, values = y[:, labels].ravel(), scores[:, labels].ravel()
    bins = np.minimum(np.floor(values * 5), 4)
    expected = [(values[bins == b].mean(), cells[bins == b].mean()) for b in range(5)]
    assert_allclose(line.get_xydata(), expected)


def test_an_estimator_is_asked_for_its_scores(predictions):
    y, scores = predictions

    class Fixed:
        def predict_proba(self, X):
            return X

    options = {"n_bins": 4, "strategy": "quantile"}
    found = CalibrationDisplay.from_estimator(Fixed(), scores, y, **options)
    expected = CalibrationDisplay.from_predictions(y, scores, **options)
    assert_allclose(found.bins.share, expected.bins.share)


def test_rows_without_labels_are_refused():
    with pytest.raises(InputError, match="No row has any label"):
        CalibrationDisplay.from_predictions([[0], [0]], [[0.1], [0.2]])
