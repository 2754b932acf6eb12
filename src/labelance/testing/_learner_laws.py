"""Laws of learners: what scores and labels look like, and what they do not depend on."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import partial
from io import StringIO
from typing import Any

import numpy as np
import scipy.sparse as sp
from imblearn.pipeline import Pipeline
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_predict, cross_validate
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from labelance.exceptions import ConstantLabelWarning, LabelFormatError
from labelance.metrics import get_joint_scorer
from labelance.model_selection import IterativeStratifiedKFold
from labelance.sampling import MLSOL, SamplerTraits
from labelance.testing._compatibility_laws import check_clones_and_set_params as _check_parameters
from labelance.testing._data import (
    SPARSE_KINDS,
    HostileCase,
    dense_values,
    sampler_data,
    try_hostile_cases,
)
from labelance.testing._sampler_laws import assert_refused

# Sums may be taken in another order, by another container or number of rows.
assert_same_scores = partial(assert_allclose, rtol=0, atol=1e-9)


def check_scores_are_shares(learner: Any) -> None:
    """``predict_proba`` is an (n, q) float array with all cells in [0, 1]."""
    X, Y = sampler_data()
    scores = learner.fit(X, Y).predict_proba(X[:20])
    assert isinstance(scores, np.ndarray), f"scores are a {type(scores).__name__}"
    assert scores.shape == (20, 5), f"20 rows and 5 labels gave scores of shape {scores.shape}"
    assert scores.dtype.kind == "f", f"scores have the dtype {scores.dtype}"
    assert ((scores >= 0) & (scores <= 1)).all(), "a score lies outside [0, 1]"


def check_labels_are_zero_or_one(learner: Any) -> None:
    """``predict`` is an (n, q) array of integers 0 and 1."""
    X, Y = sampler_data()
    labels = learner.fit(X, Y).predict(X[:20])
    assert isinstance(labels, np.ndarray), f"labels are a {type(labels).__name__}"
    assert labels.shape == (20, 5), f"20 rows and 5 labels gave labels of shape {labels.shape}"
    assert labels.dtype.kind == "i", f"labels have the dtype {labels.dtype}"
    assert np.isin(labels, (0, 1)).all(), "a label is neither 0 nor 1"


def check_is_a_multilabel_classifier(learner: Any) -> None:
    """scikit-learn takes it for a multi-label classifier, and ``fit`` returns it."""
    X, Y = sampler_data()
    assert is_classifier(learner), "scikit-learn does not take it for a classifier"
    assert get_tags(learner).classifier_tags.multi_label, "its tags do not say multi_label"
    assert learner.fit(X, Y) is learner, "fit does not return the learner"


def check_sparse_features_equal_dense(learner: Any) -> None:
    """CSR and CSC features, in ``fit`` or in ``predict_proba``, give the scores of an array."""
    X, Y = sampler_data()
    expected = learner.fit(X, Y).predict_proba(X)
    for kind in SPARSE_KINDS:
        fitted = clone(learner).fit(kind(X), Y)
        message = f"{kind.__name__} features give other scores"
        assert_same_scores(fitted.predict_proba(kind(X)), expected, err_msg=message)
        assert_same_scores(fitted.predict_proba(X), expected, err_msg=message)
        assert_same_scores(learner.predict_proba(kind(X)), expected, err_msg=message)


def check_sparse_labels_come_back(learner: Any) -> None:
    """Sparse Y makes ``predict`` sparse and changes neither labels nor scores."""
    X, Y = sampler_data()
    labels, scores = learner.fit(X, Y).predict(X), learner.predict_proba(X)
    for kind in SPARSE_KINDS:
        fitted = clone(learner).fit(X, kind(Y))
        sparse = fitted.predict(X)
        assert sp.issparse(sparse), (
            f"{kind.__name__} labels are returned as {type(sparse).__name__}"
        )
        assert_array_equal(sparse.toarray(), labels, f"{kind.__name__} Y changed the labels")
        message = f"{kind.__name__} Y changed the scores"
        assert_same_scores(fitted.predict_proba(X), scores, err_msg=message)


def check_frames_equal_arrays(learner: Any) -> None:
    """Pandas frames of features and labels give the scores of arrays."""
    import pandas

    X, Y = sampler_data()
    expected = learner.fit(X, Y).predict_proba(X)
    X_frame = pandas.DataFrame(X, columns=list("abcd"), index=range(100, 160))
    Y_frame = pandas.DataFrame(Y, columns=list("pqrst"), index=X_frame.index)
    scores = learner.fit(X_frame, Y_frame).predict_proba(X_frame)
    assert_same_scores(scores, expected, err_msg="frames give other scores")
    labels = learner.predict(X_frame)
    assert np.shape(labels) == Y.shape, f"frames gave labels of shape {np.shape(labels)}"


def check_feature_names_are_remembered(learner: Any) -> None:
    """``feature_names_in_`` are the columns of the frame, and other names are refused."""
    import pandas

    X, Y = sampler_data()
    frame = pandas.DataFrame(X, columns=list("abcd"))
    learner.fit(frame, Y)
    assert list(learner.feature_names_in_) == list("abcd"), "the names were not remembered"
    for other in (frame.rename(columns={"d": "e"}), frame[list("dcba")]):
        _assert_raises(partial(learner.predict, other), ValueError, "other feature names")
        _assert_raises(partial(learner.predict_proba, other), ValueError, "other feature names")


def check_number_of_features_is_remembered(learner: Any) -> None:
    """``n_features_in_`` is set, and rows with more or fewer features are refused."""
    X, Y = sampler_data()
    learner.fit(X, Y)
    assert learner.n_features_in_ == X.shape[1], "n_features_in_ is wrong"
    for other in (X[:, :3], np.hstack([X, X])):
        for rows in (other, sp.csr_array(other)):
            _assert_raises(partial(learner.predict, rows), ValueError, "other features")
            _assert_raises(partial(learner.predict_proba, rows), ValueError, "other features")


def check_constant_labels_stay_constant(learner: Any) -> None:
    """Check that a label in no training row is never predicted, one in all of them always."""
    X, Y = sampler_data()
    Y[:, 1], Y[:, 3] = 0, 1
    new = np.vstack([X, 50 * np.random.default_rng(0).normal(size=(20, 4))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantLabelWarning)  # it may well be reported
        learner.fit(X, Y)
    labels, scores = learner.predict(new), learner.predict_proba(new)
    assert (labels[:, 1] == 0).all(), "a label that no training row has was predicted"
    assert (labels[:, 3] == 1).all(), "a label that every training row has was not predicted"
    assert (scores[:, 1] < scores[:, 3]).all(), "the label that never occurs scores higher"
    assert ((scores >= 0) & (scores <= 1)).all(), "constant labels bring scores outside [0, 1]"


def check_rows_do_not_see_each_other(learner: Any) -> None:
    """Check that a row has the same scores and labels alone as among others, in any order."""
    X, Y = sampler_data()
    learner.fit(X, Y)
    scores, labels = learner.predict_proba(X), learner.predict(X)
    alone = np.vstack([learner.predict_proba(X[i : i + 1]) for i in range(12)])
    assert_same_scores(alone, scores[:12], err_msg="a row alone has other scores")
    one_by_one = np.vstack([learner.predict(X[i : i + 1]) for i in range(12)])
    assert_array_equal(one_by_one, labels[:12], "a row alone has other labels")
    message = "the order of rows matters"
    assert_same_scores(learner.predict_proba(X[::-1]), scores[::-1], err_msg=message)


def check_same_seed_same_scores(learner: Any) -> None:
    """Check that the same int seed gives the same model, also in another instance."""
    X, Y = sampler_data()
    expected = learner.fit(X, Y).predict_proba(X)
    for other in (clone(learner), learner):
        scores = other.fit(X, Y).predict_proba(X)
        assert_array_equal(scores, expected, "the same seed gave other scores")


def check_jobs_do_not_matter(learner: Any) -> None:
    """Any ``n_jobs``, also of the learners inside, gives the same scores, and so does verbose=1."""
    X, Y = sampler_data()
    names = [name for name in learner.get_params() if name.split("__")[-1] == "n_jobs"]
    expected = learner.fit(X, Y).predict_proba(X)
    with parallel_config("threading"):  # threads start at once, and processes learn the same
        for n_jobs, verbose in ((1, 0), (2, 1)):
            other = clone(learner).set_params(**dict.fromkeys(names, n_jobs))
            if "verbose" in learner.get_params(deep=False):
                other.set_params(verbose=verbose)
            with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
                scores = other.fit(X, Y).predict_proba(X)
            message = f"n_jobs={n_jobs}, or verbose={verbose}, changed the scores"
            assert_array_equal(scores, expected, message)


def check_input_is_not_changed(learner: Any) -> None:
    """``fit`` and ``predict`` leave X and Y as they were, dense or sparse."""
    for kind in (np.array, sp.csr_array):
        X, Y = (kind(part) for part in sampler_data())
        before = X.copy(), Y.copy()
        learner.fit(X, Y)
        learner.predict(X), learner.predict_proba(X)
        assert abs(X - before[0]).sum() == 0, "X was changed"
        assert abs(Y - before[1]).sum() == 0, "Y was changed"


def check_refit_forgets(learner: Any) -> None:
    """After another ``fit`` nothing is left of the data before: features, labels, rows."""
    X, Y = sampler_data()
    X_other, Y_other = sampler_data(n=50, d=3, seed=1)
    Y_other = Y_other[:, 1:]
    expected = clone(learner).fit(X_other, Y_other)
    learner.fit(X, sp.csr_array(Y)).fit(X_other, Y_other)
    assert_array_equal(learner.predict_proba(X_other), expected.predict_proba(X_other))
    assert_array_equal(learner.predict(X_other), expected.predict(X_other))


def check_weights_of_one_change_nothing(learner: Any) -> None:
    """Where learners take ``sample_weight``, ones give the very scores and labels of none."""
    if not _takes_weights(learner):
        return
    X, Y = sampler_data()
    scores, labels = learner.fit(X, Y).predict_proba(X), learner.predict(X)
    learner.fit(X, Y, sample_weight=np.ones(len(X)))
    assert_array_equal(learner.predict_proba(X), scores, "weights of one changed the scores")
    assert_array_equal(learner.predict(X), labels, "weights of one changed the labels")


def check_rows_without_weight_do_not_count(learner: Any) -> None:
    """Where learners take ``sample_weight``, a row of weight 0 is as if it were not there."""
    if not _takes_weights(learner):
        return
    X, Y = sampler_data()
    keep = np.arange(len(X)) % 4 != 1
    scores = learner.fit(X[keep], Y[keep]).predict_proba(X)
    learner.fit(X, Y, sample_weight=keep.astype(float))
    assert_same_scores(learner.predict_proba(X), scores, err_msg="rows of weight 0 count")


def check_weights_count_rows(learner: Any) -> None:
    """Where a learner says ``_weights_count_rows``, weight 2 is the row twice."""
    if not getattr(learner, "_weights_count_rows", False):
        return
    X, Y = sampler_data()
    counts = 1 + np.arange(len(X)) % 3
    repeated = np.repeat(np.arange(len(X)), counts)
    scores = learner.fit(X[repeated], Y[repeated]).predict_proba(X)
    learner.fit(X, Y, sample_weight=counts)
    assert_same_scores(learner.predict_proba(X), scores, err_msg="weights are not counts of rows")


def check_clones_and_set_params(learner: Any) -> None:
    """``__init__`` stores its arguments unchanged and does nothing else; parameters round-trip."""
    _check_parameters(learner, SamplerTraits())


def check_pickles(learner: Any) -> None:
    """Check that pickled models give the same scores, and pickled learners the same model."""
    X, Y = sampler_data()
    unfitted = pickle.loads(pickle.dumps(learner))
    scores, labels = learner.fit(X, Y).predict_proba(X), learner.predict(X)
    for other in (pickle.loads(pickle.dumps(learner)), unfitted.fit(X, Y)):
        assert_array_equal(other.predict_proba(X), scores, "pickling changed the scores")
        assert_array_equal(other.predict(X), labels, "pickling changed the labels")


def check_works_in_a_pipeline(learner: Any) -> None:
    """Check that it learns from the rows that MLSOL adds, in imbalanced-learn's pipeline."""
    X, Y = sampler_data()
    sampler = MLSOL(random_state=0)
    model = Pipeline([("sampler", sampler), ("learner", clone(learner))]).fit(X, Y)
    expected = learner.fit(*sampler.fit_resample(X, Y))
    assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    assert_array_equal(model.predict(X), expected.predict(X))


def check_works_in_cross_validation(learner: Any) -> None:
    """``cross_validate`` runs with stratified folds and our scorers."""
    X, Y = sampler_data(n=90)
    folds = IterativeStratifiedKFold(2, random_state=0)
    scorer = get_joint_scorer("macro_f1", "macro_auc_roc")
    results = cross_validate(learner, X, Y, cv=folds, scoring=scorer, error_score="raise")
    for name in ("macro_f1", "macro_auc_roc"):
        values = results[f"test_{name}"]
        assert len(values) == 2, f"two folds gave {len(values)} values of {name}"
        assert ((values >= 0) & (values <= 1)).all(), f"{name} is {values}"


def check_works_in_cross_val_predict(learner: Any) -> None:
    """``cross_val_predict`` gives out-of-fold scores: ``classes_`` are the numbers of labels."""
    X, Y = sampler_data()
    folds = list(IterativeStratifiedKFold(2, random_state=0).split(X, Y))
    for labels in (Y, Y[:, :2], Y[:, :1]):
        expected = np.empty(labels.shape)
        for train, test in folds:
            model = clone(learner).fit(X[train], labels[train])
            numbers = np.arange(labels.shape[1])
            assert_array_equal(model.classes_, numbers, "classes_ are no numbers of labels")
            expected[test] = model.predict_proba(X[test])
        scores = cross_val_predict(learner, X, labels, cv=folds, method="predict_proba")
        assert_array_equal(scores, expected, "cross_val_predict changed the scores")


def check_bad_labels_are_refused(learner: Any) -> None:
    """One-dimensional Y, words and class numbers are refused, saying what to do.

    So are unknown cells (NaN), unless the learner does without them.
    """
    X, Y = sampler_data()
    strange = Y.astype(float)
    strange[0, 0] = np.nan
    for bad in (Y[:, 0], Y * 2, ["a,b"] * len(X), [[1]] * (len(X) - 1) + [[2, 3]]):
        assert_refused(partial(learner.fit, X, bad), LabelFormatError)
    with suppress(LabelFormatError):
        scores = clone(learner).fit(X, strange).predict_proba(X)
        assert np.isfinite(scores).all(), "unknown labels made scores unknown"


def check_must_be_fitted(learner: Any) -> None:
    """Before ``fit`` there is nothing to predict: NotFittedError."""
    X, _ = sampler_data()
    for method in (learner.predict, learner.predict_proba):
        _assert_raises(partial(method, X), NotFittedError, "rows before fit")


def check_learns_from_hostile_data(learner: Any) -> None:
    """Odd values, labels, sizes and containers give scores in [0, 1] or a named error."""

    def learn(case: HostileCase) -> None:
        own = clone(learner).fit(case.X, case.Y)
        scores, labels = own.predict_proba(case.X), dense_values(own.predict(case.X))
        shape = dense_values(case.Y).shape
        assert scores.shape == labels.shape == shape, "scores or labels have another shape than Y"
        assert ((scores >= 0) & (scores <= 1)).all(), "a score lies outside [0, 1]"
        assert np.isin(labels, (0, 1)).all(), "a label is neither 0 nor 1"

    try_hostile_cases(learn)


def _takes_weights(learner: Any) -> bool:
    """Say whether a learner, and those inside it, take weights of rows."""
    inner = getattr(learner, "estimator", None)
    return has_fit_parameter(learner, "sample_weight") and (inner is None or _takes_weights(inner))


def _assert_raises(call: Callable[[], Any], kind: type[Exception], what: str) -> None:
    try:
        call()
    except kind:
        return
    raise AssertionError(f"{what} were accepted; expected {kind.__name__}")


# All of them, in the order in which they stand above.
LEARNER_LAWS: tuple[Callable[[Any], None], ...] = tuple(
    law for name, law in globals().items() if name.startswith("check_")
)
