"""Per-label figures of the authors' program, recomputed from its own predictions."""

import numpy as np
import pytest

from labelance import metrics

FOLDS = [
    f"{data}_{learner}_rep0_fold0" for data in ("emotions", "flags") for learner in ("BR", "MLkNN")
]


@pytest.mark.data
@pytest.mark.parametrize("fold", FOLDS)
def test_per_label_figures(fold, reference):
    cells = np.loadtxt(reference(f"check/pred_{fold}.csv"), delimiter=",", skiprows=1)
    figures = np.loadtxt(reference(f"check/perlabel_{fold}.csv"), delimiter=",", skiprows=1)
    scores, Y_pred, Y = cells[:, 0::3], cells[:, 1::3], cells[:, 2::3]
    _, f1, auc_roc, auc_pr = figures.T
    areas = metrics.label_areas(Y, scores)
    np.testing.assert_allclose(
        metrics.macro_f1(Y, Y_pred, average=None, zero_division=1), f1, atol=1e-12
    )
    np.testing.assert_allclose(areas.auc_roc, auc_roc, atol=1e-12)
    np.testing.assert_allclose(areas.auc_pr, auc_pr, atol=1e-12)
