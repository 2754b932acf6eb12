"""Studies by name: the paper's, and what it leaves open."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from labelance._utils._messages import did_you_mean
from labelance.exceptions import StudyError
from labelance.study._design import Component, DataSource, Learner, Method

# The datasets of the paper, by what a study costs on them.
_SMALLEST_FIRST = (
    "flags",
    "genbase",
    "medical",
    "enron",
    "cal500",
    "scene",
    "yeast",
    "yahoo-Business1",
    "bibtex",
    "yahoo-Arts1",
    "corel5k",
    "rcv1subset1",
    "rcv1subset2",
)
PAPER_DATASETS = tuple(sorted(_SMALLEST_FIRST))
SMALL_DATASETS = ("flags", "genbase", "medical", "cal500", "scene", "yeast", "enron")

# The program's MLSMOTE; range-scaled Euclidean distance is its distance everywhere.
_MLSMOTE = {
    "k_neighbors": 5,
    "scale": "range",
    "variant": "mulan",
}


# The paper's ensembles: five members, and thresholds for F on a grid.
_FIVE: dict[str, Any] = {"n_estimators": 5, "objective": "f1", "threshold_search": "grid"}
# Random numbers of the samplers. They once followed from names of parameters that are others now.
_STREAMS = {"MLSMOTE": 3554389521, "RHwRSMT": 2029311701, "MLSOL": 2957388254}
# What Study takes as well as its name.
Arguments = dict[str, Any]


def paper_learners(*, mulan: bool = False) -> tuple[Learner, ...]:
    """Return the paper's six learners; ``mulan`` keeps every rule of the authors' program."""
    variant = {"variant": "mulan"} if mulan else {}
    tuned = {"threshold_search": "grid", "random_state": 1, **variant}
    return (
        Learner("BR", Component("BinaryRelevance")),
        Learner("MLkNN", Component("MLkNN", {"n_neighbors": 10, "smoothing": 1, "scale": "range"})),
        Learner("CLR", Component("CalibratedLabelRanking", variant)),
        Learner("RAkEL", Component("RAkEL", {"labelset_size": 3, "random_state": 0})),
        Learner("COCOA", Component("COCOA", {"n_couples": 10, **tuned})),
        Learner("ECCRU3", Component("ECCRU3", {"n_estimators": 10, **tuned})),
    )


def paper_methods(*, mulan: bool = False) -> tuple[Method, ...]:
    """Return the paper's seven methods: four single ones and three ensembles of five."""
    rule = "mulan" if mulan else "paper"
    samplers = {
        "MLSMOTE": Component("MLSMOTE", _MLSMOTE),
        "RHwRSMT": Component("RHwRSMT", {"resampler": {"class": "MLSMOTE", **_MLSMOTE}}),
        "MLSOL": Component(
            "MLSOL",
            {"sampling_ratio": 0.3, "k_neighbors": 5, "scale": "range", "variant": rule},
        ),
    }
    streams = _STREAMS | ({"MLSOL": 4023280183} if mulan else {})
    singles = [Method(name, sampler, stream=streams[name]) for name, sampler in samplers.items()]
    variant: dict[str, Any] = {"variant": "mulan"} if mulan else {}
    ensembles = [
        Method(name, samplers[of], stream=streams[of], **_FIVE, **variant)
        for name, of in {"EMLSMOTE": "MLSMOTE", "ERHwRSMT": "RHwRSMT", "EMLSOL": "MLSOL"}.items()
    ]
    return (Method("Default"), *singles, *ensembles)


def paper_learner(name: str) -> Learner:
    """Return a learner of the paper by its name."""
    return _of_paper(name, paper_learners(), "learner")


def paper_method(name: str) -> Method:
    """Return a method of the paper by its name."""
    return _of_paper(name, paper_methods(), "method")


def _of_paper(name: str, parts: Any, kind: str) -> Any:
    for part in parts:
        if part.name == name:
            return part
    names = [part.name for part in parts]
    raise StudyError(
        f"A {kind} given by name only must be one of the paper's: {', '.join(names)}",
        f"Got {name!r}",
        f'{did_you_mean(name, names)}Or write a table: {{name = "{name}", ...}}',
    )


def _paper(names: tuple[str, ...] = PAPER_DATASETS, *, mulan: bool = False) -> Arguments:
    return _arguments(_sources(names), paper_learners(mulan=mulan), paper_methods(mulan=mulan))


def _fair() -> Arguments:
    """Add what an ensemble with tuned thresholds must be held against."""
    paper = paper_methods()
    mlsol = paper[3].sampler
    tuned = {**_FIVE, "n_estimators": 1}
    return _arguments(
        _sources(SMALL_DATASETS),
        paper_learners(),
        (
            *paper,
            Method("Tuned", **tuned),
            Method("TunedCV", tune_on="cv", **tuned),
            # One weight for a label's presence means little where problems mix labels.
            Method("Weights", balanced=True, learners=("BR",)),
            Method("Bagging", bootstrap=True, **_FIVE),
            Method("BaggingMLSOL", mlsol, bootstrap="originals", stream=4282023677, **_FIVE),
            Method("EMLSOL-CV", mlsol, tune_on="cv", stream=_STREAMS["MLSOL"], **_FIVE),
        ),
    )


def _rivals() -> Arguments:
    """Add methods of other papers, each as published: samplers, and learners next to BR.

    A sampler is one draw and, with the thresholds of the paper's ensembles, five members. UCLSO
    makes a training set for every label, so it is a learner; its rows for all labels together,
    labels times rows, are nothing that its paper learns from. Learners are binary relevance of
    C4.5 inside, and combine many models already: they stand next to BR, once.
    """
    search = {"k_neighbors": 5, "scale": "range"}
    samplers = {
        "MLBOTE": (Component("MLBOTE", search), 1748093651),
        "LSDMLO": (Component("LSDMLO", {"sampling_ratio": 0.3, **search}), 3061985247),
    }
    uclso = {"class": "UCLSO", "scale": "range", "max_synthetic": 1_000_000_000}
    learners = {
        "PerLabel": Component("PerLabel"),
        "UCLSO": Component("PerLabel", {"sampler": uclso}),
        "IRUS": Component("IRUS"),
        "MCE": Component("MCE", {"scale": "range"}),
    }
    return _arguments(
        _sources(_SMALLEST_FIRST),
        paper_learners()[:2],
        (
            *paper_methods(),
            *(Method(name, sampler, stream=stream) for name, (sampler, stream) in samplers.items()),
            *(
                Method(f"E{name}", sampler, stream=stream, **_FIVE)
                for name, (sampler, stream) in samplers.items()
            ),
            *(Method(name, learner=one, learners=("BR",)) for name, one in learners.items()),
        ),
    )


# The default. A plan that says so is another than those of before 0.85 and the new second level,
# so that results of both never meet.
_STACKED = {"max_features": 0.85}


def _beyond() -> Arguments:
    """Add plain bagging and the ensemble of ours to the paper's seven methods, on its data.

    They have the folds of the paper study, MLSOL's random numbers are those of EMLSOL, and
    thresholds are found as those of all ensembles of the paper are.
    """
    sampler = {"class": "MLSOL", "sampling_ratio": 1.0, "k_neighbors": 5, "scale": "range"}
    thresholds = {"tune_on": "train", "threshold_search": "grid", "shrinkage": 0}
    stacked = Component("StackedBagging", {"sampler": sampler, **_STACKED, **thresholds})
    return _arguments(
        _sources(_SMALLEST_FIRST),
        paper_learners(),
        (
            Method("Bagging", bootstrap=True, **_FIVE),
            Method("MLSOLBagging", ensemble=stacked, stream=_STREAMS["MLSOL"]),
        ),
    )


_REGRESSION = {
    "class": "sklearn.linear_model.LogisticRegression",
    "solver": "liblinear",
    "random_state": 0,
}
_LOGISTIC = Learner("Logistic", Component("BinaryRelevance", {"estimator": _REGRESSION}))


def _practice() -> Arguments:
    """Return what people use, with what they do about imbalance: forests, boosting, regression."""
    forest = {"n_estimators": 100, "random_state": 0}
    boosting = {"class": "sklearn.ensemble.HistGradientBoostingClassifier", "random_state": 0}
    learners = (
        Learner("RandomForest", Component("sklearn.ensemble.RandomForestClassifier", forest)),
        Learner("ExtraTrees", Component("sklearn.ensemble.ExtraTreesClassifier", forest)),
        Learner("Boosting", Component("BinaryRelevance", {"estimator": boosting})),
        _LOGISTIC,
    )
    dense = ("flags", "emotions", "birds", "genbase", "cal500", "scene", "yeast")
    return _arguments(_sources(dense), learners, _practices())


def _practice_sparse() -> Arguments:
    """Return the same with linear models, on text and other sparse data, cheap ones first."""
    machine = {"class": "sklearn.svm.LinearSVC", "random_state": 0}
    learners = (
        _LOGISTIC,
        Learner("LinearSVM", Component("BinaryRelevance", {"estimator": machine})),
    )
    dense = ("flags", "genbase", "cal500", "scene", "yeast")
    of_the_paper = (name for name in _SMALLEST_FIRST if name not in dense)
    sparse = ("langlog", "slashdot", "stackex_chess", *of_the_paper)
    return _arguments(_sources(sparse), learners, _practices())


def _practices() -> tuple[Method, ...]:
    samplers = {
        "MLROS": Component("MLROS"),
        "MLSMOTE": Component("MLSMOTE", {"scale": "range"}),
        "MLSOL": Component("MLSOL", {"scale": "range"}),
    }
    bags = {"class": "MLSOL", "sampling_ratio": 1.0, "scale": "range"}
    return (
        Method("Default"),
        Method("Thresholds", ensemble=Component("LabelThresholds")),
        Method("Weights", balanced=True),
        *(Method(name, sampler) for name, sampler in samplers.items()),
        Method("MLSOLBagging", ensemble=Component("StackedBagging", {"sampler": bags, **_STACKED})),
    )


# What the 28 methods of Bogatinovski et al. (2022) were tested on, by what a study costs on them.
LEADERBOARD_DATASETS = (
    "flags",
    "emotions",
    "birds",
    "genbase",
    "cal500",
    "medical",
    "enron",
    "scene",
    "yeast",
    "corel5k",
    "bibtex",
    "delicious",
)
# These find thresholds themselves.
_DECIDE_THEMSELVES = ("ECCRU3", "EMLSOL", "MLSOLBagging", "RareLabelClassifier")


def _leaderboard() -> Arguments:
    """Return what people use in 2026, untuned, on the data of a published comparison."""
    return _arguments(
        tuple(map(DataSource, LEADERBOARD_DATASETS)),
        (*_linear_and_near(), *_trees(), *_gradient_boosting(), *_ensembles_of_ours()),
        (
            Method("Default"),
            Method("Thresholds", ensemble=Component("LabelThresholds"), without=_DECIDE_THEMSELVES),
        ),
        repeats=1,
        folds=3,
    )


def _linear_and_near() -> tuple[Learner, ...]:
    machine = {"class": "sklearn.svm.LinearSVC", "random_state": 0}
    return (
        _LOGISTIC,
        Learner("LinearSVM", Component("BinaryRelevance", {"estimator": machine})),
        paper_learner("MLkNN"),
    )


def _trees() -> tuple[Learner, ...]:
    forest = {"n_estimators": 100, "random_state": 0}
    return (
        Learner("RandomForest", Component("sklearn.ensemble.RandomForestClassifier", forest)),
        Learner("ExtraTrees", Component("sklearn.ensemble.ExtraTreesClassifier", forest)),
    )


def _gradient_boosting() -> tuple[Learner, ...]:
    """Return boosting, mostly of other libraries: 100 trees for a label, or for all together.

    One thread each, since a study runs several at a time. CatBoost's own number of trees is
    1,000, with a learning rate of 0.03: ten times the cost of the others; it rejects labels that no
    training row has, or all, unless they are allowed. BOOMER takes the threads
    it finds: without threads its release 0.12.3 writes to memory that is not its own.
    """
    boosting = "sklearn.ensemble.HistGradientBoostingClassifier"
    alone = {
        "HistGradientBoosting": {"class": boosting, "random_state": 0},
        "LightGBM": {
            "class": "lightgbm.LGBMClassifier", "n_jobs": 1, "random_state": 0, "verbosity": -1,
        },
        "XGBoost": {"class": "xgboost.XGBClassifier", "n_jobs": 1, "random_state": 0},
    }  # fmt: skip
    together = {"multi_strategy": "multi_output_tree", "n_jobs": 1, "random_state": 0}
    cat = {
        "loss_function": "MultiLogloss", "iterations": 100, "learning_rate": 0.1, "thread_count": 1,
        "random_state": 0, "allow_writing_files": False, "logging_level": "Silent",
        "allow_const_label": True,
    }  # fmt: skip
    return (
        *(
            Learner(name, Component("BinaryRelevance", {"estimator": one}))
            for name, one in alone.items()
        ),
        Learner("XGBoostMulti", Component("xgboost.XGBClassifier", together)),
        Learner("CatBoost", Component("catboost.CatBoostClassifier", cat)),
        Learner("BOOMER", Component("mlrl.boosting.BoomerClassifier", {"random_state": 1})),
    )


def _ensembles_of_ours() -> tuple[Learner, ...]:
    """Return the paper's best ensemble and learner, ours, and the default for rare labels."""
    trees = {"estimator": {"class": "BinaryRelevance"}}
    bags = {"class": "MLSOL", "sampling_ratio": 1.0, "scale": "range"}
    mlsol = {"class": "MLSOL", "sampling_ratio": 0.3, "k_neighbors": 5, "scale": "range"}
    emlsol = {"sampler": mlsol, "n_estimators": 5, "threshold_search": "grid"}
    return (
        paper_learner("ECCRU3"),
        Learner("EMLSOL", Component("EMLSOL", {**trees, **emlsol})),
        Learner("MLSOLBagging", Component("MLSOLBagging", {**trees, "sampler": bags, **_STACKED})),
        Learner("RareLabelClassifier", Component("RareLabelClassifier")),
    )


# With fewer than ten datasets no two of seven methods can differ significantly.
_MADE: dict[str, dict[str, Any]] = {
    "small": {"n_samples": 160},
    "large": {"n_samples": 400},
    "narrow": {"n_features": 5},
    "wide": {"n_features": 60},
    "few-labels": {"n_labels": 4},
    "many-labels": {"n_labels": 25},
    "mild": {"imbalance": 4},
    "severe": {"imbalance": 25},
    "mixed": {"n_categorical": 8},
    "text": {"sparse": True, "n_features": 120},
}


def _quick() -> Arguments:
    """Return a minute's worth, on data that are made when they are needed."""
    make = "labelance.datasets.make_multilabel_imbalanced"
    sources = [
        DataSource(name, make=Component(make, {"n_samples": 240, "random_state": 0, **options}))
        for name, options in _MADE.items()
    ]
    learners = [learner for learner in paper_learners() if learner.name in ("BR", "MLkNN")]
    return _arguments(tuple(sources), tuple(learners), paper_methods(), repeats=2)


def _arguments(
    datasets: tuple[DataSource, ...],
    learners: tuple[Learner, ...],
    methods: tuple[Method, ...],
    **numbers: int,
) -> Arguments:
    return {"datasets": datasets, "learners": learners, "methods": methods, **numbers}


def _sources(names: tuple[str, ...]) -> tuple[DataSource, ...]:
    return tuple(DataSource(name, protocol="paper") for name in names)


PRESETS: dict[str, Callable[[], Arguments]] = {
    "paper": _paper,
    "paper-small": partial(_paper, SMALL_DATASETS),
    "mulan-small": partial(_paper, SMALL_DATASETS, mulan=True),
    "fair": _fair,
    "rivals": _rivals,
    "beyond": _beyond,
    "practice": _practice,
    "practice-sparse": _practice_sparse,
    "leaderboard": _leaderboard,
    "quick": _quick,
}
