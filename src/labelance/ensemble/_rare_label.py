"""RareLabelClassifier: one good default for rare labels, without tuning."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from labelance._arrays._containers import column_counts
from labelance._classifier import WeightedClassifier
from labelance._utils._compat import Interval
from labelance._utils._random import as_generator
from labelance._validation._arguments import Weights
from labelance._validation._data import Data
from labelance._validation._labels import take_labels
from labelance.decisions._objectives import Objective, check_no_impossible_objective
from labelance.decisions._search import SHRINKING, Shrinkage, find_thresholds
from labelance.decisions._thresholds import TUNING
from labelance.ensemble._encoding import Encoding
from labelance.ensemble._parts import PARTS, Task, choose_parts


class RareLabelClassifier(WeightedClassifier):
    """A blend of learners with thresholds for rare labels, good without tuning.

    Two forests, a kernel machine and (for dense tables of at most 32 labels) boosted trees err on
    different rows, so the mean of their scores is better than each of them. Every part also scores
    the training rows without having learned from them; on these scores the thresholds of all
    labels are found. One fit, without a search. Where cells of y are unknown (NaN), every label
    learns, and finds its threshold, from the rows in which it is known.

    Parameters
    ----------
    n_estimators : int, default=150
        Trees of each of the two forests.
    objective : {"f1", "gmean", "balanced_accuracy"}, callable or None, default="f1"
        What the thresholds maximise, as in :class:`~labelance.decisions.LabelThresholds`; None
        keeps 0.5.
    shrinkage : float or "auto", default="auto"
        How much thresholds of rare labels are drawn to their frequencies, as in
        :class:`~labelance.decisions.LabelThresholds`.
    random_state : int, RandomState, Generator or None, default=None
        For bags, splits, folds and landmarks.
    n_jobs : int, optional
        Threads that grow trees and fit labels. The result does not depend on it.
    verbose : int, default=0
        1 shows on a terminal how far fitting is.

    Attributes
    ----------
    parts_ : tuple of str
        Names of the learners whose scores are averaged.
    thresholds_ : ndarray of shape (n_labels,)
        A label is predicted where its score is at least this: ``inf`` never, ``-inf`` always.
    decisions_ : Thresholds or None
        What every threshold finds in the training rows, by scores of models that did not learn
        from them: ``to_frame`` gives a table, ``interval`` an interval for each label. None with
        ``objective=None``.
    oob_decision_function_ : ndarray of shape (n_samples, n_labels)
        Scores of the training rows by models that did not learn from them, but for two numbers for
        each label that make probabilities of the kernel's scores.

    See Also
    --------
    labelance.decisions.LabelThresholds : Thresholds for a classifier of your own.
    labelance.advise : Compares samplers, thresholds and weights for a learner on your data.

    Notes
    -----
    A category that no training row has counts as missing, without a warning, as in scikit-learn's
    histogram boosting. A missing category is one of its own where training rows lack it, and the
    most frequent one where none does.

    Examples
    --------
    >>> from labelance import RareLabelClassifier
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> X, y = make_multilabel_imbalanced(200, random_state=0)
    >>> model = RareLabelClassifier(random_state=0).fit(X, y)
    >>> model.predict(X).shape
    (200, 10)
    >>> len(model.decisions_.interval())
    10
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **WeightedClassifier._parameter_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "objective": TUNING["objective"],
        "shrinkage": SHRINKING["shrinkage"],
        "random_state": ["random_state", np.random.Generator],
        "n_jobs": [Integral, None],
    }
    _needs_all: ClassVar[str | None] = None
    estimator = None  # all parts are its own, and take weights

    def __init__(
        self,
        *,
        n_estimators: int = 150,
        objective: Objective | None = "f1",
        shrinkage: Shrinkage = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.objective = objective
        self.shrinkage = shrinkage
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit(self, data: Data, X: Any, weight: Weights = None) -> None:
        n_labels = data.Y.shape[1]
        if self.objective is not None:
            check_no_impossible_objective(self.objective, n_labels)
        rng = as_generator(self.random_state)
        counts, n_known = column_counts(data.Y), data.labels.n_known
        # The score of a label that all rows have, or none, is known.
        self._constant = (counts == n_known).astype(float)
        self._learned = np.flatnonzero((counts > 0) & (counts < n_known))
        self._encoding, table = Encoding.fit(data.X, data.categorical)
        self.parts_ = choose_parts(self._encoding.sparse, len(self._learned))
        self._models = []
        held_out = []
        if len(self._learned):
            task = Task(
                table,
                take_labels(data.Y, self._learned),
                None if data.unknown is None else take_labels(data.unknown, self._learned),
                weight,
                self.n_estimators,
                self.n_jobs,
            )
            for name, stream in zip(self.parts_, rng.spawn(len(self.parts_))):
                fitted = PARTS[name](task, stream)
                self._models.append(fitted.model)
                held_out.append(fitted.held_out)
        self.oob_decision_function_ = self._average(held_out, data.n_samples)
        self._find_thresholds(data, weight)

    def _find_thresholds(self, data: Data, weight: Weights) -> None:
        self.decisions_, self.thresholds_ = None, np.full(data.Y.shape[1], 0.5)
        if self.objective is not None:
            self.decisions_ = find_thresholds(
                data.labels.table,
                self.oob_decision_function_,
                objective=self.objective,
                shrinkage=self.shrinkage,
                sample_weight=weight,
                label_names=data.labels.names,
            )
            self.thresholds_ = self.decisions_.thresholds

    def _average(self, scores: list[Any], n: int) -> np.ndarray:
        """Return scores of all labels from those that parts give to the labels they learned."""
        average = np.tile(self._constant, (n, 1))
        if scores:
            average[:, self._learned] = np.nanmean(scores, axis=0)
        return average

    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        table = self._encoding.transform(clean)
        return self._average([model.scores(table) for model in self._models], table.shape[0])

    def _thresholds(self) -> np.ndarray:
        return self.thresholds_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
