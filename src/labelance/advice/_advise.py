"""``advise``: look at the data, compare, and say what to do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from numbers import Real
from textwrap import fill
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

from labelance._arrays._containers import column_counts
from labelance._arrays._labels import LabelSets
from labelance._classifier import why_all_known
from labelance._progress import is_interactive, loop, show_progress
from labelance._utils._notebook import draw_result
from labelance._utils._random import as_generator, set_random_states
from labelance._validation._categorical import name_columns
from labelance._validation._data import Data, validate_data
from labelance.advice._compare import (
    DEFAULT,
    FOLDS,
    MEASURES,
    RESAMPLING,
    TREES,
    CandidateResult,
    Comparison,
    ConfidenceInterval,
    Design,
    Results,
    choose_by_rarity,
    choose_candidates,
    choose_design,
    compare_folds,
    gather,
    has_gaps,
    make_estimator,
    make_learner,
    make_sampler,
    member_of,
    paired_interval,
    simplest,
)
from labelance.advice._facts import DataFacts, summarize_data
from labelance.decisions._held_out import check_no_single_label_estimator
from labelance.exceptions import InputError, TooFewRowsError
from labelance.learners import BaseMultiLabelClassifier, BinaryRelevance
from labelance.neighbors._find import warn_of_dominant_columns

Measure = Literal["macro_f1", "macro_auc_roc", "macro_auc_pr", "neg_macro_brier_loss"]

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
    DEFAULT: "Use RareLabelClassifier: nothing that was tried is clearly better.",
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
    outcomes : tuple of CandidateResult
        What was compared, in order of simplicity, with the figures of every fold.
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
    outcomes: Results
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
            "candidates": [self._candidate(one) for one in self.outcomes],
        }

    def _candidate(self, one: CandidateResult) -> dict[str, Any]:
        if one.failed:
            return {"name": one.name, "failed": one.failed}
        return {
            "name": one.name,
            **{
                measure: {"mean": one.mean(measure), "gain": asdict(self.gain(one.name, measure))}
                for measure in MEASURES
            },
        }

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
        head = f"{'':20}" + "".join(f"{_SHORT[m]:>9}" for m in MEASURES) + f"  {gain:>24}"
        return "\n".join([head, *(self._line(one) for one in self.outcomes)])

    def _line(self, one: CandidateResult) -> str:
        if one.failed:
            return f"{one.name:20}  could not be tried: {one.failed}"
        means = "".join(f"{one.mean(m):9.3f}" for m in MEASURES)
        return f"{one.name:20}{means}  {_interval(self.gain(one.name)):>24}"

    def _repr_html_(self) -> str:
        tried = [one for one in self.outcomes if not one.failed]
        first, _, rest = self.verdict.partition(". ")
        return draw_result(
            f"{first.removesuffix('.')}.",
            {
                "": [one.name for one in tried],
                **{_SHORT[m]: [one.mean(m) for one in tried] for m in MEASURES},
                "gain": [_interval(self.gain(one.name)) for one in tried],
            },
            things="candidates",
            facts=[
                rest,
                str(self.facts),
                *(
                    f"{one.name} could not be tried: {one.failed}"
                    for one in self.outcomes
                    if one.failed
                ),
            ],
            code=self.code,
        )


def _gain(one: CandidateResult, base: CandidateResult, measure: str) -> ConfidenceInterval:
    return paired_interval(one.folds[measure] - base.folds[measure])


def _interval(gain: ConfidenceInterval) -> str:
    return f"{gain.mean:+.3f} ({gain.low:+.3f} … {gain.high:+.3f})"


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
    """Look at data, compare what can be done about their imbalance, and say what to do.

    Compared are, under one strong learner: nothing, thresholds of their own for all labels, class
    weights, the samplers MLROS, MLSMOTE and MLSOL, and the ensemble MLSOLBagging of five members
    (with a fifth of the trees each). :class:`~labelance.RareLabelClassifier`, which has learners of
    its own, is compared with them if the budget allows it. Advised is the simplest of those that
    are as good as the best, up to one standard error; often that is not to resample.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n, d)
        The features. Nominal ones are categorical columns of a frame.
    y : array, sparse matrix or data frame of shape (n, q)
        The labels, 0 or 1; NaN where unknown. Then every label learns, and is judged, in the rows
        in which it is known, by a forest of its own unless an estimator is given.
    estimator : classifier, optional
        The learner; a random forest of 100 trees unless given, or a logistic regression for every
        label where X is sparse. Then RareLabelClassifier is advised where nothing is better, but
        for the learner as it is. A given learner is replaced by it only if all that was tried with
        that learner is worse.
    measure : {"macro_f1", "macro_auc_roc", "macro_auc_pr", "neg_macro_brier_loss"}
        What decides, "macro_f1" by default: decisions. The two areas judge rankings, the Brier
        loss probabilities.
    budget : float or None, default=120
        Seconds. They decide, by what the shape of the data should cost on one core, how many
        rows are learned from, how many rounds of 5 folds are planned and whether
        RareLabelClassifier is compared; and no fold is begun when they are over (two are run in
        any case). None plans four rounds of 5,000 rows and
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
    in fewer rows than there are folds, or lacking in fewer, are not judged.

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
    >>> [one.name for one in advice.outcomes if not one.failed]
    ['nothing', 'thresholds', 'MLROS', 'MLSMOTE', 'MLSOL', 'MLSOLBagging']
    >>> advice.design.omitted
    'A round of 5 folds with it should take 25 s. The budget is 1 s. Pass a larger budget.'
    >>> advice.estimator.fit(X, y).predict(X).shape
    (300, 4)
    """
    start = perf_counter()
    _check_known(measure, budget)
    if estimator is not None:
        _check_classifier(estimator)
    needs_all = None if estimator is None else why_all_known(estimator)
    data = validate_data(X, y, caller="advise", missing="keep", needs_all=needs_all)
    _check_known_often(data)
    rng = as_generator(random_state)
    n, d, q = data.n_samples, data.X.shape[1], data.Y.shape[1]
    design = choose_design(n, d, q, sparse=data.kind == "sparse", budget=budget)
    seen = data
    if design.n_judged < n:
        seen = data.take(
            choose_by_rarity(data.Y, _judgeable(data), design.n_judged, rng, data.unknown)
        )
    judged = _judgeable(seen)
    if not len(judged):
        raise TooFewRowsError(
            f"advise needs a label that at least {FOLDS} rows have and at least {FOLDS} rows lack",
            f"No label has both among {seen.n_samples} rows",
            "Pass more rows, or only the labels that matter",
        )
    warn_of_dominant_columns("advise", data.features, cure="")
    watched = bool(verbose) and is_interactive(notebooks=True)
    with show_progress(watched), loop("Describing", seen.n_samples, "rows"):
        facts = summarize_data(data, seen, judged)
    own = estimator is not None
    learner = estimator if own else make_learner(data, n_jobs=n_jobs)
    compared = Comparison(choose_candidates(learner, design, own=own), learner, seen, n_jobs)
    with show_progress(watched):
        stop = None if budget is None else start + budget
        folds, interrupted = _run(compare_folds(compared, design, judged, rng), design, stop)
    outcomes = gather(folds)
    if design.omitted:
        outcomes += (CandidateResult(DEFAULT, {}, design.omitted),)
    design = replace(design, n_run=len(folds), interrupted=interrupted)
    advised = simplest(outcomes, measure)
    return Advice(
        advised=advised.name,
        verdict=_verdict(advised, outcomes, measure, facts, design, own=own),
        estimator=make_estimator(advised.name, learner, data, 0, n_jobs),
        code=_code(advised.name, data, estimator),
        measure=measure,
        facts=facts,
        outcomes=outcomes,
        design=design,
        seconds=perf_counter() - start,
    )


def _run(comparison: Iterator[Any], design: Design, stop: float | None) -> tuple[list[Any], bool]:
    """Return the folds that are finished when the time is up, and whether Ctrl-C ended it."""
    folds: list[Any] = []
    try:
        with loop("Comparing", design.n_folds, "folds") as progress:
            for fold in comparison:
                folds.append(fold)
                progress.advance()
                if stop is not None and len(folds) > 1 and perf_counter() > stop:
                    break
    except KeyboardInterrupt:
        if len(folds) < 2:  # one says nothing of how certain it is
            raise
        return folds, True
    return folds, False


def _check_known(measure: Any, budget: Any) -> None:
    if measure not in MEASURES:
        raise InputError(
            f"measure must be one of {MEASURES}", f"Got {measure!r}", f"Try measure={MEASURES[0]!r}"
        )
    if budget is not None and not (isinstance(budget, Real) and float(budget) > 0):
        raise InputError(
            "budget must be a number of seconds > 0", f"Got budget={budget!r}", "Try budget=120"
        )


def _check_classifier(estimator: Any) -> None:
    if isinstance(estimator, type) or not all(map(partial(hasattr, estimator), ("fit", "predict"))):
        raise InputError(
            "estimator must be a classifier, or None",
            f"Got {estimator!r}",
            "Pass an unfitted classifier, such as RandomForestClassifier()",
        )
    if not any(map(partial(hasattr, estimator), ("predict_proba", "decision_function"))):
        raise InputError(
            "estimator must have predict_proba or decision_function",
            f"{type(estimator).__name__} has neither",
            "Pass a classifier, such as RandomForestClassifier() or "
            "labelance.learners.BinaryRelevance(LogisticRegression())",
        )
    check_no_single_label_estimator(estimator, caller="advise")


def _judgeable(seen: Data) -> NDArray[np.intp]:
    """Return the labels that every fold can have with and without."""
    counts = column_counts(seen.Y)
    return np.flatnonzero(np.minimum(counts, seen.labels.n_known - counts) >= FOLDS)


def _check_known_often(data: Data) -> None:
    """Raise for labels of which a fold may know nothing."""
    seldom = np.flatnonzero(data.labels.n_known < FOLDS)
    if data.unknown is not None and len(seldom):
        raise TooFewRowsError(
            f"advise needs labels that are known in at least {FOLDS} rows",
            f"Fewer are known of labels {name_columns(seldom, data.labels.names)}",
            "Drop these columns of y",
        )


def _verdict(
    advised: CandidateResult,
    outcomes: Results,
    measure: str,
    facts: DataFacts,
    design: Design,
    *,
    own: bool,
) -> str:
    words = [_ADVICE.get(advised.name, f"Resample with {advised.name}.")]
    if advised.name == DEFAULT and own:
        words = [f"Replace your learner by {DEFAULT}: all that was tried with yours is worse."]
    words += [_sentence_of_gain(advised, outcomes, measure, _coverage(facts, design))]
    words += [_sentence_of_samplers(advised, outcomes, measure)]
    words += [_sentence_of_default(advised, outcomes, measure, own=own)]
    if measure == "macro_f1":
        words += [_sentence_of_ranking(outcomes)]
    words += [_sentence_of_data(facts)]
    if design.n_run < design.n_folds:
        why = "It was interrupted" if design.interrupted else "The time was up"
        words += [f"{why} after {design.n_run} of {design.n_folds} folds."]
    return " ".join(filter(None, words))


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
    return f"{gain.mean:+.3f}, with a 95 % interval from {gain.low:+.3f} to {gain.high:+.3f}"


def _sentence_of_samplers(advised: CandidateResult, outcomes: Results, measure: str) -> str:
    """Say what the best sampler does against what is advised."""
    tried = [one for one in outcomes if not one.failed and one.name in RESAMPLING]
    if not tried:
        return "No sampler could be tried."
    best = max(tried, key=lambda one: one.mean(measure))
    return _sentence_against(best, ", the best of what resamples,", advised, measure)


def _sentence_of_default(
    advised: CandidateResult, outcomes: Results, measure: str, *, own: bool
) -> str:
    """Say what RareLabelClassifier does against what is advised, or why it was not tried."""
    found = next(one for one in outcomes if one.name == DEFAULT)
    if found.failed:
        return f"{DEFAULT} was not compared. {found.failed}"
    words = ", which would replace your learner," if own else ""
    return _sentence_against(found, words, advised, measure)


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
    if facts.n_constant:
        be = "is" if facts.n_constant == 1 else "are"
        words.append(
            f"{facts.n_constant} of {facts.n_labels} labels {be} constant, in all rows or in none: "
            "leave them out."
        )
    rare = facts.n_unjudged - facts.n_constant
    if rare:
        be, was = ("is", "was") if rare == 1 else ("are", "were")
        words.append(
            f"{rare} of {facts.n_labels} labels {be} in (or lacking in) fewer than "
            f"{FOLDS} rows and {was} not judged."
        )
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


def _code(name: str, data: Data, estimator: Any) -> str:
    """Return Python that makes the advised estimator and fits it."""
    if name == DEFAULT:
        return f"from labelance import {name}\n\nmodel = {name}(random_state=0).fit(X, y)\n"
    imports, learner = _learner_code(name, data, estimator)
    more_imports, labels = _labels_code(name, data, estimator)
    imports, more = imports + more_imports, ""
    if name == "thresholds":
        imports = f"from labelance.decisions import LabelThresholds\n{imports}"
        learner = f"LabelThresholds({learner}, random_state=0)"
        more = "# A limit of labels per row: BudgetClassifier. A recall to keep: RecallGuarantee\n"
    elif name == "class weights":
        more = "weights = [name for name in model.get_params() if name.endswith('class_weight')]\n"
        more += "model.set_params(**dict.fromkeys(weights, 'balanced'))\n"
    elif name == "MLSOLBagging":
        share = "max_features=1.0, " if learner.startswith("Pipeline") else ""
        if has_gaps(data):
            imports = f"from labelance.sampling import MLSOL\n{imports}"
            share = f"{make_sampler(name, data, 0)!r}, {share}"
        imports = f"from labelance.ensemble import MLSOLBagging\n{imports}"
        learner = f"MLSOLBagging({learner}, {share}random_state=0)"
    elif name != "nothing":
        imports = f"from labelance.sampling import {name}\n{imports}"
        imports = f"from imblearn.pipeline import make_pipeline\n{imports}"
        learner = f"make_pipeline({make_sampler(name, data, 0)!r}, {learner})"
    return f"{imports}\nmodel = {learner}\n{more}{labels}model.fit(X, y)\n"


def _labels_code(name: str, data: Data, estimator: Any) -> tuple[str, str]:
    """Return an import and a line that make y a dense table, for learners that take no other."""
    per_label = estimator is None and (data.kind == "sparse" or data.unknown is not None)
    own = BinaryRelevance if per_label else type(estimator)
    if issubclass(own, BaseMultiLabelClassifier) or name in ("thresholds", "MLSOLBagging"):
        return "", ""
    if isinstance(data.labels.container, LabelSets):
        what = "MultiLabelBinarizer"
        return f"from sklearn.preprocessing import {what}\n", f"y = {what}().fit_transform(y)\n"
    return "", "y = y.toarray()\n" if data.labels.container.kind == "sparse" else ""


def _learner_code(name: str, data: Data, estimator: Any) -> tuple[str, str]:
    """Return imports and the expression of the learner."""
    member = name == "MLSOLBagging"
    if estimator is not None:
        learner = set_random_states(clone(estimator), 0)  # as in the estimator that is advised
        return _imports(learner), repr(member_of(learner) if member else learner)
    if data.kind == "sparse":
        return (
            "from labelance.learners import BinaryRelevance\n"
            "from sklearn.linear_model import LogisticRegression\n",
            "BinaryRelevance(LogisticRegression(solver='liblinear'))",
        )
    forest = RandomForestClassifier(TREES, random_state=0)
    words = repr(member_of(forest) if member else forest)
    imports = "from sklearn.ensemble import RandomForestClassifier\n"
    if data.unknown is not None:
        imports = f"from labelance.learners import BinaryRelevance\n{imports}"
        words = f"BinaryRelevance({words})"
    nominal = np.flatnonzero(data.categorical).tolist()
    if not nominal:
        return imports, words
    return (
        "from sklearn.compose import make_column_transformer\n"
        f"{imports}"
        "from sklearn.pipeline import Pipeline\n"
        "from sklearn.preprocessing import OneHotEncoder\n"
        "\nencode = make_column_transformer(\n"
        f"    (OneHotEncoder(handle_unknown='ignore', sparse_output=False), {nominal}),\n"
        "    remainder='passthrough',\n)\n",
        f"Pipeline([('encode', encode), ('forest', {words})])",
    )


def _imports(estimator: Any) -> str:
    """Return the imports of an estimator and of all that are inside it."""
    inside = (value for value in estimator.get_params().values() if hasattr(value, "get_params"))
    kinds = {type(one) for one in (estimator, *inside)}
    return "".join(sorted(f"from {_public_module(one)} import {one.__name__}\n" for one in kinds))


def _public_module(kind: type) -> str:
    """Return the module that a class is imported from: the part before private modules."""
    parts = kind.__module__.split(".")
    private = next((i for i, part in enumerate(parts) if part.startswith("_")), len(parts))
    return ".".join(parts[:private]) or kind.__module__
