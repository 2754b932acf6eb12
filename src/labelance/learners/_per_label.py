"""PerLabel: any sampler inside binary relevance, with a training set for every label."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from imblearn.over_sampling import RandomOverSampler
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from labelance._arrays._columns import to_rows
from labelance._classifier import BaseMultiLabelClassifier, hands_on_rows, inherit_input_tags
from labelance._progress import run_parallel
from labelance._utils._compat import HasMethods, InvalidParameterError, StrOptions
from labelance._utils._messages import warn_user
from labelance._utils._random import RandomStateLike, as_generator, set_random_states
from labelance._validation._categorical import CategoricalFeatures, name_columns
from labelance._validation._data import (
    Data,
    Schema,
    absent_if_never_known,
    known_cells,
    open_clean_labels,
    validate_labels,
    validate_like,
)
from labelance.exceptions import InputError, NothingToSampleError, UnsampledLabelWarning
from labelance.learners._base import Models, Rows, make_trainer, split_labels
from labelance.learners._label_weight import LABEL_WEIGHT, LabelWeights, find_label_weights
from labelance.learners.tree import C45Classifier
from labelance.sampling import BaseMultiLabelSampler

# Samplers say by these that a label has too few rows for them.
_REFUSALS = (ValueError, RuntimeError)


class PerLabel(BaseMultiLabelClassifier):
    """Binary relevance with a sampler inside: every label learns from rows resampled for it.

    A sampler of imbalanced-learn balances two classes. A row has many labels, so no one set of
    rows is balanced for all of them; here each label gets its own, as with scikit-learn's
    ``MultiOutputClassifier(make_pipeline(sampler, estimator))``.

    It helps where labels are few and each has enough rows to be resampled alone. It hurts where
    labels explain each other, which no binary relevance sees, and it costs a resampling for
    every label.

    Parameters
    ----------
    sampler : object with ``fit_resample``, default=None
        Any sampler of imbalanced-learn or of :mod:`labelance.sampling`. None is imbalanced-learn's
        ``RandomOverSampler``, which works on every kind of rows.
    estimator : classifier, default=None
        Any scikit-learn classifier; None is :class:`C45Classifier`.
    label_weight : "balanced", mapping, array or function, default=None
        What positives, or both classes, of each label weigh, as in :class:`BinaryRelevance`.
        "balanced" and functions look at the resampled rows of one label at a time.
    categorical_features : None, mask, column numbers or names, default=None
        Categorical columns of X; those of a data frame count in any case. Only
        C4.5 uses them; the sampler, as other estimators, gets X as it is and needs its
        own parameter.
    random_state : int, RandomState, Generator or None, default=None
        Seeds the samplers and estimators that have a ``random_state``, label by label.
    n_jobs : int, default=None
        Number of labels resampled and fitted at a time; the result does not depend on it.
    verbose : int, default=0
        1 shows on a terminal how far fitting and predicting are, and how long they still take.

    Attributes
    ----------
    estimators_ : list of classifiers
        The fitted classifier of every label.
    unsampled_labels_ : ndarray
        Labels that learn from the rows as they are: those that are the same in all rows, those
        that the sampler refuses, and those for which a sampler of ours makes no row.
    n_labels_ : int
        Number of labels.
    label_names_ : tuple or None
        Their names, where y is a data frame.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Names of the features, where X has names that are strings.

    See Also
    --------
    BinaryRelevance : Without a sampler.
    labelance.ensemble.EMLS : A sampler for all labels together, in an ensemble.

    Notes
    -----
    Labels with too few rows for the sampler: SMOTE, for one, wants more minority rows than it has
    ``k_neighbors``. A label that the sampler refuses, by a ``ValueError`` or ``RuntimeError``,
    learns from the rows as they are, is listed in ``unsampled_labels_`` and named by an
    :class:`~labelance.exceptions.UnsampledLabelWarning`. If every label is refused, that is an
    error, since then the sampler or its parameters are at fault.

    A sampler of this library that makes every new row for one label (UCLSO, MLRkNNOS, MLSMOTE)
    resamples once, and a label learns from the input rows and those made for it. The others
    get the label as a y of one column; those that compare labels with each other (MLROS, REMEDIAL)
    find nothing to do there, but MLSOL and MLUL do.

    There is no ``sample_weight``: rows that a sampler makes have none. Weights of labels hold for
    made rows, too; "balanced" is 1 where the sampler has balanced a label. The cost is that of the
    sampler and of the estimator, both times the number of labels.

    Examples
    --------
    >>> from imblearn.over_sampling import SMOTE
    >>> from sklearn.linear_model import LogisticRegression
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.learners import PerLabel
    >>> X, y = make_multilabel_imbalanced(200, random_state=0)
    >>> learner = PerLabel(SMOTE(k_neighbors=3), LogisticRegression(), random_state=0).fit(X, y)
    >>> learner.predict_proba(X).shape, len(learner.estimators_)
    ((200, 10), 10)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseMultiLabelClassifier._parameter_constraints,
        "sampler": [HasMethods(["fit_resample"]), None],
        "estimator": [HasMethods(["fit", "predict"]), None],
        **LABEL_WEIGHT,
        "categorical_features": ["array-like", StrOptions({"auto"}), None],
        "random_state": ["random_state", np.random.Generator],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        sampler: Any = None,
        estimator: Any = None,
        *,
        label_weight: Any = None,
        categorical_features: CategoricalFeatures = None,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.sampler = sampler
        self.estimator = estimator
        self.label_weight = label_weight
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit(self, data: Data, X: Any) -> None:
        sampler = RandomOverSampler() if self.sampler is None else self.sampler
        X = data.features.container.native
        rows = Rows(data.X, to_rows(X))
        rng, schema = as_generator(self.random_state), self._schema
        source = LabelByLabel(sampler, rows, data, schema)
        if _makes_rows_for_labels(sampler):
            source = MadeForLabels(sampler, rows, data, schema, rng)
        weigh = self._find_weights(data)
        tasks = (
            delayed(_fit_label)(source, j, self.estimator, schema, stream, weigh)
            for j, stream in enumerate(rng.spawn(self.n_labels_))
        )
        fitted = run_parallel(
            Parallel, tasks, self.n_labels_, "Fitting labels", "labels", n_jobs=self.n_jobs
        )
        self._report_refusals(sampler, fitted)
        self._models = [label.model for label in fitted]
        self.estimators_ = [model[0] for model in self._models]
        self.unsampled_labels_ = np.flatnonzero([not label.sampled for label in fitted])

    def _find_weights(self, data: Data) -> Any:
        """Return weights of labels, or what finds them in the resampled rows of each."""
        wanted = self.label_weight
        if wanted is None or isinstance(wanted, str) or callable(wanted):
            return wanted
        found = find_label_weights(wanted, data.labels, caller="PerLabel")
        if found is not None and found.of_cells:
            raise InputError(
                "label_weight of PerLabel must hold one or two weights per label",
                "It has one per cell, and rows that a sampler makes have none",
            )
        return found

    def _hands_on_rows(self) -> bool:
        own = isinstance(self.sampler, BaseMultiLabelSampler) or self.estimator is None
        return not own and hands_on_rows(self.estimator)

    def _why_all_known(self) -> str | None:
        if not _makes_rows_for_labels(self.sampler):
            return None  # it sees the known rows of a label
        return self.sampler._why_all_known()

    def _report_refusals(self, sampler: Any, fitted: list[FittedLabel]) -> None:
        """Warn of labels that the sampler refused, or raise if it refused all."""
        refused = [j for j, label in enumerate(fitted) if label.refusal is not None]
        if not refused:
            return
        caller, first = type(sampler).__name__, fitted[refused[0]].refusal
        if not any(label.sampled for label in fitted):
            raise NothingToSampleError(
                f"{caller} in PerLabel cannot resample any label", f'The first error was "{first}"'
            )
        warn_user(
            f"{caller} refused {len(refused)} of {len(fitted)} labels, which learn from the rows "
            f"as they are: {name_columns(refused, self.label_names_)}; the first with "
            f'"{first}". See unsampled_labels_.',
            UnsampledLabelWarning,
        )

    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        rows, votes = Rows(clean, X), split_labels(sp.csr_array((1, 1))).votes
        tasks = (delayed(model.aggregate)(rows, votes) for model in self._models)
        columns = run_parallel(
            Parallel, tasks, self.n_labels_, "Asking classifiers", "labels", n_jobs=self.n_jobs
        )
        return np.hstack(columns)

    def __sklearn_tags__(self) -> Any:
        estimator = C45Classifier() if self.estimator is None else self.estimator
        return inherit_input_tags(estimator, super().__sklearn_tags__())


class FittedLabel(NamedTuple):
    """The classifier of a label, and whether its rows were resampled or why not."""

    model: Models
    sampled: bool
    refusal: str | None


class LabelRows(NamedTuple):
    """What one label is learned from."""

    rows: Rows
    y: sp.csr_array  # of one column
    sampled: bool


class LabelByLabel:
    """Resamples the rows again for every label; the sampler sees that label alone."""

    def __init__(self, sampler: Any, rows: Rows, data: Data, schema: Schema) -> None:
        self.sampler, self.rows, self.schema = sampler, rows, schema
        self.columns = sp.csc_array(data.Y)
        unknown = absent_if_never_known(data.Y, data.unknown)
        self.unknown = None if unknown is None else sp.csc_array(unknown)

    def as_they_are(self, label: int) -> LabelRows:
        """Return the rows of a label that are not resampled: all of which it is known."""
        y = sp.csr_array(self.columns[:, [label]])
        if self.unknown is None or not self.unknown[:, [label]].nnz:
            return LabelRows(self.rows, y, False)
        known = np.flatnonzero(self.unknown[:, [label]].toarray().ravel() == 0)
        return LabelRows(self.rows.take(known), y[known], False)

    def resample(self, label: int, rng: np.random.Generator) -> LabelRows:
        """Return resampled rows; raise what the sampler raises."""
        found = self.as_they_are(label)
        target = found.y.toarray().astype(np.int64)
        sampler = set_random_states(clone(self.sampler), rng)
        ours = isinstance(sampler, BaseMultiLabelSampler)
        X, y = sampler.fit_resample(found.rows.given, target if ours else target.ravel())
        rows = Rows(validate_like(X, self.schema, caller="PerLabel"), X)
        return LabelRows(rows, sp.csr_array(np.asarray(y).reshape(-1, 1)), True)


class MadeForLabels(LabelByLabel):
    """Resamples once for all labels; every label gets the new rows that were made for it."""

    def __init__(
        self, sampler: Any, rows: Rows, data: Data, schema: Schema, rng: np.random.Generator
    ) -> None:
        super().__init__(sampler, rows, data, schema)
        drawn = sampler.plan(rows.given, data.labels.container.native).draw(rng)
        self.made_for = drawn.provenance["label_indices_"]
        self.rows_after = Rows(validate_like(drawn.X, schema, caller="PerLabel"), drawn.X)
        after = validate_labels(drawn.y, caller="PerLabel", needs_all=None)
        self.columns_after = sp.csc_array(after.Y)
        self.known_after = known_cells(after.unknown)

    def resample(self, label: int, rng: np.random.Generator) -> LabelRows:
        """Return the original rows and those that were made for the label, if any."""
        n, made = self.columns.shape[0], np.flatnonzero(self.made_for == label)
        if not len(made):
            return self.as_they_are(label)
        rows = np.concatenate([np.arange(n), n + made])
        if self.known_after is not None:
            rows = rows[self.known_after[rows, label]]
        y = sp.csr_array(self.columns_after[:, [label]])[rows]
        return LabelRows(self.rows_after.take(rows), y, True)


def _makes_rows_for_labels(sampler: Any) -> bool:
    return isinstance(sampler, BaseMultiLabelSampler) and sampler.traits.label_specific


def _fit_label(
    source: LabelByLabel,
    label: int,
    estimator: Any,
    schema: Schema,
    rng: np.random.Generator,
    weigh: Any,
) -> FittedLabel:
    """Fit the classifier of one label to rows resampled for it, or to all if they cannot be."""
    found, refusal = source.as_they_are(label), None
    if 0 < found.y.nnz < found.y.shape[0]:
        try:
            found = source.resample(label, rng)
        except InvalidParameterError:
            raise
        except _REFUSALS as error:
            refusal = str(error).split("\n", 1)[0]
    own: LabelWeights | None = None
    if isinstance(weigh, LabelWeights):
        own = weigh.take(label)
    elif weigh is not None:
        y = open_clean_labels(found.y.toarray().astype(np.int64))
        own = find_label_weights(weigh, y, caller="PerLabel")
    trainer = make_trainer(estimator, found.rows, schema, None, own)
    model = trainer.fit(split_labels(found.y).problems, n_jobs=1, rng=rng)
    return FittedLabel(model, found.sampled, refusal)
