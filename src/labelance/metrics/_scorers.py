"""The metrics as scorers, for ``cross_validate`` and ``GridSearchCV``.

scikit-learn's ``make_scorer`` asks ``classes_`` what kind of target it sees. It fails as soon
as a training fold misses a label (the lists of classes differ in length) and takes two labels
for two classes. Both are everyday matters here, so the scorers read the scores themselves.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from labelance._utils._messages import unknown_name
from labelance.exceptions import InputError
from labelance.metrics._auc import macro_auc_pr, macro_auc_roc
from labelance.metrics._calibration import macro_brier_loss, macro_calibration_error
from labelance.metrics._classification import (
    example_f1,
    hamming_loss,
    macro_balanced_accuracy,
    macro_f1,
    macro_g_mean,
    micro_f1,
    subset_accuracy,
)
from labelance.metrics._ranking import (
    coverage_at_k,
    coverage_error,
    label_ranking_average_precision,
    macro_f1_at_k,
    macro_recall_at_k,
    ndcg_at_k,
    one_error,
    precision_at_k,
    propensity_scored_precision_at_k,
    ranking_loss,
)


def label_scores(estimator: Any, X: Any) -> NDArray[np.floating]:
    """Return the scores of a fitted multi-label classifier as one (n, q) array.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba`` that gives an (n, q) array or scikit-learn's list of (n, 2)
        arrays, or else with ``decision_function``.
    X : array, sparse matrix or data frame
        Rows to score.

    Returns
    -------
    ndarray of shape (n, q)
        A label that the training data had in no row scores 0, one in every row 1.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from labelance.metrics import label_scores
    >>> X, y = [[0.0], [1.0], [2.0]], [[1, 0, 0], [1, 0, 1], [0, 0, 1]]
    >>> label_scores(KNeighborsClassifier(1).fit(X, y), [[0.2], [1.9]])
    array([[1., 0., 0.],
           [0., 0., 1.]])
    """
    if hasattr(estimator, "predict_proba"):
        scores = estimator.predict_proba(X)
    elif hasattr(estimator, "decision_function"):
        scores = estimator.decision_function(X)
    else:
        problem = "A metric of scores needs a classifier with predict_proba or decision_function"
        raise InputError(problem, f"{type(estimator).__name__} has neither")
    if not isinstance(scores, (list, tuple)):
        return _single_label(estimator, _as_columns(np.asarray(scores)))
    classes = getattr(estimator, "classes_", [np.arange(2)] * len(scores))
    return np.column_stack([_chance_of_one(p, c) for p, c in zip(scores, classes)])


def _single_label(estimator: Any, response: Any) -> Any:
    """Take the column of class 1 where scikit-learn speaks of the classes of a single label."""
    while isinstance(estimator, Pipeline) or hasattr(estimator, "best_estimator_"):
        is_pipeline = isinstance(estimator, Pipeline)  # its classes may be the numbers of labels
        estimator = estimator[-1] if is_pipeline else estimator.best_estimator_
    classes = getattr(estimator, "classes_", None)
    if classes is None or getattr(estimator, "multilabel_", False):
        return response
    flat = np.ndim(classes) == 1 and not isinstance(classes, list)
    if not flat or response.shape[1] != len(classes) or hasattr(estimator, "n_labels_"):
        return response
    if getattr(estimator, "n_outputs_", 1) != 1 or len(classes) > 2:
        return response
    return _chance_of_one(response, classes)[:, None]


def _as_columns(response: Any) -> Any:
    """Give a single label its own column again: scikit-learn flattens it."""
    names = isinstance(response, list)  # of every row's labels
    return response.reshape(-1, 1) if not names and np.ndim(response) == 1 else response


def _chance_of_one(proba: NDArray[np.floating], classes: Any) -> NDArray[np.floating]:
    """Return the column of class 1; a label seen with one class only has a single column."""
    return np.asarray(proba)[:, np.asarray(classes) == 1].sum(axis=1)


@dataclass(frozen=True)
class LabelScorer:
    """A callable ``(estimator, X, y) -> float``; higher is better.

    Attributes
    ----------
    metric : callable
        One of this module's functions.
    response : {"predict", "scores"}
        What the metric compares y with.
    sign : {1, -1}
        -1 for a loss.
    options : dict
        Keyword arguments of the metric.
    """

    metric: Callable[..., Any]
    response: Literal["predict", "scores"]
    sign: Literal[1, -1] = 1
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        return self.score(y, respond(estimator, X, self.response))

    def score(self, y: Any, response: Any) -> float:
        """Score labels or scores already predicted."""
        return self.sign * float(self.metric(y, response, **self.options))


@dataclass(frozen=True)
class JointScorer:
    """Several scorers as one, ``(estimator, X, y) -> dict``, predicting once for all of them."""

    scorers: dict[str, LabelScorer]

    def __call__(self, estimator: Any, X: Any, y: Any) -> dict[str, float]:
        kinds = {scorer.response for scorer in self.scorers.values()}
        responses = {kind: respond(estimator, X, kind) for kind in kinds}
        return {name: s.score(y, responses[s.response]) for name, s in self.scorers.items()}


def respond(estimator: Any, X: Any, kind: str) -> Any:
    """Ask the estimator for labels or for scores."""
    return _as_columns(estimator.predict(X)) if kind == "predict" else label_scores(estimator, X)


SCORERS: dict[str, LabelScorer] = {
    "macro_f1": LabelScorer(macro_f1, "predict"),
    "macro_g_mean": LabelScorer(macro_g_mean, "predict"),
    "macro_balanced_accuracy": LabelScorer(macro_balanced_accuracy, "predict"),
    "micro_f1": LabelScorer(micro_f1, "predict"),
    "example_f1": LabelScorer(example_f1, "predict"),
    "subset_accuracy": LabelScorer(subset_accuracy, "predict"),
    "neg_hamming_loss": LabelScorer(hamming_loss, "predict", -1),
    "macro_auc_roc": LabelScorer(macro_auc_roc, "scores"),
    "macro_auc_pr": LabelScorer(macro_auc_pr, "scores"),
    "neg_macro_brier_loss": LabelScorer(macro_brier_loss, "scores", -1),
    "neg_macro_calibration_error": LabelScorer(macro_calibration_error, "scores", -1),
    "label_ranking_average_precision": LabelScorer(label_ranking_average_precision, "scores"),
    "neg_ranking_loss": LabelScorer(ranking_loss, "scores", -1),
    "neg_one_error": LabelScorer(one_error, "scores", -1),
    "neg_coverage_error": LabelScorer(coverage_error, "scores", -1),
    "precision_at_k": LabelScorer(precision_at_k, "scores", options={"k": 1}),
    "ndcg_at_k": LabelScorer(ndcg_at_k, "scores", options={"k": 1}),
    "propensity_scored_precision_at_k": LabelScorer(
        propensity_scored_precision_at_k, "scores", options={"k": 1}
    ),
    "macro_f1_at_k": LabelScorer(macro_f1_at_k, "scores", options={"k": 1}),
    "macro_recall_at_k": LabelScorer(macro_recall_at_k, "scores", options={"k": 1}),
    "coverage_at_k": LabelScorer(coverage_at_k, "scores", options={"k": 1}),
}


def get_label_scorer(name: str, **options: Any) -> LabelScorer:
    """Return the scorer of a metric by name, for ``scoring=`` in scikit-learn.

    Parameters
    ----------
    name : str
        A key of :data:`SCORERS`.
    **options
        Keyword arguments of the metric, e.g. ``undefined=0`` or ``k=3``.

    Returns
    -------
    LabelScorer

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from labelance.metrics import get_label_scorer
    >>> X, y = make_multilabel_classification(random_state=0)
    >>> scorer = get_label_scorer("macro_auc_roc")
    >>> cross_val_score(KNeighborsClassifier(), X, y, cv=2, scoring=scorer).shape
    (2,)
    """
    try:
        scorer = SCORERS[name]
    except (KeyError, TypeError):  # a list of names cannot be looked up
        raise unknown_name("scorer", name, SCORERS) from None
    return LabelScorer(scorer.metric, scorer.response, scorer.sign, {**scorer.options, **options})


def get_joint_scorer(*names: str) -> JointScorer:
    """Return several scorers in one that predicts once, for ``scoring=`` in scikit-learn.

    Parameters
    ----------
    *names : str
        Keys of :data:`SCORERS`.

    Returns
    -------
    JointScorer

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from labelance.metrics import get_joint_scorer
    >>> X, y = make_multilabel_classification(random_state=0)
    >>> scorer = get_joint_scorer("macro_f1", "macro_auc_roc", "macro_auc_pr")
    >>> sorted(scorer(KNeighborsClassifier().fit(X, y), X, y))
    ['macro_auc_pr', 'macro_auc_roc', 'macro_f1']
    """
    return JointScorer({name: get_label_scorer(name) for name in names})
