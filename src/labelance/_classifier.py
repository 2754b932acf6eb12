"""The base classes of multi-label classifiers: one validation, (n, q) scores, one rule each."""

from __future__ import annotations

import warnings
from abc import ABCMeta, abstractmethod
from itertools import compress
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter
from sklearn.utils.validation import validate_data as sklearn_validate_data

from labelance._arrays._containers import to_dense
from labelance._arrays._labels import LabelSets, find_label_sets
from labelance._arrays._open import take_rows
from labelance._arrays._torch import to_device_of
from labelance._progress import show_progress
from labelance._utils._compat import fit_context
from labelance._utils._pickles import MarksVersion
from labelance._utils._threads import check_n_jobs
from labelance._validation._arguments import Weights, validate_weights
from labelance._validation._data import (
    NEEDS_LABELSETS,
    Data,
    Schema,
    check_all_known,
    check_no_device,
    check_some_known,
    validate_data,
    validate_labels,
    validate_like,
)
from labelance._validation._predictions import validate_predictions
from labelance.exceptions import InputError
from labelance.metrics import label_scores


class BaseMultiLabelClassifier(MarksVersion, ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of learners for (n, q) indicator targets.

    A subclass gives ``_fit`` and ``_scores``, ``_thresholds`` where these are not 0.5, and
    ``_predict`` where its rule is not "score >= threshold". Rows reach ``_fit`` twice: clean
    (``data.X``), for compiled code, and as the user gave them (``X``), for estimators of
    others, which may want their data frames.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"verbose": ["verbose"]}
    _works_on_device: ClassVar[bool] = False  # takes tensors on a GPU, and gives them back
    _fits_each_label: ClassVar[bool] = False  # estimators_: one per label, each fitted to all rows
    _finds_columns: ClassVar[bool] = False  # of texts and vectors itself, and checks their names
    _needs_all: ClassVar[str | None] = (
        NEEDS_LABELSETS  # why every cell of y must be known; None: need not
    )

    verbose: int = 0  # for learners without the parameter

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> BaseMultiLabelClassifier:
        """Learn from rows and their labels.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            The features. NaN is passed on to estimators that take it, and so are texts and other
            rows where only the estimator reads X, such as a pipeline with a vectorizer.
        y : array, sparse matrix or data frame of shape (n, q)
            The labels, 0 or 1. NaN where unknown, for learners that use known cells only.

        Returns
        -------
        self : object
            The fitted learner.
        """
        return self._fit_clean(self._validate(X, y))

    def _validate_params(self) -> None:
        if getattr(self, "n_jobs", None) is not None:  # scikit-learn leaves 0 to joblib
            check_n_jobs(self.n_jobs)
        super()._validate_params()
        if getattr(self, "label_weight", None) is not None:
            check_takes_weights(self.estimator, type(self).__name__)

    def _fit_clean(self, data: Data, **known: Any) -> Any:
        """Fit validated rows: the work of ``fit``.

        Where that fails, the learner stays what it was: unfitted, or fitted to earlier rows.
        """
        reason = None if data.unknown is None else self._why_all_known()
        if reason is not None:
            check_all_known(data.labels, type(self).__name__, reason)
        before = self.__dict__.copy()
        try:
            self._remember(data)
            with show_progress(self.verbose):
                self._fit(data, data.features.container.native, **known)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def _validate(self, X: Any, y: Any) -> Data:
        """Return clean training rows."""
        self._check_no_device(X)
        data = validate_data(
            X,
            y,
            caller=type(self).__name__,
            categorical_features=getattr(self, "categorical_features", None),
            missing="keep",
            hands_on=self._hands_on_rows(),
            needs_all=None,
        )
        check_some_known(data.labels, type(self).__name__)
        return data

    def _hands_on_rows(self) -> bool:
        """Say whether X may be texts or other rows, which only the estimator inside reads."""
        return False

    def _why_all_known(self) -> str | None:
        """Return why every cell of y must be known, None if known cells are enough."""
        return self._needs_all

    def _remember(self, data: Data) -> None:
        """Set what is known of training rows."""
        container = data.features.container
        if getattr(container, "has_columns", True):
            sklearn_validate_data(self, container.native, skip_check_array=True)
        else:  # as scikit-learn's meta-estimators around a vectorizer
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
        self._schema = data.features.schema()
        self._sparse_labels = data.labels.container.kind == "sparse"
        self._label_sets = isinstance(data.labels.container, LabelSets)
        self.n_labels_ = data.Y.shape[1]
        # As scikit-learn has it where predict_proba of many labels is one array.
        self.classes_ = np.arange(self.n_labels_)
        self.label_names_ = data.labels.names

    def predict_proba(self, X: Any) -> Any:
        """Return a score in [0, 1] for every row and label.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            The features.

        Returns
        -------
        scores : ndarray of shape (n, q)
            Larger means more likely to be present. A tensor, if X is one on a GPU.
        """
        clean = self._open(X)
        with show_progress(self.verbose):
            return to_device_of(self._scores(clean, X), X)

    def predict(self, X: Any) -> Any:
        """Return the labels, 0 or 1, by the learner's own rule.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            The features.

        Returns
        -------
        y : ndarray or csr_array of shape (n, q), or list of lists
            Sparse if the labels were sparse in ``fit``; for every row a list of label names, if
            ``fit`` had such.
        """
        clean = self._open(X)
        with show_progress(self.verbose):
            present = self._predict(clean, X)
        if self._label_sets:
            return [list(compress(self.label_names_ or (), row)) for row in present.tolist()]
        if self._sparse_labels:
            return sp.csr_array(present, dtype=np.int64)
        return to_device_of(present, X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the subset accuracy: the share of rows all of whose labels are right.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            The features.
        y : array, sparse matrix or data frame of shape (n, q), or n lists of label names
            The true labels.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.

        Returns
        -------
        accuracy : float
            Few rows have all of many labels right: `labelance.metrics` has measures that tell more.
        """
        if find_label_sets(y) is None:
            present = self._predict(self._open(X), X)
            try:
                return float(accuracy_score(y, present, sample_weight=sample_weight))
            except (TypeError, ValueError):
                reason = "a row is right only if all its labels are"
                validate_labels(y, caller=f"{type(self).__name__}.score", needs_all=reason)
                raise
        both = validate_predictions(y, self.predict(X), caller=f"{type(self).__name__}.score")
        wrong = np.diff((both.Y != both.Y_pred).tocsr().indptr)
        return float(np.average(wrong == 0, weights=sample_weight))

    @abstractmethod
    def _fit(self, data: Data, X: Any) -> None:
        """Learn from clean data; ``X`` is the same as the user gave it."""

    @abstractmethod
    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        """Return (n, q) scores of clean rows; ``X`` is the same as the user gave it."""

    def _predict(self, clean: Any, X: Any) -> np.ndarray:
        """Return (n, q) zeros and ones."""
        return (self._scores(clean, X) >= self._thresholds()).astype(np.int64)

    def _thresholds(self) -> Any:
        """Return what scores must reach: a number, or one for every label."""
        return 0.5

    def _open(self, X: Any) -> Any:
        check_is_fitted(self)
        self._check_no_device(X)
        clean = validate_like(X, self._schema, caller=type(self).__name__)
        by_name = self._finds_columns and self._schema.only_rows
        if hasattr(self, "n_features_in_") and not by_name:
            sklearn_validate_data(self, X, skip_check_array=True, reset=False)
        return clean

    def _check_no_device(self, X: Any) -> None:
        if not self._works_on_device:
            check_no_device(X, caller=type(self).__name__)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        tags.target_tags.two_d_labels = True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


def inherit_input_tags(estimator: Any, tags: Any) -> Any:
    """Return tags that say which inputs the estimator inside takes."""
    inner = get_tags(estimator)
    tags.input_tags.allow_nan = inner.input_tags.allow_nan
    tags.input_tags.sparse = inner.input_tags.sparse
    return tags


class WeightedClassifier(BaseMultiLabelClassifier):
    """Base of learners whose rows may have weights, which they hand to their estimators."""

    _needs_only_rows: ClassVar[bool] = False  # the estimator alone reads X
    estimator: Any

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> WeightedClassifier:
        """Learn from rows and their labels.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            The features. NaN is passed on to estimators that take it, and so are texts and other
            rows where only the estimator reads X, such as a pipeline with a vectorizer.
        y : array, sparse matrix or data frame of shape (n, q)
            The labels, 0 or 1. NaN where unknown, for learners that use known cells only.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, such as :func:`labelance.sampling.sample_weights` gives, if the
            estimator takes weights. Rows of weight 0 are left out.

        Returns
        -------
        self : object
            The fitted learner.
        """
        return self._learn(X, y, sample_weight)

    def _learn(self, X: Any, y: Any, sample_weight: Any, **ready: Any) -> WeightedClassifier:
        """Validate rows, labels and weights, and fit; ``ready`` holds what was computed before."""
        if self._weights_of_estimator(sample_weight) is not None:
            check_takes_weights(self.estimator, type(self).__name__)
        data = self._validate(X, y)
        rows, weight = validate_weights(sample_weight, data.n_samples, caller=type(self).__name__)
        if rows is not None:
            # As if the other rows had never been there.
            data = self._validate(take_rows(X, rows), take_rows(y, rows))
        return self._fit_clean(data, weight=weight, **ready)

    @abstractmethod
    def _fit(self, data: Data, X: Any, weight: Weights = None) -> None:
        """Learn from clean data and the weights of its rows, None if all are 1."""

    def _hands_on_rows(self) -> bool:
        only = self._needs_only_rows and self.estimator is not None
        return only and hands_on_rows(self.estimator)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return who takes the weights: the learner itself, and its estimator if it asks for them.

        Returns
        -------
        routing : MetadataRouter
            As scikit-learn's metadata routing wants it.
        """
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        if self.estimator is None:  # trees of our own, which take them without being asked
            return router
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return router.add(estimator=self.estimator, method_mapping=mapping)

    def _weights_of_estimator(self, weight: Any) -> Any:
        """Return the weights if the estimator is to have them.

        It is asked only where scikit-learn's metadata routing is enabled.
        """
        asked = get_config()["enable_metadata_routing"] and self.estimator is not None
        if weight is None or not asked:
            return weight
        return process_routing(self, "fit", sample_weight=weight).estimator.fit.get("sample_weight")

    @property
    def _weights_count_rows(self) -> bool:
        """Say whether a row of weight w always counts like w equal rows."""
        return False

    def __sklearn_tags__(self) -> Any:
        # A sampler that cannot take what the estimator can says so itself, in fit.
        tags = super().__sklearn_tags__()
        return tags if self.estimator is None else inherit_input_tags(self.estimator, tags)


def check_takes_weights(estimator: Any, caller: str) -> None:
    """Raise where the estimator inside ``caller`` takes no weights of rows; None, C4.5, does."""
    if isinstance(estimator, WeightedClassifier):
        check_takes_weights(estimator.estimator, type(estimator).__name__)
    elif isinstance(estimator, Pipeline) and not _resamples(estimator):
        check_takes_weights(estimator.steps[-1][1], caller)
    elif estimator is not None and not has_fit_parameter(estimator, "sample_weight"):
        raise InputError(
            f"The estimator of {caller} must accept sample_weight",
            f"{type(estimator).__name__} takes no weights",
            "Use an estimator whose fit has sample_weight, or omit the weights",
        )


def _resamples(pipeline: Pipeline) -> bool:
    """Say whether a step makes or drops rows, which then have no weights."""
    return any(hasattr(step, "fit_resample") for _, step in pipeline.steps)


def weight_options(estimator: Any, weight: Weights) -> dict[str, Any]:
    """Return what hands weights to ``fit``: to the last step of a pipeline, which routing knows."""
    if weight is None:
        return {}
    if not isinstance(estimator, Pipeline) or get_config()["enable_metadata_routing"]:
        return {"sample_weight": weight}
    name, last = estimator.steps[-1]
    return {f"{name}__{option}": value for option, value in weight_options(last, weight).items()}


def hands_on_rows(estimator: Any) -> bool:
    """Say whether an estimator inside one of ours may take texts or other rows that are no table.

    A pipeline may, and what others write. A single classifier of scikit-learn or of ours reads
    numbers: the checks of X say better than it does what is wrong.
    """
    if isinstance(estimator, BaseMultiLabelClassifier):
        return estimator._hands_on_rows()
    known = type(estimator).__module__.partition(".")[0] in ("sklearn", "labelance")
    if not known or get_tags(estimator).no_validation:
        return True
    return any(hasattr(part, "fit") for part in estimator.get_params(deep=True).values())


def why_all_known(estimator: Any) -> str | None:
    """Return why an estimator inside one of ours needs to know every cell of y, None if not so."""
    if isinstance(estimator, Pipeline):
        reasons = (_why_step_needs_all(step) for _, step in estimator.steps[:-1])
        return next(filter(None, reasons), None) or why_all_known(estimator.steps[-1][1])
    if isinstance(estimator, FrozenEstimator):
        return None  # it learns nothing here
    if isinstance(estimator, BaseMultiLabelClassifier):
        return estimator._why_all_known()
    name = type(estimator).__name__
    return f"{name} takes no unknown labels; BinaryRelevance({name}()) fits it label by label"


def _why_step_needs_all(step: Any) -> str | None:
    """Return why a step before the last of a pipeline needs all labels."""
    if hasattr(step, "_why_all_known"):  # a sampler of ours
        reason: str | None = step._why_all_known()
        return reason
    sees = hasattr(step, "fit_resample") or (
        isinstance(step, BaseEstimator) and get_tags(step).target_tags.required
    )
    return f"{type(step).__name__} takes no unknown labels" if sees else None


def fit_inner(estimator: Any, data: Data, weight: Weights = None, neighborhood: Any = None) -> Any:
    """Fit an estimator inside one of ours to data that are validated already.

    One of ours takes them as they are; others get X as given, and y as a dense table, since few
    of them take a sparse one; it is smaller than the scores that they will give.
    """
    if _takes_clean(estimator):
        # Weights of some rows may all be 1, which is as if none had been given.
        even = weight is None or (weight == 1).all()
        known = {"weight": None if even else weight, "neighborhood": neighborhood}
        estimator._validate_params()
        return estimator._fit_clean(data, **_given(known))
    options = _given({"neighborhood": neighborhood}) | weight_options(estimator, weight)
    X, y = data.features.container.native, to_dense(data.labels.table)
    with warnings.catch_warnings():
        if data.Y.shape[1] == 1:  # our y is a table, so this advice is no use
            warnings.filterwarnings("ignore", "A column-vector y", DataConversionWarning)
        return estimator.fit(X, y, **options)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def inner_scores(estimator: Any, clean: Any, X: Any, schema: Schema) -> np.ndarray:
    """Return scores of rows in [0, 1] by an estimator inside one of ours, which validated them.

    ``schema`` says how the clean rows are coded; one of ours that codes them alike takes them.
    """
    if _takes_clean(estimator) and estimator._schema.categories == schema.categories:
        scores = estimator._scores(clean, X)
    else:
        scores = relevance(estimator, X)
    n_missing = np.count_nonzero(np.isnan(scores))
    if n_missing:
        raise InputError(
            "The estimator must give every row and label a score",
            f"{type(estimator).__name__} gave NaN {n_missing} times",
            "Scale very large numbers of X down, or choose another estimator",
        )
    return scores


def _takes_clean(estimator: Any) -> bool:
    """Say whether it is a learner of ours without nominal columns of its own, which it would code.

    A user's class that is derived from ours may do more in its public methods.
    """
    ours = isinstance(estimator, BaseMultiLabelClassifier)
    ours = ours and type(estimator).__module__.startswith("labelance.")
    return ours and getattr(estimator, "categorical_features", None) is None


def relevance(estimator: Any, X: Any) -> np.ndarray:
    """Return scores in [0, 1]; margins of a ``decision_function`` are squeezed, 0 becoming 0.5."""
    scores = label_scores(estimator, X)
    return scores if hasattr(estimator, "predict_proba") else expit(scores)
