"""RareLabelClassifier: one good default for rare labels, without tuning.

``_parts.py`` lists its parts; ``_race.py`` decides which of them learn from all rows.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from labelance._arrays._containers import column_counts
from labelance._classifier import WeightedClassifier
from labelance._progress import is_interactive, print_notice
from labelance._utils._compat import Interval
from labelance._utils._messages import show_names
from labelance._utils._random import as_generator
from labelance._validation._arguments import Weights
from labelance._validation._data import Data
from labelance.decisions._objectives import Objective, check_no_impossible_objective
from labelance.decisions._search import SHRINKING, TUNING, ScoredRows, Shrinkage, explain_thresholds
from labelance.ensemble._encoding import Tables, Task, find_learned, make_tasks
from labelance.ensemble._parts import Model
from labelance.ensemble._race import (
    LEARNS,
    RaceResult,
    find_candidates,
    mean_of_scores,
    race,
    weigh_parts,
)


class RareLabelClassifier(WeightedClassifier):
    """A blend of learners with thresholds for rare labels, good without tuning.

    Six kinds of parts may learn: linear models, a network of one hidden layer, a kernel machine,
    two forests and boosted trees. On many rows they first race on growing samples, and
    what has no weight in the best mean of their scores does not learn from all rows. Parts also
    score the training rows without having learned from them: these scores give the parts their
    weights, and then all labels their thresholds. One fit, without a search. Where cells of y are
    unknown (NaN), every label learns, and finds its threshold, from the rows in which it is known.

    X may be a list, Series or array of texts, or a data frame with columns of texts and of vectors
    (such as embeddings) next to numbers and categories. Ids and dates are left out, and named in
    ``columns_``.

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
    keep_oob : bool, default=False
        Whether to keep the scores of the training rows as ``oob_decision_function_``.
    random_state : int, RandomState, Generator or None, default=None
        For samples, bags, splits, folds and landmarks.
    n_jobs : int, optional
        Threads that grow trees and fit labels. The result does not depend on it.
    verbose : int, default=0
        1 prints in three lines what X has, what the race chose and what each part counts, and shows
        on a terminal how far fitting is.

    Attributes
    ----------
    parts_ : tuple of str
        Names of the learners that learned from all rows; with several tables, as of texts and
        of embeddings, each with the name of its table.
    weights_ : ndarray of shape (n_parts,)
        What each part counts in the mean of the scores; the sum is 1.
    race_ : list of dict
        What the race saw of every part at each size, for ``pandas.DataFrame(model.race_)``: part,
        rows, loss (log loss per positive), weight, work (counted CPU seconds of a fit to all rows)
        and decision. Empty where all parts are cheap, or the rows few.
    columns_ : str
        What was found in X, such as columns of texts, and what is left out.
    thresholds_ : ndarray of shape (n_labels,)
        A label is predicted where its score is at least this: ``inf`` never, ``-inf`` always.
    decisions_ : Thresholds or None
        What every threshold finds in the training rows, by scores of models that did not learn
        from them: ``to_frame`` gives a table, ``interval`` an interval for each label. None with
        ``objective=None``.
    oob_decision_function_ : ndarray of shape (n_samples, n_labels)
        Scores of the training rows by models that did not learn from them, but for two numbers for
        each label and part that make probabilities of scores, and for the weights. Only with
        ``keep_oob=True``.

    See Also
    --------
    labelance.decisions.LabelThresholds : Thresholds for a classifier of your own.
    labelance.advise : Compares learners, samplers, thresholds and weights on your data.

    Notes
    -----
    Cost: the parts that learn from all rows take together at most 3 times the work of the one
    with the least log loss in the race, or a minute of one core, whichever is more; the race takes
    at most as much as that one, or 24 seconds.
    After a race, what predicts takes at most 3 times the work of the best part.
    Work is counted from the shape of the data, not by a clock, so that a seed gives one model.
    Memory, beyond that of X and of the scores: kernels are made in blocks, and trees draw at most
    10,000 rows.

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

    Texts are X as they are:

    >>> texts = ["a red apple", "a green apple", "a red car", "a blue car"] * 10
    >>> y = [[1, 0], [1, 0], [0, 1], [0, 1]] * 10
    >>> model = RareLabelClassifier(random_state=0).fit(texts, y)
    >>> model.predict_proba(["an apple", "cars and a car"]).argmax(axis=1).tolist()
    [0, 1]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **WeightedClassifier._parameter_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "objective": TUNING["objective"],
        "shrinkage": SHRINKING["shrinkage"],
        "keep_oob": ["boolean"],
        "random_state": ["random_state", np.random.Generator],
        "n_jobs": [Integral, None],
    }
    _finds_columns: ClassVar[bool] = True
    _needs_all: ClassVar[str | None] = None
    estimator = None  # all parts are its own, and take weights

    def __init__(
        self,
        *,
        n_estimators: int = 150,
        objective: Objective | None = "f1",
        shrinkage: Shrinkage = "auto",
        keep_oob: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.objective = objective
        self.shrinkage = shrinkage
        self.keep_oob = keep_oob
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _hands_on_rows(self) -> bool:
        return True  # texts and vectors, which its tables hold as numbers

    def _fit(self, data: Data, X: Any, weight: Weights = None) -> None:
        n_labels = data.Y.shape[1]
        if self.objective is not None:
            check_no_impossible_objective(self.objective, n_labels)
        rng = as_generator(self.random_state)
        if weight is not None:
            weight = weight / weight.mean()  # so that their unit does not matter
        # The score of a label that all rows have, or none, is known.
        self._constant = (column_counts(data.Y) == data.labels.n_known).astype(float)
        self._learned = find_learned(data)
        self._tables, tables = Tables.fit(data, X)
        self.columns_ = self._tables.groups.summary()
        self._print_line(f"X: {self.columns_ or 'a table'}")
        held_out = np.tile(self._constant, (data.n_samples, 1))
        self._models: list[tuple[int, Model]] = []
        self.parts_: tuple[str, ...] = ()
        self.weights_, self.race_ = np.empty(0), list[dict[str, Any]]()
        if len(self._learned):
            tasks = make_tasks(
                tables, data, self._learned, weight, n_trees=self.n_estimators, n_jobs=self.n_jobs
            )
            held_out[:, self._learned] = self._fit_parts(tasks, rng)
        self.__dict__.pop("oob_decision_function_", None)  # of an earlier fit
        if self.keep_oob:
            self.oob_decision_function_ = held_out
        self._find_thresholds(data, held_out, weight)

    def _fit_parts(self, tasks: list[Task], rng: np.random.Generator) -> np.ndarray:
        """Fit the parts that the race chooses, and return the mean of their held-out scores."""
        streams = rng.spawn(2)
        candidates = find_candidates(tasks, self._tables.names)
        result = race(tasks, candidates, streams[0])
        self.race_ = [trial._asdict() for trial in result.trials]
        chosen = result.chosen
        self._print_race(result, len(candidates))
        held_out, models = [], []
        for one, stream in zip(chosen, streams[1].spawn(len(chosen))):
            fitted = one.part.fit(tasks[one.block], stream)
            models.append((one.block, fitted.model))
            held_out.append(fitted.held_out)
        weights = weigh_parts(result, held_out, tasks[0])
        kept = np.flatnonzero(weights)
        self.parts_ = tuple(chosen[i].name for i in kept)
        self.weights_ = weights[kept]
        self._models = [models[i] for i in kept]
        parts = [f"{name} {weight:.2f}" for name, weight in zip(self.parts_, self.weights_)]
        self._print_line(f"weights: {', '.join(parts)}")
        return mean_of_scores(self.weights_, [held_out[i] for i in kept])

    def _print_line(self, line: str) -> None:
        if self.verbose:
            print_notice(line)

    def _print_race(self, result: RaceResult, n_candidates: int) -> None:
        """Say what learns from all rows and, before a long fit, how long it takes.

        The time is said on a terminal also without verbose.
        """
        names = show_names([one.name for one in result.chosen], 9)
        line = f"race: {names} of {n_candidates} parts" if result.trials else f"no race: {names}"
        minutes = sum(one.work for one in result.trials if one.decision == LEARNS) / 60
        if minutes > 1:
            line += f"; to learn from all rows takes about {minutes:.0f} minutes of one core"
        if self.verbose or (minutes > 1 and is_interactive(notebooks=True)):
            print_notice(line)

    def _find_thresholds(self, data: Data, held_out: np.ndarray, weight: Weights) -> None:
        self.decisions_, self.thresholds_ = None, np.full(data.Y.shape[1], 0.5)
        if self.objective is not None:
            even = weight is None or (weight == 1).all()
            self.decisions_ = explain_thresholds(
                ScoredRows.of(data.Y, held_out, data.unknown, None if even else weight),
                data.labels.names,
                objective=self.objective,
                shrinkage=self.shrinkage,
            )
            self.thresholds_ = self.decisions_.thresholds

    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        tables = self._tables.transform(clean, X)
        scores = np.tile(self._constant, (tables[0].shape[0], 1))
        if self._models:
            parts = (model.scores(tables[block]) for block, model in self._models)
            scores[:, self._learned] = mean_of_scores(self.weights_, parts)
        return scores

    def _thresholds(self) -> np.ndarray:
        return self.thresholds_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
