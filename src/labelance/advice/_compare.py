"""A small stratified comparison: how large, of what, and what its folds say together."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from imblearn.pipeline import make_pipeline
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from labelance._arrays._cells import label_dtype
from labelance._arrays._containers import stored_values
from labelance._arrays._labels import mark_unknown
from labelance._arrays._open import take_rows
from labelance._classifier import relevance
from labelance._progress import loop
from labelance._utils._random import draw_seeds, set_random_states
from labelance._validation._data import Data
from labelance._validation._labels import take_unknown
from labelance.decisions import LabelThresholds
from labelance.ensemble import MLSOLBagging, RareLabelClassifier
from labelance.exceptions import InputError, LabelanceError
from labelance.imbalance._local import minority_matrix, minority_values
from labelance.learners import BinaryRelevance
from labelance.metrics import macro_auc_pr, macro_auc_roc, macro_brier_loss, macro_f1
from labelance.model_selection import IterativeStratifiedKFold
from labelance.sampling import MLROS, MLSMOTE, MLSOL

FOLDS = 5
_MOST_ROUNDS = 4
_FEWEST_ROWS = 300
_MOST_ROWS = 5000
TREES = 100
_MEMBERS = 5  # of MLSOLBagging, which share the trees of the forest

SAMPLERS = {"MLROS": MLROS, "MLSMOTE": MLSMOTE, "MLSOL": MLSOL}
RESAMPLING = (*SAMPLERS, "MLSOLBagging")
DEFAULT = "RareLabelClassifier"
# Simplest first: of those that are as good as the best, the first is advised. The default needs no
# choice of a learner, so that it comes early; it is last where it would replace a user's learner.
CANDIDATES = ("nothing", DEFAULT, "thresholds", "class weights", *RESAMPLING)
MEASURES = ("macro_f1", "macro_auc_roc", "macro_auc_pr", "neg_macro_brier_loss")


@dataclass(frozen=True)
class Design:
    """How large the comparison is.

    Attributes
    ----------
    n_rows : int
        Rows that the budget allows to learn from, four fifths of them in every fold.
    n_rounds : int
        How often the rows are split into folds again.
    n_folds : int
        Folds that were planned, 5 in every round.
    n_judged : int
        Rows that are split into folds. All rows of a test fold are judged, also where fewer than
        the others are learned from.
    n_run : int
        Folds that were run, the same or, where the time was up, fewer.
    interrupted : bool
        Whether Ctrl-C ended the comparison.
    omitted : str
        Why RareLabelClassifier is not compared; empty if it is.
    """

    n_rows: int
    n_rounds: int
    n_folds: int
    n_judged: int
    n_run: int = 0
    interrupted: bool = False
    omitted: str = ""

    @property
    def n_learned(self) -> int:
        """The most rows that are learned from in a fold."""
        return self.n_rows * (FOLDS - 1) // FOLDS


def choose_design(n: int, d: int, q: int, *, sparse: bool, budget: float | None) -> Design:
    """Choose rows and rounds by what the data's shape should cost, not by a clock.

    All rows (5,000 at most) if two rounds of them fit into the budget, else halves of them, down
    to 300; then as many rounds as fit, from one to four. RareLabelClassifier is compared if a
    round with it fits.
    """
    rows = judged = min(n, _MOST_ROWS)
    if budget is None:
        return Design(rows, _MOST_ROUNDS, _MOST_ROUNDS * FOLDS, judged)
    while rows > _FEWEST_ROWS and 2 * _round_cost(rows, d, q, sparse) > budget:
        rows = max(rows // 2, _FEWEST_ROWS)
    cost, more, omitted = _round_cost(rows, d, q, sparse), _default_cost(rows, d, q, sparse), ""
    if cost + more <= budget:
        cost += more
    else:
        omitted = (
            f"A round of {FOLDS} folds with it should take {cost + more:,.0f} s. "
            f"The budget is {budget:g} s. Pass a larger budget."
        )
    rounds = max(int(min(budget, _MOST_ROUNDS * cost) // cost), 1)
    return Design(rows, rounds, rounds * FOLDS, judged, omitted=omitted)


def choose_by_rarity(
    Y: sp.csr_array,
    labels: NDArray[np.intp],
    size: int,
    rng: np.random.Generator,
    unknown: sp.csr_array | None = None,
) -> NDArray[np.intp]:
    """Choose rows at random, but as many of each label as there are folds, the rarest first.

    At random alone, rare labels would be in too few of the rows to be learned or judged. So would
    be the rows without a label that most rows have.
    """
    Y, unknown = Y[:, labels], None if unknown is None else unknown[:, labels]
    columns = sp.csc_array(minority_matrix(Y, minority_values(Y, unknown), unknown))
    chosen = np.zeros(Y.shape[0], dtype=bool)
    left = size
    for j in np.argsort(np.diff(columns.indptr), kind="stable").tolist():
        rows = columns.indices[columns.indptr[j] : columns.indptr[j + 1]]
        lacking = min(FOLDS - int(chosen[rows].sum()), left)
        if lacking > 0:
            more = rng.permutation(rows[~chosen[rows]])[:lacking]
            chosen[more] = True
            left -= len(more)
    chosen[rng.permutation(np.flatnonzero(~chosen))[:left]] = True
    return np.flatnonzero(chosen)


def _round_cost(n: int, d: int, q: int, sparse: bool) -> float:
    """Return the seconds that a round should take on one core, from fits of several shapes.

    A forest is fitted about seven times in a fold (samplers add rows), a regression 14 times
    (thresholds take folds of their own, and an ensemble has members).
    """
    if sparse:
        return FOLDS * 14 * q * (2e-3 + 1e-5 * n)
    fit = TREES * (2e-3 + 1.6e-7 * n * math.log2(n + 2) * math.sqrt(d) * (1 + 0.08 * q))
    return FOLDS * 7 * fit


def _default_cost(n: int, d: int, q: int, sparse: bool) -> float:
    """Return the seconds that RareLabelClassifier should take in a round, as above."""
    kernel = 3e-10 * n * min(n, 2500) ** 2
    if sparse:
        return FOLDS * (0.45 + 1.2e-3 * n + kernel)
    forests = 0.3 + 1.6e-5 * n * math.log2(n + 2) * math.sqrt(d) * (1 + 0.08 * q)
    # A tree has at most 31 leaves, and fewer where that would leave them too few rows.
    boosting = 4 * q * (0.02 + 1e-4 * n + 2e-4 * d * min(n / 30, 31))
    return FOLDS * (forests + kernel + (boosting if q <= 32 else 0))


def make_learner(data: Data, *, n_jobs: int | None) -> Any:
    """Return the learner of the comparison: a forest, or a regression for sparse rows."""
    if data.kind == "sparse":
        return BinaryRelevance(LogisticRegression(solver="liblinear"), n_jobs=n_jobs)
    largest = max(np.nanmax(data.X, initial=0.0), -np.nanmin(data.X, initial=0.0))
    if largest > np.finfo(np.float32).max:
        raise InputError(
            "The forests of advise need numbers up to 3.4e38",
            "X has larger numbers",
            "Scale X down, or pass an estimator that accepts them",
        )
    forest: Any = RandomForestClassifier(TREES, random_state=0, n_jobs=n_jobs)
    if data.unknown is not None:
        forest = BinaryRelevance(forest)
    nominal = np.flatnonzero(data.categorical).tolist()
    if not nominal:
        return forest
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encode = make_column_transformer((words, nominal), remainder="passthrough")
    return Pipeline([("encode", encode), ("forest", forest)])


def make_estimator(
    name: str, learner: Any, data: Data, seed: int, n_jobs: int | None = None
) -> Any:
    """Return a candidate, ready to fit."""
    if name == DEFAULT:
        return RareLabelClassifier(random_state=seed, n_jobs=n_jobs)
    learner = set_random_states(clone(learner), seed)
    if name in ("nothing", "thresholds"):
        return LabelThresholds(learner, random_state=seed) if name == "thresholds" else learner
    if name == "class weights":
        return learner.set_params(**dict.fromkeys(_weight_parameters(learner), "balanced"))
    if name == "MLSOLBagging":
        # Columns that a transformer knows by number cannot be left out.
        share: dict[str, Any] = {"max_features": 1.0} if isinstance(learner, Pipeline) else {}
        sampler = make_sampler(name, data, seed) if has_gaps(data) else None
        return MLSOLBagging(member_of(learner), sampler, **share, random_state=seed)
    return make_pipeline(make_sampler(name, data, seed), learner)


def make_sampler(name: str, data: Data, seed: int) -> Any:
    """Return the sampler of a candidate, which takes missing values where there are some."""
    if name == "MLSOLBagging":
        sampler: Any = MLSOL(sampling_ratio=1.0)  # seeded by the ensemble
    else:
        sampler = SAMPLERS[name](random_state=seed)
    if has_gaps(data) and "missing" in sampler.get_params():
        sampler.set_params(missing="distance")
    return sampler


def member_of(learner: Any) -> Any:
    """Return a learner whose forest has a fifth of the trees, as many as before in all members.

    Boosted trees build on each other: a fifth of them would be another model.
    """
    parts = {"": learner, **{f"{name}__": part for name, part in learner.get_params().items()}}
    trees = {
        f"{prefix}n_estimators": max(part.n_estimators // _MEMBERS, 1)
        for prefix, part in parts.items()
        if isinstance(part, (RandomForestClassifier, ExtraTreesClassifier))
    }
    return clone(learner).set_params(**trees)


def has_gaps(data: Data) -> bool:
    """Say whether some cell of X is missing."""
    return bool(np.isnan(stored_values(data.X)).any())


def _weight_parameters(learner: Any) -> list[str]:
    return [name for name in learner.get_params() if name.rpartition("__")[2] == "class_weight"]


def choose_candidates(learner: Any, design: Design, *, own: bool) -> tuple[str, ...]:
    """Return what is tried, simplest first, with a user's own learner or that of `advise`."""
    names = [name for name in CANDIDATES if name != DEFAULT]
    if not design.omitted:
        names.insert(len(names) if own else CANDIDATES.index(DEFAULT), DEFAULT)
    weighs = bool(_weight_parameters(learner))
    return tuple(name for name in names if name != "class weights" or weighs)


@dataclass(frozen=True)
class CandidateResult:
    """What the folds say about one candidate.

    Attributes
    ----------
    name : str
        The candidate.
    folds : dict of str to ndarray
        Each measure of each fold.
    failed : str
        Why it could not be tried; empty if it could.
    """

    name: str
    folds: dict[str, NDArray[np.float64]]
    failed: str = ""

    def mean(self, measure: str) -> float:
        """Return the mean of a measure over the folds."""
        return float(self.folds[measure].mean())


@dataclass(frozen=True)
class Comparison:
    """What is compared: candidates by name, and what they are made of."""

    names: tuple[str, ...]
    learner: Any
    data: Data
    n_jobs: int | None

    def make(self, name: str, seed: int) -> Any:
        """Return a candidate, ready to fit."""
        return make_estimator(name, self.learner, self.data, seed, self.n_jobs)


def compare_folds(
    compared: Comparison,
    design: Design,
    judged: NDArray[np.intp],
    rng: np.random.Generator,
) -> Iterator[dict[str, dict[str, float] | LabelanceError]]:
    """Yield, fold by fold, the measures of every candidate or why it failed."""
    data = compared.data
    X, Y = data.features.container.native, mark_unknown(data.Y, data.unknown).toarray()
    if data.unknown is None:
        Y = Y.astype(label_dtype(Y.shape[1]), copy=False)
    for round_seed in draw_seeds(rng, design.n_rounds):
        splitter = IterativeStratifiedKFold(FOLDS, shuffle=True, random_state=round_seed)
        for number, (train, test) in enumerate(splitter.split(X, Y)):
            if len(train) > design.n_learned + 1:  # a fold may be a row smaller than others
                hidden = take_unknown(data.unknown, train)
                some = choose_by_rarity(data.Y[train], judged, design.n_learned, rng, hidden)
                train = train[some]
            rows = take_rows(X, train), Y[train], take_rows(X, test), Y[test]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of labels that a fold lacks, listed once as facts
                found = _measure_all(compared, rows, judged, round_seed + number)
            yield found


def _measure_all(
    compared: Comparison, rows: tuple[Any, ...], judged: NDArray[np.intp], seed: int
) -> dict[str, dict[str, float] | LabelanceError]:
    X, Y, X_test, Y_test = rows
    found: dict[str, dict[str, float] | LabelanceError] = {}
    with loop("Trying", len(compared.names), "candidates") as progress:
        tuned = compared.make("thresholds", seed).fit(X, Y)
        scores = tuned.predict_proba(X_test)  # those of the learner itself, which is fitted once
        found["nothing"] = _measure(Y_test, scores, _decide(tuned.estimator_, scores), judged)
        found["thresholds"] = _measure(Y_test, scores, scores >= tuned.thresholds_, judged)
        progress.advance(len(found))
        for name in [name for name in compared.names if name not in found]:
            try:
                model = compared.make(name, seed).fit(X, Y)
            except LabelanceError as error:  # such as nothing to sample
                found[name] = error
            else:
                scores = relevance(model, X_test)  # margins have their threshold at 0.5, too
                found[name] = _measure(Y_test, scores, _decide(model, scores), judged)
            progress.advance()
    return {name: found[name] for name in compared.names}


def _decide(model: Any, scores: NDArray[Any]) -> NDArray[Any]:
    """Return decisions by the thresholds of a model, or of the end of a pipeline; else by 0.5."""
    last = model[-1] if isinstance(model, Pipeline) else model
    cuts = getattr(last, "thresholds_", None)
    return scores > 0.5 if cuts is None else scores >= cuts


def _measure(
    Y: NDArray[Any], scores: NDArray[Any], predicted: NDArray[Any], judged: NDArray[np.intp]
) -> dict[str, float]:
    """Return the measures over the judged labels that the test rows have."""
    here = judged[(Y[:, judged] == 1).any(axis=0)]
    Y, scores, predicted = Y[:, here], scores[:, here], predicted[:, here]
    return {
        "macro_f1": macro_f1(Y, predicted),
        "macro_auc_roc": macro_auc_roc(Y, scores, undefined="skip"),
        "macro_auc_pr": macro_auc_pr(Y, scores),
        "neg_macro_brier_loss": -macro_brier_loss(Y, np.clip(scores, 0, 1)),
    }


Results = tuple[CandidateResult, ...]


def gather(folds: list[dict[str, dict[str, float] | LabelanceError]]) -> Results:
    """Return an outcome for every candidate, from all folds."""
    outcomes = []
    for name in folds[0]:
        parts = [fold[name] for fold in folds]
        error = next((part for part in parts if isinstance(part, LabelanceError)), None)
        if error is not None:
            outcomes.append(CandidateResult(name, {}, str(error)))
            continue
        values = {m: np.array([part[m] for part in parts]) for m in MEASURES}  # type: ignore[index]
        outcomes.append(CandidateResult(name, values))
    return tuple(outcomes)


@dataclass(frozen=True)
class ConfidenceInterval:
    """A mean difference, its standard error, and the ends of its 95 % interval."""

    mean: float
    error: float
    low: float
    high: float


def paired_interval(difference: NDArray[np.float64]) -> ConfidenceInterval:
    """Return the mean of differences over folds and how certain it is.

    Folds share training rows, so their differences vary less than those of new data would; the
    variance has the correction of Nadeau and Bengio (2003) for that, with a test part of a
    quarter of the training part. All measures have a width of 1, beyond which no difference lies.
    """
    J, mean = len(difference), float(difference.mean())
    if J < 2:
        return ConfidenceInterval(mean, math.inf, -math.inf, math.inf)
    error = math.sqrt((1 / J + 1 / (FOLDS - 1)) * float(difference.var(ddof=1)))
    reach = error * float(student.ppf(0.975, J - 1))
    return ConfidenceInterval(mean, error, max(mean - reach, -1.0), min(mean + reach, 1.0))


def simplest(outcomes: Results, measure: str) -> CandidateResult:
    """Return the simplest candidate within one standard error of the best.

    The rule of Breiman et al. (1984); the error is that of the paired difference.
    """
    tried = [one for one in outcomes if not one.failed]
    best = max(tried, key=lambda one: one.mean(measure))
    for one in tried:
        gap = paired_interval(best.folds[measure] - one.folds[measure])
        if gap.mean <= gap.error:
            return one
    return best
