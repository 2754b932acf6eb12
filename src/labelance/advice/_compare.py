"""A small stratified comparison: how large, of what, and what its folds say together."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from imblearn.pipeline import make_pipeline
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.pipeline import Pipeline

from labelance._arrays._cells import label_dtype
from labelance._arrays._containers import column_counts, stored_values
from labelance._arrays._labels import mark_unknown
from labelance._arrays._open import take_rows
from labelance._classifier import check_takes_weights, relevance
from labelance._progress import loop
from labelance._utils._random import draw_seeds, set_random_states
from labelance._validation._data import Data, take_unknown
from labelance.advice._learners import Learner, has_gaps
from labelance.decisions import LabelThresholds
from labelance.decisions._held_out import CV_FOLDS, has_bags
from labelance.ensemble import MLSOLBagging, RareLabelClassifier
from labelance.exceptions import InputError, LabelanceError
from labelance.imbalance._local import minority_matrix, minority_values
from labelance.metrics import macro_auc_pr, macro_auc_roc, macro_brier_loss, macro_f1
from labelance.model_selection import IterativeStratifiedKFold
from labelance.sampling import MLROS, MLSMOTE, MLSOL

FOLDS = 5
_MOST_ROUNDS = 4
_FEWEST_ROWS = 300
_MOST_ROWS = 5000  # of the comparison, four fifths of which are learned from
_MOST_JUDGED = 20_000
_MEMBERS = 5  # of MLSOLBagging, which share the trees of a forest
_SHORTEST = (80, 160)  # rows of the least learning curve
_COPIES = 1.3  # rows after a sampler, next to those before
_GOES_ON, _UNSURE = 0.8, 0.4  # of a curve's slope: what is left of it beyond, and how uncertain

SAMPLERS = {"MLROS": MLROS, "MLSMOTE": MLSMOTE, "MLSOL": MLSOL}
RESAMPLING = (*SAMPLERS, "MLSOLBagging")
DEFAULT = "RareLabelClassifier"
# Simplest and cheapest first: of those that are as good as the best, the first is advised. The
# default needs no choice of a learner; it is last where it would replace a user's.
CANDIDATES = ("nothing", "thresholds", "class weights", DEFAULT, *RESAMPLING)
_ALWAYS = ("nothing", "thresholds")
_NO_NUMBERS = "It makes rows of numbers, and X has none."
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
    names : tuple of str
        What is compared, simplest first.
    n_judged : int
        Rows that are split into folds. All rows of a test fold are judged, also where fewer than
        the others are learned from.
    n_run : int
        Folds that were run, the same or, where the time was up, fewer.
    interrupted : bool
        Whether Ctrl-C ended the comparison.
    omitted : dict of str to str
        Why other candidates are not compared.
    """

    n_rows: int
    n_rounds: int
    n_folds: int
    n_judged: int
    names: tuple[str, ...] = ()
    n_run: int = 0
    interrupted: bool = False
    omitted: dict[str, str] = field(default_factory=dict)

    @property
    def n_learned(self) -> int:
        """The most rows that are learned from in a fold."""
        return _learned(self.n_rows)


@dataclass(frozen=True, eq=False)
class Costs:
    """What can be compared under a learner, simplest first, and why others cannot.

    What it should take is counted from the shapes of a learner's fits.
    """

    learner: Learner
    names: tuple[str, ...]
    omitted: dict[str, str]
    width: float  # cells of a row that are not 0

    def candidate(self, name: str, n: int) -> float:
        """Return the seconds of a fit to n rows, with its thresholds."""
        if name == DEFAULT:
            return self.learner.default_seconds(n)
        fits = 1.0
        if name == "thresholds" and not has_bags(self.learner.make(n)):
            fits = CV_FOLDS  # of all rows, and of folds without a third of them
        elif name == "MLSOLBagging":
            trees = has_bags(self.learner.make(n))
            fits = _COPIES * (1 if trees else _MEMBERS)
        elif name in SAMPLERS:
            fits = _COPIES
        neighbors = 1e-10 * n * n * (self.width + 20) if name in ("MLSMOTE", "MLSOL") else 0.0
        return fits * self.learner.seconds(n) + neighbors + 0.005

    def round(self, names: Iterable[str], n: int) -> float:
        """Return the seconds of five folds of candidates that learn from n rows."""
        # What "nothing" gives is known before thresholds are found.
        return FOLDS * sum(self.candidate(name, n) for name in names if name != "nothing")

    def curve(self, name: str, sizes: tuple[int, ...]) -> float:
        """Return the seconds of a learning curve: five folds of every size."""
        return FOLDS * sum(self.candidate(name, size) for size in sizes)


def find_costs(learner: Learner, data: Data, *, own: bool, why_not: str = "") -> Costs:
    """Return what can be compared with a user's own learner or that of `advise`."""
    omitted = dict.fromkeys(RESAMPLING, _NO_NUMBERS) if data.features.only_rows else {}
    if why_not:
        omitted[DEFAULT] = why_not
    order = [*(name for name in CANDIDATES if name != DEFAULT), DEFAULT] if own else CANDIDATES
    weighs = bool(_weight_parameters(learner.make(data.n_samples)))
    names = (name for name in order if weighs or name != "class weights")
    names = (name for name in names if name not in omitted)
    return Costs(learner, tuple(names), omitted, stored_values(data.X).size / data.n_samples)


def choose_design(n: int, costs: Costs, budget: float) -> Design:
    """Choose rows, rounds and candidates by counted costs, not by a clock.

    All rows (5,000 at most) if two rounds of them fit into the budget, else fewer, down to 300;
    then as many rounds as fit, from one to four. Where rows are left, half of the budget is left
    for the learning curve. A candidate is compared if a round with it fits.
    """
    rows, judged = min(n, _MOST_ROWS), min(n, _MOST_JUDGED)
    folds = _MOST_ROUNDS * FOLDS
    if budget == math.inf:
        return Design(rows, _MOST_ROUNDS, folds, judged, costs.names, omitted=costs.omitted)
    plain = [name for name in costs.names if name != DEFAULT]
    while rows > _FEWEST_ROWS and 2 * costs.round(plain, _learned(rows)) > budget:
        rows = max(rows * 4 // 5, _FEWEST_ROWS)
    most = budget
    if rows < n:
        most = min(budget / 2, budget - costs.curve("thresholds", _SHORTEST))
    kept, omitted = list(_ALWAYS), dict(costs.omitted)
    for name in [*plain, *(set(costs.names) & {DEFAULT})]:
        cost = costs.round({*kept, name}, _learned(rows))
        left = most
        if name == DEFAULT:  # of which a curve has to be possible, too
            curves = [costs.curve(one, _SHORTEST) for one in ("thresholds", name)]
            left = budget if rows == n else budget - max(curves)
        if name in kept or cost <= left:
            kept.append(name)
        else:
            omitted[name] = (
                f"A round of {FOLDS} folds with it should take {cost:,.0f} s. "
                f"The budget leaves {max(left, 0.0):.3g} s for it. Pass a larger budget."
            )
    names = tuple(name for name in costs.names if name in kept)
    cost = costs.round(names, _learned(rows))
    rounds = max(int(min(most, _MOST_ROUNDS * cost) // cost), 1)
    return Design(rows, rounds, rounds * FOLDS, judged, names, omitted=omitted)


def least_seconds(n: int, costs: Costs) -> float:
    """Return what the smallest comparison should take."""
    least = costs.round(_ALWAYS, _learned(min(n, _FEWEST_ROWS)))
    return least + (costs.curve("thresholds", _SHORTEST) if n > _FEWEST_ROWS else 0.0)


def _learned(rows: int) -> int:
    return rows * (FOLDS - 1) // FOLDS


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
    steps = [step for _, step in learner.steps] if type(learner) is Pipeline else [learner]
    return make_pipeline(make_sampler(name, data, seed), *steps)


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


def _weight_parameters(learner: Any) -> list[str]:
    """Return what balances classes: of classifiers, or of what fits each to a label."""
    params = learner.get_params()
    own = [name for name in params if name.rpartition("__")[2] == "class_weight"]
    if own:
        return own
    found = [name for name in params if name.rpartition("__")[2] == "label_weight"]
    try:
        for name in found:
            prefix = name.removesuffix("label_weight")
            check_takes_weights(params[f"{prefix}estimator"], caller="advise")
    except InputError:
        return []
    return found


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
    seconds : float
        How long a fit took by the clock, the mean over folds.
    """

    name: str
    folds: dict[str, NDArray[np.float64]]
    failed: str = ""
    seconds: float = 0.0

    def mean(self, measure: str) -> float:
        """Return the mean of a measure over the folds."""
        return float(self.folds[measure].mean())


@dataclass(frozen=True)
class FoldResult:
    """The measures of a candidate in a fold, and the seconds of its fit; or why it failed."""

    measures: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    failed: str = ""


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Candidates by name, what they learn from in folds, and labels that are judged."""

    names: tuple[str, ...]
    learner: Learner
    data: Data
    judged: NDArray[np.intp]
    n_jobs: int | None

    @cached_property
    def _labels(self) -> NDArray[Any]:
        Y = mark_unknown(self.data.Y, self.data.unknown).toarray()
        known = self.data.unknown is None
        return np.asarray(Y.astype(label_dtype(Y.shape[1]), copy=False) if known else Y)

    def folds(self, design: Design, rng: np.random.Generator) -> Iterator[dict[str, FoldResult]]:
        """Yield, fold by fold, what is found for every candidate."""
        data = self.data
        for round_seed in draw_seeds(rng, design.n_rounds):
            for number, (train, test) in enumerate(self._split(round_seed)):
                if len(train) > design.n_learned + 1:  # a fold may be a row smaller than others
                    hidden, most = take_unknown(data.unknown, train), design.n_learned
                    train = train[choose_by_rarity(data.Y[train], self.judged, most, rng, hidden)]
                yield self._try_all(train, test, round_seed + number)

    def curve(
        self, name: str, sizes: tuple[int, ...], rng: np.random.Generator
    ) -> Iterator[FoldResult]:
        """Yield what a candidate finds in five folds of each size, drawn at random."""
        (seed,) = draw_seeds(rng, 1)
        folds = [(rng.permutation(train), test) for train, test in self._split(seed)]
        for size in sizes:
            for train, test in folds:
                yield self._try(name, train[:size], test, seed)

    @property
    def chance(self) -> float:
        """How much a mean over labels changes with the rows that are judged: 0.5 / sqrt(m) of each.

        A rare label has few positives, m, in folds that all are of the same rows.
        """
        counts = column_counts(self.data.Y)[self.judged]
        return float(np.sqrt((0.25 / counts).sum()) / len(counts))

    def _split(self, seed: int) -> Iterator[tuple[Any, Any]]:
        splitter = IterativeStratifiedKFold(FOLDS, shuffle=True, random_state=seed)
        yield from splitter.split(np.empty((self.data.n_samples, 1)), self._labels)

    def _try_all(self, train: Any, test: Any, seed: int) -> dict[str, FoldResult]:
        found = {}
        with loop("Trying", len(self.names), "candidates") as progress:
            tuned, seconds = self._fit("thresholds", train, seed)
            scores = self._scores(tuned, test)  # those of the learner itself, fitted once
            fits = 1 if has_bags(tuned.estimator) else CV_FOLDS
            for name, model in (("nothing", tuned.estimator_), ("thresholds", tuned)):
                own = seconds / fits if name == "nothing" else seconds
                found[name] = FoldResult(self._measure(test, scores, model), own)
            progress.advance(len(found))
            for name in [name for name in self.names if name not in found]:
                found[name] = self._try(name, train, test, seed)
                progress.advance()
        return {name: found[name] for name in self.names}

    def _try(self, name: str, train: Any, test: Any, seed: int) -> FoldResult:
        try:
            model, seconds = self._fit(name, train, seed)
        except LabelanceError as error:  # such as nothing to sample
            return FoldResult(failed=str(error))
        return FoldResult(self._measure(test, self._scores(model, test), model), seconds)

    def _fit(self, name: str, train: Any, seed: int) -> tuple[Any, float]:
        learner = self.learner.make(len(train))
        model = make_estimator(name, learner, self.data, seed, self.n_jobs)
        X = take_rows(self.data.features.container.native, train)
        start = perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of labels that a fold lacks, listed once as facts
            model.fit(X, self._labels[train])
        return model, perf_counter() - start

    def _scores(self, model: Any, test: Any) -> NDArray[Any]:
        """Return scores; margins have their threshold at 0.5, too."""
        return np.asarray(relevance(model, take_rows(self.data.features.container.native, test)))

    def _measure(self, test: Any, scores: NDArray[Any], model: Any) -> dict[str, float]:
        """Return the measures over the judged labels that the test rows have."""
        Y, predicted = self._labels[test], _decide(model, scores)
        here = self.judged[(Y[:, self.judged] == 1).any(axis=0)]
        Y, scores, predicted = Y[:, here], scores[:, here], predicted[:, here]
        return {
            "macro_f1": macro_f1(Y, predicted),
            "macro_auc_roc": macro_auc_roc(Y, scores, undefined="skip"),
            "macro_auc_pr": macro_auc_pr(Y, scores),
            "neg_macro_brier_loss": -macro_brier_loss(Y, np.clip(scores, 0, 1)),
        }


def _decide(model: Any, scores: NDArray[Any]) -> NDArray[Any]:
    """Return decisions by the thresholds of a model, or of the end of a pipeline; else by 0.5."""
    last = model[-1] if isinstance(model, Pipeline) else model
    cuts = getattr(last, "thresholds_", None)
    return scores > 0.5 if cuts is None else scores >= cuts


Results = tuple[CandidateResult, ...]


def gather(folds: list[dict[str, FoldResult]]) -> Results:
    """Return an outcome for every candidate, from all folds."""
    outcomes = []
    for name in folds[0]:
        parts = [fold[name] for fold in folds]
        failed = next((part.failed for part in parts if part.failed), "")
        values = {m: np.array([part.measures[m] for part in parts]) for m in MEASURES if not failed}
        seconds = float(np.mean([part.seconds for part in parts]))
        outcomes.append(CandidateResult(name, values, failed, seconds))
    return tuple(outcomes)


@dataclass(frozen=True)
class ConfidenceInterval:
    """A mean difference, its standard error, and the ends of its 95 % interval.

    Fewer than five folds say too little for an interval: its ends are NaN.
    """

    mean: float
    error: float
    low: float
    high: float


def paired_interval(difference: NDArray[np.float64], more: float = 0.0) -> ConfidenceInterval:
    """Return the mean of differences over folds and how certain it is.

    Folds share training rows, so their differences vary less than those of new data would; the
    variance has the correction of Nadeau and Bengio (2003) for that, with a test part of a
    quarter of the training part. All measures have a width of 1, beyond which no difference lies.
    ``more`` is a standard error from another source.
    """
    J, mean = len(difference), float(difference.mean())
    error = math.inf
    if J > 1:
        error = math.hypot(
            math.sqrt((1 / J + 1 / (FOLDS - 1)) * float(difference.var(ddof=1))), more
        )
    if J < FOLDS:
        return ConfidenceInterval(mean, error, math.nan, math.nan)
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


# --- figures for all rows -------------------------------------------------------------------------


@dataclass(frozen=True)
class Estimate:
    """What a learning curve says about a fit to all rows.

    Attributes
    ----------
    n_rows : int
        All rows.
    mean, low, high : float
        The measure, and its 95 % interval: an estimate, for nothing was learned from all rows.
    sizes : tuple of int
        Rows that were learned from.
    measured : tuple of float
        What was measured at each, the mean of five folds.
    """

    n_rows: int
    mean: float
    low: float
    high: float
    sizes: tuple[int, ...]
    measured: tuple[float, ...]


def choose_sizes(name: str, n: int, costs: Costs, design: Design, left: float) -> tuple[int, ...]:
    """Return the sizes of a learning curve, each twice the one before, that fit into the budget.

    Three, or else two, which leave the slope less certain. None where all rows are learned from,
    four fifths at a time.
    """
    if design.n_rows == n:
        return ()
    left -= design.n_rounds * costs.round(design.names, design.n_learned)
    left *= 1 + 1e-9  # for rounding
    top, shortest = design.n_judged * (FOLDS - 1) // FOLDS, _SHORTEST[-1]
    while top > shortest and costs.curve(name, (top // 4, top // 2, top)) > left:
        top = max(top * 4 // 5, shortest)
    curves = (top // 4, top // 2, top), (top // 2, top)
    return next((one for one in curves if top >= shortest and costs.curve(name, one) <= left), ())


def extrapolate(
    n: int, sizes: tuple[int, ...], values: NDArray[np.float64], chance: float = 0.0
) -> Estimate:
    """Return what a measure should be for n rows, from its values (sizes x folds).

    A line by the logarithm of the rows continues from the largest size, in each fold. Curves bend,
    or have not begun to rise: the slope itself is uncertain by a share. ``chance`` is the standard
    error that other test rows would bring.
    """
    x = np.log(sizes)
    away = math.log(n / sizes[-1])
    slopes = (x - x.mean()) @ values / ((x - x.mean()) ** 2).sum()
    rise = _GOES_ON * max(float(slopes.mean()), 0.0) * away
    turned = values[-1] + _GOES_ON * (slopes - slopes.mean()) * away
    found = paired_interval(turned, math.hypot(_UNSURE * rise, chance))
    middle = min(found.mean + rise, 1.0)
    reach = found.high - found.mean
    measured = tuple(float(one) for one in values.mean(axis=1))
    return Estimate(n, middle, max(middle - reach, 0.0), min(middle + reach, 1.0), sizes, measured)
