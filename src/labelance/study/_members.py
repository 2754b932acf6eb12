"""Members: fitted once, they serve the single model and every ensemble of their family."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelance.ensemble import EMLS, LabelThresholds, TrainingSet
from labelance.exceptions import NothingToSampleError
from labelance.learners import BaseMultiLabelClassifier, best_thresholds, relevance
from labelance.study._design import Learner, Method
from labelance.study._folds import FoldData
from labelance.study._measures import disagreement
from labelance.study._meter import Cost, total
from labelance.study._prepare import build_learner, prepare, search_of
from labelance.study._training import TrainingSets


@dataclass(frozen=True, eq=False)
class Verdict:
    """What a method says about the test rows, and what that cost."""

    scores: np.ndarray
    predicted: Any
    sampling: Cost | None
    fitting: Cost
    predicting: Cost
    n_resampled: int | None
    disagreement: float


class Members:
    """A learner fitted on each training set of a family, for some methods of the family."""

    def __init__(
        self,
        learner: Learner,
        methods: Sequence[Method],
        fold: FoldData,
        rows: TrainingSets,
        most: int,
        seed: int = 0,
    ) -> None:
        self.rows, self.fold, self.most = rows, fold, most
        self.tuned = any(method.threshold is not None for method in methods)
        self.fitting: list[Cost] = []
        self.tuning: list[Cost] = []
        self.predicting: list[Cost] = []
        self.scores: list[np.ndarray] = []
        self.train_scores: list[np.ndarray] = []
        self.first: Any = None
        for drawn in rows.sets[: max(method.n_estimators for method in methods)]:
            member = build_learner(learner, fold.nominal, balanced=methods[0].balanced, seed=seed)
            self._add(member, drawn)

    def _add(self, member: Any, drawn: TrainingSet) -> None:
        """Fit one more member, and ask it all that the methods need."""
        fitting, tuning, predicting = Cost(), Cost(), Cost()
        with fitting.spent():
            _fit(member, drawn.X, drawn.Y, self.fold, self.most)
        with predicting.spent():
            self.scores.append(relevance(member, self.fold.X_test))
        if self.tuned:
            with tuning.spent():
                self.train_scores.append(relevance(member, self.fold.X))
        self.first = member if self.first is None else self.first
        self.fitting.append(fitting)
        self.tuning.append(tuning)
        self.predicting.append(predicting)

    def judge(self, method: Method) -> Verdict:
        """Return what the first members say together, by the rule of a method."""
        m, finding = method.n_estimators, Cost()
        scores = _mean(self.scores[:m])
        if method.threshold is not None:
            with finding.spent():
                thresholds = best_thresholds(
                    self.fold.Y,
                    _mean(self.train_scores[:m]),
                    objective=method.threshold,
                    **_threshold_rule(method),
                )
            predicted = (scores >= thresholds).astype(np.int8)
            finding += total(self.tuning[:m])
        elif m == 1:
            predicted = self.first.predict(self.fold.X_test)  # by its own rule
        else:
            predicted = (scores >= 0.5).astype(np.int8)
        return Verdict(
            scores,
            predicted,
            self.rows.cost(m),
            total(self.fitting[:m]) + finding,
            total(self.predicting[:m]),
            self.rows.sets[0].Y.shape[0],
            disagreement(self.scores[:m]),
        )


def judge_alone(
    learner: Learner, method: Method, fold: FoldData, stream: np.random.Generator, seed: int = 0
) -> Verdict:
    """Fit a method whose thresholds need models of their own, through the public ensemble."""
    built = build_learner(learner, fold.nominal, balanced=method.balanced, seed=seed)
    rule = _threshold_rule(method)
    options: dict[str, Any] = {
        "objective": method.threshold,
        "threshold_search": rule["search"],
        "variant": rule["variant"],
        "threshold_data": method.threshold_data,
        "random_state": stream,
    }
    if method.sampler is None and method.n_estimators == 1 and not method.bootstrap:
        model: Any = LabelThresholds(built, **options)
    else:
        sampler = None if method.sampler is None else prepare(method.sampler.build(), fold.nominal)
        model = EMLS(
            built,
            sampler,
            n_estimators=method.n_estimators,
            bootstrap=method.bootstrap,
            **options,
        )
    fitting, predicting = Cost(), Cost()
    Y = labels_for(built, fold.Y)
    with fitting.spent():
        try:
            model.fit(fold.X, Y)
        except NothingToSampleError:  # then the sampler does nothing, as where members are shared
            model.set_params(sampler=None).fit(fold.X, Y)
    with predicting.spent():
        scores = model.predict_proba(fold.X_test)
    predicted = (scores >= model.thresholds_).astype(np.int8)
    return Verdict(scores, predicted, None, fitting, predicting, None, float("nan"))


def _threshold_rule(method: Method) -> dict[str, Any]:
    """Return how a method looks for thresholds, in the words of learners."""
    search, _, program = method.threshold_search.partition("_")
    return {"search": search, "variant": program or "paper"}


def _fit(member: Any, X: Any, Y: Any, fold: FoldData, most: int) -> Any:
    """Fit a member, with the fold's neighbors where it looks at the rows of the fold itself."""
    if X is fold.X and "neighborhood" in inspect.signature(member.fit).parameters:
        wanted = search_of(member, fold.nominal)
        if wanted is not None:
            k, space = wanted
            return member.fit(X, Y, neighborhood=fold.neighborhood(k, most, **space))
    return fit_member(member, X, Y)


def fit_member(member: Any, X: Any, Y: Any) -> Any:
    """Fit any classifier, ours or not."""
    return member.fit(X, labels_for(member, Y))


def labels_for(member: Any, Y: Any) -> Any:
    """Return labels as a classifier takes them: most of scikit-learn's want them dense."""
    ours = isinstance(member, BaseMultiLabelClassifier)
    return Y.toarray() if sp.issparse(Y) and not ours else Y


def _mean(scores: list[np.ndarray]) -> np.ndarray:
    return scores[0] if len(scores) == 1 else sum(scores[1:], scores[0]) / len(scores)
