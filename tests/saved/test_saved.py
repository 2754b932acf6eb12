"""Models, stores and results that earlier versions saved still open, or say what to do."""

import pickle
import pkgutil
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from saved_models import apply_model, make_models, make_rows
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning

import labelance
from labelance import MLROS
from labelance._utils._pickles import MarksVersion
from labelance.study import import_results

VERSIONS = sorted(path for path in Path(__file__).parent.iterdir() if path.name[0].isdigit())
by_version = pytest.mark.parametrize("folder", VERSIONS, ids=lambda folder: folder.name)


def open_pickle(path):
    """Return a model, and whether a warning named its version."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = pickle.loads(path.read_bytes())
    assert {one.category for one in caught} <= {InconsistentVersionWarning}
    return model, bool(caught)


@by_version
@pytest.mark.parametrize("name", make_models())
def test_models_open_and_predict_the_same(folder, name):
    model, warned = open_pickle(folder / f"{name}.pkl")
    assert warned == (folder.name != labelance.__version__)
    found = apply_model(model, *make_rows())
    assert_allclose(found, np.load(folder / "expected.npz")[name], rtol=1e-9)


@by_version
def test_results_open_as_store_and_as_folder(folder):
    stored = import_results(folder / "study.store")
    exported = import_results(folder / "results")
    assert len(stored.rows) == len(exported.rows) > 1
    assert stored.study == exported.study
    assert [row["macro_f1"] for row in stored.rows] == [row["macro_f1"] for row in exported.rows]


@pytest.mark.parametrize("saved_by", ["99.0", None])
def test_a_model_of_another_version_warns_at_the_line_that_opens_it(saved_by):
    state = MLROS(sampling_ratio=0.3).__getstate__()
    assert state.pop("_labelance_version") == labelance.__version__
    opened = MLROS()
    with pytest.warns(InconsistentVersionWarning, match=r"MLROS \(labelance\)") as caught:
        opened.__setstate__(state | ({"_labelance_version": saved_by} if saved_by else {}))
    assert caught[0].message.original_sklearn_version == (saved_by or "unknown")
    assert caught[0].filename == __file__
    assert vars(opened) == vars(MLROS(sampling_ratio=0.3))


def test_every_estimator_marks_its_version():
    for module in pkgutil.walk_packages(labelance.__path__, "labelance."):
        # Two need triton or torch; one is the command line.
        if not module.name.endswith(("._cuda", ".torch", ".__main__")):
            import_module(module.name)
    waiting, ours = [BaseEstimator], set()
    while waiting:
        found = waiting.pop().__subclasses__()
        waiting += found
        ours |= {one for one in found if one.__module__.startswith("labelance.")}
    assert len(ours) > 50
    assert not [one.__name__ for one in ours if not issubclass(one, MarksVersion)]
