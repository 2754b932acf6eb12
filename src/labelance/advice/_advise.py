"""``advise``: look at the data, find a learner, compare, and say what to do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import ceil, inf, isnan
from numbers import Real
from textwrap import fill
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from labelance._arrays._containers import column_counts
from labelance._arrays._labels import LabelSets
from labelance._progress import is_interactive, loop, show_progress
from labelance._utils._notebook import draw_result
from labelance._utils._random import as_generator
from labelance._utils._threads import check_n_jobs
from labelance._validation._arguments import check_choice
from labelance._validation._categorical import name_columns
from labelance._validation._data import Data
from labelance.advice._code import write_expression, write_imports
from labelance.advice._compare import (
    DEFAULT,
    FOLDS,
    MEASURES,
    RESAMPLING,
    CandidateResult,
    ConfidenceInterval,
    Costs,
    CrossValidation,
    Design,
    Estimate,
    Results,
    choose_by_rarity,
    choose_design,
    choose_sizes,
    extrapolate,
    find_costs,
    gather,
    least_seconds,
    make_estimator,
    paired_interval,
    simplest,
)
from labelance.advice._facts import DataFacts, Rows, open_rows, summarize_data
from labelance.advice._learners import LearnerRace, LearnerTrial, check_for_trees, own_learner
from labelance.decisions._held_out import check_no_single_label_estimator
from labelance.exceptions import LABEL, InputError, TooFewRowsError, arg
from labelance.learners import BaseMultiLabelClassifier
from labelance.neighbors._find import warn_of_dominant_columns

Measure = Literal["macro_f1", "macro_auc_roc", "macro_auc_pr", "neg_macro_brier_loss"]

_RACE_SHARE = 0.2  # of the budget, for the first question

_WORDS = {
    "macro_f1": "macro F",
    "macro_auc_roc": "macro AUC-ROC",
    "macro_auc_pr": "macro AUCPR",
    "neg_macro_brier_loss": "the negative Brier loss",
}
_SHORT = {
    "macro_f1": "F",
    "macro_auc_roc": "AUC-ROC",
    "macro_auc_pr": "AUCPR",
    "neg_macro_brier_loss": "-Brier",
}
_ADVICE = {
    "nothing": "Do not resample: nothing that was tried is clearly better than the plain learner.",
    "thresholds": "Do not resample; choose a threshold for every label.",
    "class weights": "Do not resample; weight the classes.",
    "MLSOLBagging": "Use MLSOLBagging, an ensemble that resamples for every member.",
    DEFAULT: "Use RareLabelClassifier: nothing simpler that was tried is as good.",
}


@dataclass(frozen=True, eq=False, repr=False)
class Advice:
    """What to do about imbalance in some data, and why; made by :func:`advise`.

    Print it, or take it on with `to_dict` and `to_json`, which are the same for the same data, seed
    and folds.

    Attributes
    ----------
    advised : str
        "nothing", "thresholds", "class weights", or the name of a sampler or classifier.
    verdict : str
        The same in sentences, with figures.
    estimator : estimator
        What is advised, ready to fit; a classifier of scikit-learn to a dense table of labels.
    code : str
        Python that makes it, and a dense table of labels if it needs one.
    measure : str
        What decided.
    facts : DataFacts
        What the data look like.
    race : tuple of LearnerTrial
        Which learners were tried first, and their log losses; empty with a learner of your own.
    outcomes : tuple of CandidateResult
        What was compared under the best of them, in order of simplicity, with the figures of every
        fold.
    estimate : Estimate or None
        What the advised measure should be with all rows, where only some were learned from.
    design : Design
        How large the comparison was, and how much of it was run.
    seconds : float
        How long it took.
    """

    advised: str
    verdict: str
    estimator: Any
    code: str
    measure: str
    facts: DataFacts
    race: tuple[LearnerTrial, ...]
    outcomes: Results
    estimate: Estimate | None
    design: Design
    seconds: float

    def gain(self, name: str, measure: str | None = None) -> ConfidenceInterval:
        """Return the difference of a candidate from doing nothing, with its 95 % interval.

        Parameters
        ----------
        name : str
            A candidate, such as "MLSOL".
        measure : str, optional
            One of the measures; that which decided unless given.

        Returns
        -------
        ConfidenceInterval
            With ``mean``, ``error``, ``low`` and ``high``.
        """
        by_name = {one.name: one for one in self.outcomes}
        return _gain(by_name[name], by_name["nothing"], measure or self.measure)

    def to_dict(self) -> dict[str, Any]:
        """Return the advice as plain values, without the time that it took."""
        return {
            "advised": self.advised,
            "verdict": self.verdict,
            "measure": self.measure,
            "code": self.code,
            "data": asdict(self.facts),
            "design": asdict(self.design),
            "race": [_plain(one._asdict()) for one in self.race],
            "candidates": [self._candidate(one) for one in self.outcomes],
            "estimate": self.estimate and asdict(self.estimate),
        }

    def _candidate(self, one: CandidateResult) -> dict[str, Any]:
        if one.failed:
            return {"name": one.name, "failed": one.failed}
        found: dict[str, Any] = {"name": one.name}
        for measure in MEASURES:
            gain = _plain(asdict(self.gain(one.name, measure)))
            found[measure] = {"mean": one.mean(measure), "gain": gain}
        return found

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    def __str__(self) -> str:
        facts = fill(f"The data: {self.facts}", 88)
        lines = [fill(self.verdict, 88), "", facts, "", self._table(), "", self.code.rstrip()]
        return "\n".join(lines)

    __repr__ = __str__

    def _table(self) -> str:
        """Return the means of all measures, and the interval of the one that decided."""
        gain = f"gain in {_SHORT[self.measure]}"
        head = (
            f"{'':20}" + "".join(f"{_SHORT[m]:>9}" for m in MEASURES) + f"{'fit s':>8}  {gain:>24}"
        )
        return "\n".join([head, *(self._line(one) for one in self.outcomes)])

    def _line(self, one: CandidateResult) -> str:
        if one.failed:
            return f"{one.name:20}  could not be tried: {one.failed}"
        means = "".join(f"{one.mean(m):9.3f}" for m in MEASURES)
        return f"{one.name:20}{means}{one.seconds:8.2f}  {_interval(self.gain(one.name)):>24}"

    def _repr_html_(self) -> str:
        tried = [one for one in self.outcomes if not one.failed]
        first, _, rest = self.verdict.partition(". ")
        columns = {
            "": [one.name for one in tried],
            **{_SHORT[m]: [one.mean(m) for one in tried] for m in MEASURES},
            "fit s": [one.seconds for one in tried],
            "gain": [_interval(self.gain(one.name)) for one in tried],
        }
        facts = [rest, str(self.facts), *(self._line(one) for one in self.outcomes if one.failed)]
        title = f"{first.removesuffix('.')}."
        return draw_result(title, columns, things="candidates", facts=facts, code=self.code)


def _gain(one: CandidateResult, base: CandidateResult, measure: str) -> ConfidenceInterval:
    return paired_interval(one.folds[measure] - base.folds[measure])


def _interval(gain: ConfidenceInterval) -> str:
    if isnan(gain.low):
        return f"{gain.mean:+.3f}"
    return f"{gain.mean:+.3f} ({gain.low:+.3f} … {gain.high:+.3f})"


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Return values as JSON has them: None in place of NaN and infinity."""
    strange = (name for name, value in values.items() if isinstance(value, float))
    return values | {name: None for name in strange if not np.isfinite(values[name])}


def advise(
    X: Any,
    y: Any,
    *,
    estimator: Any = None,
    measure: Measure = "macro_f1",
    budget: float | None = 120,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 1,
) -> Advice:
    """Look at data, find a learner, compare what can be done about imbalance, and say what to do.

    First, which learner: logistic regression, a network, forests and boosted trees learn from a
    sample, and the one of least log loss on other rows is chosen. Then, what to do under it:
    nothing, thresholds of their own for all labels, class weights, the samplers MLROS, MLSMOTE and
    MLSOL, or the ensemble MLSOLBagging of five members. :class:`~labelance.RareLabelClassifier`,
    which has learners of its own, is compared with them. Candidates that the budget does not allow
    are left out, and named. Advised is the simplest of those that are as good as the best, up to
    one standard error; often that is not to resample.

    Parameters
    ----------
    X : array, sparse matrix, data frame, or list of texts
        The features of n rows. Nominal ones are categorical columns of a frame, which may have
        columns of texts and of vectors, too; ids and dates are left out.
    y : array, sparse matrix or data frame of shape (n, q)
        The labels, 0 or 1; NaN where unknown. Then every label learns, and is judged, in the rows
        in which it is known.
    estimator : classifier, optional
        The learner, such as a pipeline that reads texts; then there is no race. It is replaced by
        RareLabelClassifier only if all that was tried with it is worse.
    measure : {"macro_f1", "macro_auc_roc", "macro_auc_pr", "neg_macro_brier_loss"}
        What decides, "macro_f1" by default: decisions. The two areas judge rankings, the Brier
        loss probabilities.
    budget : float or None, default=120
        Seconds. They decide, by what the shape of the data should cost on one core, how many
        rows are learned from, how many rounds of 5 folds are planned and what is compared; and no
        fold is begun when they are over (two are run in any case). Too few for any comparison are
        refused before work, with what would be enough. None plans four rounds of 5,000 rows and
        looks at no clock.
    random_state : int, RandomState, Generator or None, default=0
        For rows, folds, samplers and learners. The same seed gives the same advice if the same
        folds were run; ``design.n_run`` tells how many.
    n_jobs : int, optional
        Trees (or labels) fitted at a time, of the learner made here and of RareLabelClassifier; an
        ``estimator`` has its own.
    verbose : int, default=1
        1 shows on a terminal or in a notebook how far the comparison is; 0 does not.

    Returns
    -------
    Advice
        The verdict, the estimator, code to copy, and all figures. If Ctrl-C ends the comparison
        after two folds or more, the advice is that of the finished folds, and says so; before,
        ``KeyboardInterrupt`` is raised.

    See Also
    --------
    labelance.study.Study : A comparison of any size.
    labelance.imbalance.profile : More about the data.

    Notes
    -----
    A difference over folds has the standard error of Nadeau and Bengio, which accounts for training
    rows that folds share; the rule of one standard error is that of Breiman et al. Labels that are
    in fewer rows than there are folds, or lacking in fewer, are not judged. Fewer than five folds
    give no interval.

    Where only some rows are learned from, what is advised also learns from two or three sizes, each
    twice the one before. A line by the logarithm of the rows, flatter beyond the last, gives
    ``estimate``: what the measure should be with all rows.

    References
    ----------
    .. [1] C. Nadeau and Y. Bengio, Inference for the generalization error. Machine Learning 52,
           2003.
    .. [2] L. Breiman, J. Friedman, R. Olshen and C. Stone, Classification and Regression Trees,
           section 3.4.3. 1984.

    Examples
    --------
    >>> from labelance import advise
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = make_multilabel_imbalanced(300, n_labels=4, random_state=0)
    >>> advice = advise(X, y, estimator=KNeighborsClassifier(10), budget=1)
    >>> [one.name for one in advice.outcomes][:2]
    ['nothing', 'thresholds']
    >>> "RareLabelClassifier" in advice.design.omitted
    True
    >>> advice.estimator.fit(X, y).predict(X).shape
    (300, 4)
    """
    start = perf_counter()
    _check_known(measure, budget)
    check_n_jobs(n_jobs)
    if estimator is not None:
        _check_classifier(estimator)
    own, rng = estimator is not None, as_generator(random_state)
    rows = open_rows(X, y, estimator)
    data = rows.data
    n = data.n_samples
    _check_judgeable(data)
    watched = bool(verbose) and is_interactive(notebooks=True)
    with show_progress(watched):
        costs, trials = _find_learner(estimator, rows, budget, n_jobs, rng)
    learner = costs.learner
    left = inf if budget is None else (1.0 if own else 1 - _RACE_SHARE) * budget
    design = choose_design(n, costs, left)
    seen = data
    if design.n_judged < n:
        chosen = choose_by_rarity(data.Y, _judgeable(data), design.n_judged, rng, data.unknown)
        seen = data.take(chosen)
    judged = _judgeable(seen)
    if not data.features.only_rows:
        warn_of_dominant_columns("advise", data.features, cure="")
    with show_progress(watched), loop("Describing", seen.n_samples, "rows"):
        facts = summarize_data(data, seen, judged, rows)
    compared = CrossValidation(design.names, learner, seen, judged, n_jobs)
    stop = None if budget is None else start + budget
    with show_progress(watched):
        folds, interrupted = _run(compared.folds(design, rng), design.n_folds, stop, least=2)
    outcomes = gather(folds)
    outcomes += tuple(CandidateResult(one, {}, why) for one, why in design.omitted.items())
    design = replace(design, n_run=len(folds), interrupted=interrupted)
    name, estimate = simplest(outcomes, measure).name, None
    sizes = choose_sizes(name, n, costs, design, left)
    if sizes and not interrupted:
        with show_progress(watched):
            estimate = _estimate(compared, sizes, (name, measure, n), stop, rng)
    model = make_estimator(name, learner.make(n), data, 0, n_jobs)
    advice = Advice(
        name, "", model, _code(name, model, rows), measure, facts, trials, outcomes, estimate,
        design, perf_counter() - start,
    )  # fmt: skip
    return replace(advice, verdict=_verdict(advice, learner.words, own=own))


def _find_learner(
    estimator: Any, rows: Rows, budget: float | None, n_jobs: int | None, rng: Any
) -> tuple[Costs, tuple[LearnerTrial, ...]]:
    """Return what can be compared under the learner, and what the race saw."""
    data, seconds = rows.data, inf if budget is None else float(budget)
    n = data.n_samples
    if estimator is not None:
        learner, why_not = own_learner(estimator, data, rows.groups, rng)
        costs = find_costs(learner, data, own=True, why_not=why_not)
        _check_enough(least_seconds(n, costs), seconds)
        return costs, ()
    check_for_trees(data)
    race = LearnerRace.open(data, rows.groups, rng)
    learners = race.learners(n_jobs)
    all_costs = {name: find_costs(one, data, own=False) for name, one in learners.items()}
    least = {name: least_seconds(n, one) / (1 - _RACE_SHARE) for name, one in all_costs.items()}
    # A race without regressions would take a forest for embeddings because it is cheap.
    _check_enough(least["linear"], seconds)
    affordable = [name for name in least if least[name] <= seconds]
    best, trials = race.run(affordable, _RACE_SHARE * seconds, rng)
    return all_costs[best], trials


def _check_enough(least: float, seconds: float) -> None:
    if seconds < least:
        raise InputError(
            f"A comparison of {FOLDS} folds should take {least:.1f} s on such data",
            f"Got {arg('budget', seconds)}",
            f"Try {arg('budget', ceil(least))}",
        )


def _estimate(
    compared: CrossValidation,
    sizes: tuple[int, ...],
    task: tuple[str, str, int],
    stop: float | None,
    rng: np.random.Generator,
) -> Estimate | None:
    """Return what a learning curve says about all rows; None if Ctrl-C ended its first sizes."""
    name, measure, n = task
    folds = compared.curve(name, sizes, rng)
    results, _ = _run(folds, FOLDS * len(sizes), stop, least=2 * FOLDS, needed=False)
    values = [one.measures[measure] for one in results if not one.failed]
    done = len(values) // FOLDS
    if done < 2 or len(values) < len(results):
        return None
    return extrapolate(
        n, sizes[:done], np.reshape(values[: FOLDS * done], (done, FOLDS)), compared.chance
    )


def _run(
    comparison: Iterator[Any], n_folds: int, stop: float | None, *, least: int, needed: bool = True
) -> tuple[list[Any], bool]:
    """Return the folds that are finished when the time is up, and whether Ctrl-C ended it.

    That raises before the ``least`` folds, if they are ``needed``: one fold says nothing of how
    certain it is.
    """
    folds: list[Any] = []
    try:
        with loop("Comparing" if needed else "Learning curve", n_folds, "folds") as progress:
            for fold in comparison:
                folds.append(fold)
                progress.advance()
                if stop is not None and len(folds) >= least and perf_counter() > stop:
                    break
    except KeyboardInterrupt:
        if needed and len(folds) < least:
            raise
        return folds, True
    return folds, False


def _check_known(measure: Any, budget: Any) -> None:
    check_choice("measure", measure, MEASURES)
    if budget is not None and not (isinstance(budget, Real) and float(budget) > 0):
        raise InputError(
            f"{arg('budget')} must be a number of seconds > 0", f"Got {arg('budget', budget)}"
        )


def _check_classifier(estimator: Any) -> None:
    if isinstance(estimator, type) or not all(map(partial(hasattr, estimator), ("fit", "predict"))):
        raise InputError("estimator must be an unfitted classifier, or None", f"Got {estimator!r}")
    if not any(map(partial(hasattr, estimator), ("predict_proba", "decision_function"))):
        found = f"{type(estimator).__name__} has neither"
        raise InputError("estimator must have predict_proba or decision_function", found)
    check_no_single_label_estimator(estimator, caller="advise")


def _judgeable(seen: Data) -> NDArray[np.intp]:
    """Return the labels that every fold can have with and without."""
    counts = column_counts(seen.Y)
    return np.flatnonzero(np.minimum(counts, seen.labels.n_known - counts) >= FOLDS)


def _check_judgeable(data: Data) -> None:
    """Raise where no label can be in every fold, and where one is hardly known."""
    if not len(_judgeable(data)):
        raise TooFewRowsError(
            f"advise needs a label that at least {FOLDS} rows have and at least {FOLDS} rows lack",
            f"No label has both among {data.n_samples} rows",
        )
    seldom = np.flatnonzero(data.labels.n_known < FOLDS)
    if data.unknown is not None and len(seldom):
        raise TooFewRowsError(
            f"advise needs labels that are known in at least {FOLDS} rows",
            f"Fewer are known of labels {name_columns(seldom, data.labels.names, LABEL)}",
        )


def _verdict(advice: Advice, learner: str, *, own: bool) -> str:
    outcomes, measure, design = advice.outcomes, advice.measure, advice.design
    advised = next(one for one in outcomes if one.name == advice.advised)
    words = [_ADVICE.get(advised.name, f"Resample with {advised.name}.")]
    if advised.name == DEFAULT and own:
        words = [f"Replace your learner by {DEFAULT}: all that was tried with yours is worse."]
    words += [_sentence_of_gain(advised, outcomes, measure, _coverage(advice.facts, design))]
    words += [_sentence_of_all_rows(advice)]
    if not own:
        words += [_sentence_of_race(advice.race, learner)]
    words += _sentences_of_others(advised, outcomes, measure, own=own)
    if measure == "macro_f1":
        words += [_sentence_of_ranking(outcomes)]
    words += [_sentence_of_data(advice.facts)]
    if design.n_run < design.n_folds:
        why = "It was interrupted" if design.interrupted else "The time was up"
        words += [f"{why} after {design.n_run} of {design.n_folds} folds."]
    return " ".join(filter(None, words))


def _sentence_of_race(trials: tuple[LearnerTrial, ...], learner: str) -> str:
    """Say which learner the comparison is made with, and why."""
    tried = [one for one in trials if one.n_rows]
    if len(tried) < 2:
        return f"The learner is {learner}."
    return (
        f"The learner is {learner}: of {len(tried)} that were tried on {tried[0].n_rows:,} rows it "
        "had the least log loss."
    )


def _sentence_of_all_rows(advice: Advice) -> str:
    """Say what a learning curve makes of the figures."""
    found, of = advice.estimate, _WORDS[advice.measure]
    if found is None and advice.design.n_rows < advice.facts.n_samples:
        return "More rows may give more: no time was left for an estimate of all rows."
    if found is None:
        return ""
    measured = ", ".join(
        f"{value:.3f} from {size:,}" for size, value in zip(found.sizes, found.measured)
    )
    return (
        f"With all {found.n_rows:,} rows {of} should be about {found.mean:.3f}, an estimate from a "
        f"learning curve ({measured} rows), with a 95 % interval from {found.low:.3f} to "
        f"{found.high:.3f}."
    )


def _coverage(facts: DataFacts, design: Design) -> str:
    """Say which folds, rows and labels the figures are about."""
    of_rows = f"of {facts.n_samples:,} " if facts.n_rows_seen < facts.n_samples else ""
    words = f"{design.n_run} test folds, {facts.n_rows_seen:,} {of_rows}rows"
    if design.n_rows < facts.n_rows_seen:
        words += f" of which {design.n_learned:,} are learned from at a time"
    of_labels = f"{facts.n_labels - facts.n_unjudged:,} of " if facts.n_unjudged else ""
    plural = "" if facts.n_labels == 1 else "s"
    return f"({words}, {of_labels}{facts.n_labels:,} label{plural})"


def _sentence_of_gain(advised: CandidateResult, outcomes: Results, measure: str, of: str) -> str:
    base = outcomes[0]
    if advised is base:
        return f"That gives {_WORDS[measure]} of {base.mean(measure):.3f} {of}."
    gain = _gain(advised, base, measure)
    between = f"{_WORDS[measure]} from {base.mean(measure):.3f} to {advised.mean(measure):.3f} {of}"
    if gain.low > 0:
        return f"That raises {between}: {_bounds(gain)}."
    return f"That may raise {between}, but the gain is not certain: {_bounds(gain)}."


def _bounds(gain: ConfidenceInterval) -> str:
    if isnan(gain.low):
        return f"{gain.mean:+.3f}, in too few folds for an interval"
    return f"{gain.mean:+.3f}, with a 95 % interval from {gain.low:+.3f} to {gain.high:+.3f}"


def _sentences_of_others(
    advised: CandidateResult, outcomes: Results, measure: str, *, own: bool
) -> list[str]:
    """Say what the best sampler and RareLabelClassifier do against what is advised."""
    samplers = [one for one in outcomes if one.name in RESAMPLING]
    tried = [one for one in samplers if not one.failed]
    words = [f"No sampler was tried. {samplers[0].failed}"]
    if tried:
        best = max(tried, key=lambda one: one.mean(measure))
        words = [_sentence_against(best, ", the best of what resamples,", advised, measure)]
    found = next(one for one in outcomes if one.name == DEFAULT)
    if found.failed:
        return [*words, f"{DEFAULT} was not compared. {found.failed}"]
    replaced = ", which would replace your learner," if own else ""
    return [*words, _sentence_against(found, replaced, advised, measure)]


def _sentence_against(
    one: CandidateResult, words: str, advised: CandidateResult, measure: str
) -> str:
    if one is advised:
        return ""
    gain = _gain(one, advised, measure)
    worth = "better" if gain.low > 0 else "not clearly better" if gain.mean > 0 else "no better"
    return f"{one.name}{words} is {worth} with {one.mean(measure):.3f}: {_bounds(gain)}."


def _sentence_of_ranking(outcomes: Results) -> str:
    found = simplest(outcomes, "macro_auc_pr")
    if found.name in ("nothing", "thresholds"):
        return "Nothing that was tried ranks clearly better (AUCPR) than the plain learner."
    gain = _gain(found, outcomes[0], "macro_auc_pr")
    verb = "raises" if gain.low > 0 else "may raise"
    return f"If rankings matter, {found.name} {verb} AUCPR: {_bounds(gain)}."


def _sentence_of_data(facts: DataFacts) -> str:
    words = []
    rare = facts.n_unjudged - facts.n_constant
    for count, are, what in (
        (facts.n_constant, "are", "constant, in all rows or in none: leave them out."),
        (rare, "were", f"not judged: fewer than {FOLDS} rows have (or lack) them."),
    ):
        be = are if count > 1 else {"are": "is", "were": "was"}[are]
        words += [f"{count} of {facts.n_labels} labels {be} {what}"] * (count > 0)
    outliers = facts.type_shares.get("outlier", 0)
    if facts.neighbor_auc < 0.6:
        words.append(
            f"A vote of neighbors ranks hardly better than chance (AUC {facts.neighbor_auc:.2f}): "
            "samplers that place rows between neighbors have little to go by."
        )
    elif outliers > 0.5:
        words.append(
            f"{outliers:.0%} of the minority cells are outliers, with no neighbor of their kind."
        )
    return " ".join(words)


def _code(name: str, model: Any, rows: Rows) -> str:
    """Return Python that makes the advised estimator and fits it."""
    if name == DEFAULT:
        return f"from labelance import {name}\n\nmodel = {name}(random_state=0).fit(X, y)\n"
    imports, labels = _labels_code(model, rows.data)
    more = ""
    if name == "thresholds":
        more = "# A limit of labels per row: BudgetClassifier. A recall to keep: RecallGuarantee\n"
    made = f"model = {write_expression(model)}"
    return f"{imports}{write_imports(model)}\n{made}\n{more}{rows.code}{labels}model.fit(X, y)\n"


def _labels_code(model: Any, data: Data) -> tuple[str, str]:
    """Return an import and a line that make y a dense table, for learners that take no other."""
    while isinstance(model, Pipeline):
        model = model[-1]
    if isinstance(model, BaseMultiLabelClassifier):
        return "", ""
    if isinstance(data.labels.container, LabelSets):
        what = "MultiLabelBinarizer"
        return f"from sklearn.preprocessing import {what}\n", f"y = {what}().fit_transform(y)\n"
    return "", "y = y.toarray()\n" if data.labels.container.kind == "sparse" else ""
