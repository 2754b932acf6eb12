"""Scores of rows by models that did not learn from them: out of bag, or else out of fold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectorMixin, VarianceThreshold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, get_tags

from labelance._arrays._cells import iterate_columns
from labelance._arrays._open import take_rows
from labelance._classifier import (
    BaseMultiLabelClassifier,
    WeightedClassifier,
    fit_inner,
    inner_scores,
    why_all_known,
)
from labelance._validation._arguments import Weights, take_weights
from labelance._validation._data import Data, Schema
from labelance.exceptions import InputError, TooFewRowsError
from labelance.model_selection._splitters import assign_folds, strata

ScoreSource = Literal["auto", "train", "oob", "cv"]
Maker = Callable[[np.random.Generator], Any]
CV_FOLDS = 3


class HeldOutScores(NamedTuple):
    """Rows with known labels, their scores, and the fold that each was scored in, if any."""

    rows: np.ndarray
    scores: np.ndarray
    folds: np.ndarray | None = None


class ScoringClassifier(WeightedClassifier):
    """Base of classifiers that make something of the scores of an estimator inside."""

    _needs_only_rows: ClassVar[bool] = True
    estimator_: Any

    def _why_all_known(self) -> str | None:
        return why_all_known(self.estimator)

    def _fit_estimator(self, data: Data, weight: Weights) -> None:
        self.estimator_ = fit_inner(clone(self.estimator), data, weight)

    def _held_out(
        self, source: str, data: Data, weight: Weights, rng: np.random.Generator
    ) -> HeldOutScores:
        """Return scores of training rows out of bag or out of fold."""
        if source == "oob":
            return out_of_bag_scores(self.estimator_, data)
        return out_of_fold_scores(self._for_fold, data, weight, rng, self._schema)

    def _for_fold(self, random_state: np.random.Generator) -> Any:
        """Return what is fitted to the rows of other folds."""
        return clone(self.estimator)

    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        return inner_scores(self.estimator_, clean, X, self._schema)

    def _thresholds(self) -> Any:
        return getattr(self, "thresholds_", 0.5)


def choose_source(asked: ScoreSource, estimator: Any) -> ScoreSource:
    """Return where scores come from: out of bag for "auto" where there are bags, else by folds."""
    bags = has_bags(estimator)
    if asked == "auto":
        return "oob" if bags else "cv"
    if asked == "oob" and not bags:
        raise InputError(
            'tune_on="oob" needs an estimator whose members are trained on bootstrap samples',
            f"{estimator!r} has none, does not expose which rows they left out, or learns from the "
            "labels of all rows before",
            'If it is a forest or bagging, set its bootstrap=True, or use tune_on="cv"',
        )
    return asked


def has_bags(estimator: Any) -> bool:
    """Say whether an estimator, once fitted, can tell which rows each of its members left out.

    Forests and bagging of scikit-learn do, alone, for every label or after transformers, and
    ensembles of ours that draw bags before anything else.
    """
    if isinstance(estimator, Pipeline):
        *before, last = (step for _, step in estimator.steps)
        # Ensembles of ours would need the transformed rows validated again.
        return not (hasattr(last, "_has_bags") or any(map(_sees_labels, before))) and has_bags(last)
    if _fits_each_label(estimator):
        return has_bags(estimator.estimator)
    if isinstance(estimator, BaseMultiLabelClassifier):
        return hasattr(estimator, "_has_bags") and estimator._has_bags()
    if isinstance(estimator, RandomForestClassifier) and hasattr(estimator, "sampling_strategy"):
        return False  # imbalanced-learn's: a tree's bag numbers the rows of the tree's own sample
    tells = hasattr(type(estimator), "estimators_samples_")
    return tells and getattr(estimator, "bootstrap", False) is True


def _fits_each_label(estimator: Any) -> bool:
    """Return whether ``estimators_`` holds a classifier for each label, fitted to all rows."""
    per_label = (MultiOutputClassifier, OneVsRestClassifier)
    return isinstance(estimator, per_label) or getattr(estimator, "_fits_each_label", False)


def _sees_labels(step: Any) -> bool:
    """Say whether a step, or one inside it, looks at labels: those of rows left out, too.

    Members after a sampler number the rows that it made, moreover.
    """
    if hasattr(step, "fit_resample"):
        return True
    parts = [step, *step.get_params().values()] if isinstance(step, BaseEstimator) else []
    return any(_needs_labels(part) for part in parts if isinstance(part, BaseEstimator))


def _needs_labels(part: BaseEstimator) -> bool:
    if isinstance(part, SelectorMixin):  # whose tags do not always say so
        return not isinstance(part, VarianceThreshold)
    return bool(get_tags(part).target_tags.required)


def out_of_bag_scores(model: Any, data: Data) -> HeldOutScores:
    """Return the rows that some member of a fitted estimator left out, scored by those members."""
    if isinstance(model, BaseMultiLabelClassifier) and hasattr(model, "_has_bags"):
        known = model._scores_left_out(data)
    else:
        model, X = _last_step(model, data.features.container.native)
        if data.unknown is not None and _fits_each_label(model):
            scores = _known_scores_left_out(model, X, data.unknown)
        else:
            scores = _scores_left_out(model, X)
        rows = np.flatnonzero(~np.isnan(scores).any(axis=1))
        known = HeldOutScores(rows, scores[rows])
    if not len(known.rows):
        problem = "Out-of-bag scores need rows that some member left out"
        found = f"Every member saw every row of n_samples={data.X.shape[0]}"
        raise InputError(problem, found, 'Use more members, or tune_on="cv"')
    return known


def _last_step(model: Any, X: Any) -> tuple[Any, Any]:
    """Return the classifier of a pipeline and the rows that it sees; others as they are."""
    while isinstance(model, Pipeline):
        model, X = model[-1], model[:-1].transform(X)
    return model, X


def _known_scores_left_out(model: Any, X: Any, unknown: Any) -> np.ndarray:
    """Return scores by members that saw the known rows of one label only; 0 where it is unknown."""
    scores = np.zeros(unknown.shape)
    for label, (one, hidden) in enumerate(zip(model.estimators_, iterate_columns(unknown))):
        rows = np.flatnonzero(hidden == 0)
        if len(rows):
            scores[rows, label] = _scores_of_label(one, take_rows(X, rows))[:, 0]
    return scores


def _scores_left_out(model: Any, X: Any) -> np.ndarray:
    """Return (n, q) scores by the members that left a row out, nan where none did."""
    model, X = _last_step(model, X)
    if _fits_each_label(model):
        labels: Any = model.estimators_
        return np.hstack([_scores_of_label(one, X) for one in labels])
    tree = hasattr(model.estimators_[0], "tree_")
    X = check_array(
        X,
        accept_sparse="csr",
        dtype=np.float32 if tree else None,  # trees would convert it again and again
        ensure_all_finite=False,
    )
    features = getattr(model, "estimators_features_", None)
    several = isinstance(model.classes_, list)
    total = np.zeros((X.shape[0], len(model.classes_) if several else 1))
    votes = np.zeros(X.shape[0])
    for number, (member, seen) in enumerate(zip(model.estimators_, model.estimators_samples_)):
        left_out = np.ones(X.shape[0], dtype=bool)
        left_out[seen] = False
        rows = X[left_out] if features is None else X[left_out][:, features[number]]
        if rows.shape[0]:
            total[left_out] += _member_scores(member, model.classes_, rows)
            votes[left_out] += 1
    return np.divide(
        total, votes[:, None], out=np.full(total.shape, np.nan), where=votes[:, None] > 0
    )


def _scores_of_label(model: Any, X: Any) -> np.ndarray:
    """Return (n, 1) scores of one label; a label that all rows agree on is no forest's."""
    if has_bags(model):
        return _scores_left_out(model, X)
    if hasattr(model, "classes_"):  # ours, which has the one class
        return np.full((np.shape(X)[0], 1), float(model.classes_[0] == 1))
    return model.predict_proba(X)[:, 1:]  # scikit-learn's constant, whatever the row


def _member_scores(member: Any, classes: Any, X: Any) -> np.ndarray:
    """Return (n, q) scores of a member, whose classes are numbers of those of the ensemble."""
    if not hasattr(member, "predict_proba"):  # then bagging counts decisions, of one label
        return (classes[np.asarray(member.predict(X), int)] == 1).astype(float)[:, None]
    proba, own = member.predict_proba(X), member.classes_
    if not isinstance(proba, list):
        proba, own, classes = [proba], [own], [classes]
    return np.column_stack(
        [
            p[:, known[np.asarray(c, int)] == 1].sum(axis=1)
            for p, c, known in zip(proba, own, classes)
        ]
    )


def training_scores(model: BaseMultiLabelClassifier, data: Data) -> HeldOutScores:
    """Score the training rows by the model itself, which is optimistic."""
    scores = model._scores(data.X, data.features.container.native)
    return HeldOutScores(np.arange(data.n_samples), scores)


def out_of_fold_scores(
    make: Maker, data: Data, weight: Weights, rng: np.random.Generator, schema: Schema
) -> HeldOutScores:
    """Score every row by a model, sampling included, that was fitted on the other folds."""
    n, X = data.n_samples, data.features.container.native
    scores = np.empty(data.Y.shape)
    folds = assign_folds(strata(data.Y, data.unknown), CV_FOLDS, rng.spawn(1)[0])
    for fold, stream in enumerate(rng.spawn(CV_FOLDS)):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        model = fit_inner(make(stream), data.take(train), take_weights(weight, train))
        scores[test] = inner_scores(model, data.X[test], take_rows(X, test), schema)
    return HeldOutScores(np.arange(n), scores, folds)


def check_rows_for_folds(n: int, n_folds: int = CV_FOLDS, what: str = 'tune_on="cv"') -> None:
    """Raise unless every fold has a row."""
    if n < n_folds:
        raise TooFewRowsError(
            f"{what} needs a row for each of {n_folds} folds", f"Got n_samples={n}"
        )


def check_no_single_label_estimator(estimator: Any, *, caller: str) -> None:
    """Raise for a classifier that says that it learns one label."""
    if _says_single_label(estimator):
        raise InputError(
            f"{caller} needs a classifier that learns many labels at once",
            f"{type(estimator).__name__} learns one",
            f"Wrap it: labelance.learners.BinaryRelevance({type(estimator).__name__}())",
        )


def _says_single_label(estimator: Any) -> bool:
    """Say whether the tags of a classifier are those of one label.

    A class of the user's own that leaves scikit-learn's defaults has not said anything.
    """
    tags = get_tags(estimator)
    of_classes = tags.classifier_tags is not None and not tags.classifier_tags.multi_label
    kinds = [kind for kind in type(estimator).__mro__ if kind.__module__ != "sklearn.base"]
    said = any("__sklearn_tags__" in vars(kind) for kind in kinds)
    said = said or kinds[0].__module__.startswith("sklearn.")
    return said and of_classes and not tags.target_tags.multi_output
