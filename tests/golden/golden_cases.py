"""The results that the golden file keeps: every public class and function on fixed data.

Things are called as a user calls them, with X and the labels by position. All names of parameters
of estimators are in OPTIONS, VARIANTS and `prepare`, so that a renamed one is edited in one place;
the names of the results do not contain any.
"""

import inspect
import tempfile
import warnings
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB

from labelance import (
    annotation,
    datasets,
    decisions,
    imbalance,
    metrics,
    model_selection,
    neighbors,
)
from labelance.exceptions import InputError, LabelanceError, LabelanceWarning
from labelance.learners import BinaryRelevance, LabelPowerset, MLkNN
from labelance.sampling import MLROS, MLSMOTE, MLSOL, MLUL, REMEDIAL, RHwRSMT, sample_weights

# ------------------------------------------------------------------------------------------- data


class MissingDataset(Exception):
    """A result needs a dataset that is not on this machine."""


@dataclass(frozen=True)
class Data:
    X: object
    Y: object
    categorical: object = None
    missing: bool = False


def plain(n=120, d=6, seed=0):
    """Rows on a coarse grid, with equal rows and equal distances, and labels of every rarity."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-20, 21, size=(n, d)) / 8
    X[rng.random((n, d)) < 0.3] = 0
    X[1] = X[0]
    score = X @ rng.integers(-4, 5, size=(d, 5)) + rng.integers(-3, 4, size=(n, 5)) / 16
    share = np.array([0.06, 0.15, 0.3, 0.45, 0.8])
    cut = np.sort(score, axis=0)[(n * (1 - share)).astype(int), range(5)]
    return X, (score > cut).astype(np.int64)


def dense():
    return Data(*plain())


def single_precision():
    X, Y = plain(seed=1)
    return Data(X.astype(np.float32), Y)


def sparse():
    X, Y = plain(d=20, seed=2)
    X[:, 4:] *= np.random.default_rng(2).random((len(X), 16)) < 0.2
    return Data(sp.csr_array(X), sp.csr_array(Y))


def mixed():
    """Two nominal columns, as codes, among numeric ones."""
    X, Y = plain(seed=3)
    X[:, 1], X[:, 4] = np.abs(X[:, 1] * 8) % 3, np.abs(X[:, 4] * 8) % 2
    return Data(X, Y, categorical=np.isin(np.arange(6), [1, 4]))


def missing():
    data = mixed()
    data.X[np.random.default_rng(4).random(data.X.shape) < 0.05] = np.nan
    return Data(data.X, data.Y, data.categorical, missing=True)


def generated():
    return Data(*datasets.make_multilabel_imbalanced(120, 6, 5, random_state=0))


def digits():
    """Real pictures of digits; the labels are the lines of a seven-segment display that are lit."""
    X, digit = load_digits(return_X_y=True)
    lit = [
        "1110111",
        "0010010",
        "1011101",
        "1011011",
        "0111010",
        "1101011",
        "1101111",
        "1010010",
        "1111111",
        "1111011",
    ]
    return Data(X[:120], np.array([list(map(int, segments)) for segments in lit])[digit[:120]])


def published(name, n=150):
    """The first rows of a public dataset, where it is on this machine."""
    try:
        whole = datasets.load_dataset(name, download_if_missing=False)
    except LabelanceError as error:
        raise MissingDataset(name) from error
    part = whole.take(np.arange(min(n, whole.Y.shape[0])))
    nominal = part.categorical_features if part.categorical_features.any() else None
    return Data(part.values, part.Y, nominal)


DATA = {make.__name__: make for make in (dense, single_precision, sparse, mixed, missing)}
DATA |= {make.__name__: make for make in (generated, digits)}
PUBLISHED = ("flags", "emotions", "medical")
DATA |= {name: partial(published, name) for name in PUBLISHED}
DATA = {name: cache(make) for name, make in DATA.items()}

# ------------------------------------------------------------------------------------- estimators


def first_rows_without_labels(X, Y):
    """A function for FunctionSampler: leave out rows without labels, and every fifth row."""
    keep = np.flatnonzero(np.asarray(Y.sum(axis=1)).ravel() * (np.arange(Y.shape[0]) % 5))
    return X[keep], Y[keep]


# Arguments of what cannot be made without, or would take long; None leaves a name out.
OPTIONS = {
    "BaseMultiLabelSampler": None,
    "BaseMultiLabelClassifier": None,
    "FunctionSampler": lambda new: new(first_rows_without_labels),
    "SamplerSequence": lambda new: new([REMEDIAL(), MLSOL(), MLUL()]),
    "SOSHF": lambda new: new(4),
    "EMLS": lambda new: new(BinaryRelevance(), MLROS(), tune_on="train"),
    "EMLSOL": lambda new: new(MLkNN(), MLSOL(), tune_on="train"),  # told of the data so
    "EMLSMOTE": lambda new: new(BinaryRelevance(), MLSMOTE(), tune_on="train"),
    "ERHwRSMT": lambda new: new(BinaryRelevance(), RHwRSMT(), tune_on="train"),
    "LabelThresholds": lambda new: new(BinaryRelevance(), shrinkage=0),
    "LabelCalibration": lambda new: new(MLkNN()),
    "RecallGuarantee": lambda new: new(MLkNN(), recall=0.7, too_few="always"),
    "BudgetClassifier": lambda new: new(MLkNN(), per_row=2),
    "StackedBagging": lambda new: new(BinaryRelevance(), MLROS()),
    "MLSOLBagging": lambda new: new(MLkNN(), MLSOL()),
    "RareLabelClassifier": lambda new: new(n_estimators=10),
}

# Other options than the defaults, by a name that stays when a parameter's does not.
VARIANTS = {
    "MLSOL as the authors' program": lambda new: new(variant="mulan"),
    "MLSOL on lines": lambda new: new(interpolation="line"),
    "MLSOL with plain sums": lambda new: new(weighting="sum"),
    "MLSOL scaled": lambda new: new(scale="range", k_neighbors=3, sampling_ratio=0.5),
    "MLUL as the authors' program": lambda new: new(variant="mulan"),
    "MLSMOTE as the authors' program": lambda new: new(
        labelset_strategy="majority", variant="mulan", scale="range"
    ),
    "MLSMOTE with united labelsets": lambda new: new(labelset_strategy="union"),
    "MLSMOTE with common labels": lambda new: new(labelset_strategy="intersection"),
    "MLROS with a fixed maximum": lambda new: new(variant="mulan"),
    "MLRUS from bags": lambda new: new(variant="bags"),
    "MLTL cleaning": lambda new: new(mode="clean", mutual=True),
    "MLTL protecting": lambda new: new(protect_minority=True),
    "MLeNN by Jaccard": lambda new: new(label_distance="jaccard", label_distance_threshold=0.5),
    "BinaryRelevance over a classifier": lambda new: new(GaussianNB()),
    "COCOA as the authors' program": lambda new: new(threshold_search="grid", variant="mulan"),
    "ECC by votes": lambda new: new(
        use_votes=True, threshold="cardinality", chain_features="predicted"
    ),
    "ECC over a classifier": lambda new: new(GaussianNB()),
    "ECCRU3 as the authors' program": lambda new: new(threshold_search="grid", variant="mulan"),
    "ECCRU3 on true labels": lambda new: new(chain_features="true", threshold_search="grid"),
    "C45Classifier unpruned": lambda new: new(prune=False),
    "C45Classifier without raising": lambda new: new(
        subtree_raising=False, collapse=False, mdl_correction=False
    ),
    "C45Classifier with weighted classes": lambda new: new(class_weight="balanced"),
    "CalibratedLabelRanking soft": lambda new: new(soft=True),
    "CalibratedLabelRanking as the authors' program": lambda new: new(variant="mulan"),
    "LabelPowerset by the winner": lambda new: new(proba="winner"),
    "MLkNN scaled": lambda new: new(5, 0.5, scale="standard"),
    "RAkEL of pairs": lambda new: new(labelset_size=2, n_estimators=4),
    "EMLS with bags within": lambda new: new(
        BinaryRelevance(), MLSOL(), bootstrap="parents", max_features=0.6, tune_on="oob"
    ),
    "EMLS on bags": lambda new: new(
        LabelPowerset(), MLSOL(), bootstrap=True, objective="gmean", tune_on="train"
    ),
    "EMLS with bags beside": lambda new: new(
        BinaryRelevance(), MLSOL(), bootstrap="originals", tune_on="train"
    ),
    "EMLS as the authors' program": lambda new: new(
        BinaryRelevance(),
        MLSOL(),
        threshold_search="grid",
        variant="mulan",
        tune_on="train",
    ),
    "LabelThresholds on the training rows": lambda new: new(MLkNN(), tune_on="train", shrinkage=0),
    "LabelThresholds shrunk": lambda new: new(
        MLkNN(), tune_on="train", shrinkage=5, shrink_to="pooled"
    ),
    "LabelCalibration by steps": lambda new: new(MLkNN(), method="isotonic", min_class_count=5),
}


def prepare(estimator, data, n_jobs=None):
    """Set what depends on the data and on the run, wherever the estimator has it."""
    wanted = {"categorical_features": data.categorical, "missing": data.missing and "distance"}
    names = estimator.get_params(deep=True)
    for name in names:
        value = wanted.get(name.rpartition("__")[2])
        if value is not None and value is not False:
            estimator.set_params(**{name: value})
    for name, value in {"random_state": 0, "n_jobs": n_jobs}.items():
        if name in names:
            estimator.set_params(**{name: value})
    return estimator


def new_estimator(package, name, variant=None):
    kind = getattr(import_module(f"labelance.{package}"), name)
    make = VARIANTS[variant] if variant else OPTIONS.get(name, lambda new: new())
    return make(kind)


def same_container(X):
    return X


def resample(new, data, n_jobs=None, container=same_container):
    """Return X, the labels and the rows kept, after sampling."""
    data = DATA[data]()
    sampler = prepare(new(), data, n_jobs)
    X, Y = sampler.fit_resample(container(data.X), container(data.Y))
    return X, Y, getattr(sampler, "sample_indices_", None)


def learn(new, data, n_jobs=None, container=same_container):
    """Return scores and labels for all rows, learned from the first two thirds."""
    data = DATA[data]()
    learner = prepare(new(), data, n_jobs)
    n_train = data.X.shape[0] * 2 // 3
    learner.fit(container(data.X[:n_train]), container(target(learner, data.Y)[:n_train]))
    return learner.predict_proba(container(data.X)), learner.predict(container(data.X))


def target(learner, Y):
    """The labels; for a classifier of one target, which two of them a row has."""
    if learner.__sklearn_tags__().target_tags.multi_output:
        return Y
    first, second = (np.asarray(Y[:, [j]].sum(axis=1)).ravel() for j in (0, 1))
    return first + 2 * second


def quietly(compute):
    """Return the result without warnings, which are not what is promised here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelanceWarning)
        return compute()


def or_refused(compute, *args, **options):
    """What the library refuses is a promise, too."""
    try:
        return compute(*args, **options)
    except InputError:
        return "refused"


def estimator_cases():
    kinds = {"sampling": resample, "learners": learn, "decisions": learn, "ensemble": learn}
    for package, compute in kinds.items():
        for name in public_names(package):
            kind = getattr(import_module(f"labelance.{package}"), name)
            estimator = inspect.isfunction(kind) or hasattr(kind, "get_params")
            if name in NOT_RESULTS or name in FUNCTIONS or not estimator:
                continue
            for data in DATA:
                new = partial(new_estimator, package, name)
                yield f"{package}.{name} on {data}", partial(or_refused, compute, new, data)
    for variant in VARIANTS:
        name = variant.partition(" ")[0]
        package = next(p for p in kinds if name in public_names(p))
        for data in ("dense", "mixed", "flags"):
            new = partial(new_estimator, package, name, variant)
            yield f"{package}.{variant}, on {data}", partial(or_refused, kinds[package], new, data)


# ---------------------------------------------------------------------------------------- functions


def scored():
    """True labels, scores with ties, and predictions; one label is in no row, one in all."""
    rng = np.random.default_rng(5)
    Y = (rng.random((40, 7)) < [0, 0.1, 0.2, 0.4, 0.5, 0.7, 1]).astype(np.int64)
    scores = (Y * 3 + rng.integers(0, 8, size=Y.shape)) / 10
    return Y, scores, (scores > 0.45).astype(np.int64)


def on_scores(measure, **options):
    Y, scores, _ = scored()
    return measure(Y, scores, **options), measure(sp.csr_array(Y), scores.astype("f4"), **options)


def on_predictions(measure, **options):
    Y, _, predicted = scored()
    return measure(Y, predicted, **options), measure(sp.csr_array(Y), predicted, **options)


def on_labels(measure):
    return [measure(DATA[name]().Y) for name in ("dense", "sparse", "generated")]


def on_rows_and_labels(measure):
    return [measure(DATA[name]().X, DATA[name]().Y) for name in ("dense", "sparse", "generated")]


def fitted():
    data = dense()
    return MLkNN().fit(data.X[:80], data.Y[:80]), data


def areas(**options):
    found = metrics.label_areas(*scored()[:2], **options)
    return found.auc_roc, found.auc_pr


def thresholds(**options):
    found = quietly(partial(decisions.find_thresholds, *scored()[:2], **options))
    return found.thresholds, found.n_predicted, found.value, found.interval()


def guaranteed_recall():
    options = [{"confidence": 0.8, "too_few": "always"}, {"too_few": "never"}, {"too_few": "pool"}]
    found = [decisions.guarantee_recall(*scored()[:2], **each) for each in options]
    return [
        (each.thresholds, each.n_predicted, each.low, each.high, each.reasons) for each in found
    ]


def guaranteed_precision():
    options = [{"candidates": [0.9, 0.6, 0.3]}, {"random_state": 0}]
    found = [
        decisions.guarantee_precision(*scored()[:2], precision=0.4, **each) for each in options
    ]
    return [
        (each.thresholds, each.n_predicted, each.low, each.high, each.reasons) for each in found
    ]


def budgets():
    per_row = [{"utility": each, "mix": 0.8} for each in ("macro_f1", "coverage", "precision")]
    options = [
        *[{"per_row": 2, "n_restarts": 2, **each} for each in per_row],
        {"per_label": 5},
        {"total": 30, "utility": "balanced_accuracy"},
    ]
    # Powers break most ties of the scores.
    found = [
        decisions.decide_within_budget(scored()[1] ** 1.3, random_state=0, **each)
        for each in options
    ]
    return [(each.y, each.value, each.of_labels) for each in found]


def suspects():
    found = annotation.suspect_labels(*scored()[:2])
    return list(found["reason"]), found.drop(columns="reason")


def budget_rules():
    Y, scores, _ = scored()
    found = [decisions.find_budget_rule(Y, scores, per_row=k) for k in (2, None)]
    return [(each.weights, each.value, each.predict(scores, random_state=0)) for each in found]


def report():
    Y, _, predicted = scored()
    found = metrics.imbalance_report(Y, predicted)
    return found.precision, found.recall, found.specificity, found.g_mean, found.f1, found.irlbl


def scorers():
    learner, data = fitted()
    names = sorted(metrics.SCORERS.keys() - {*PROBABILITY_SCORERS, *SCORERS_AT_K})
    return [metrics.get_label_scorer(name)(learner, data.X, data.Y) for name in names]


SCORERS_AT_K = ("coverage_at_k", "macro_f1_at_k", "macro_recall_at_k")
PROBABILITY_SCORERS = ("neg_macro_brier_loss", "neg_macro_calibration_error")


def probability_scorers():
    learner, data = fitted()
    return [metrics.get_label_scorer(name)(learner, data.X, data.Y) for name in PROBABILITY_SCORERS]


def bins(**options):
    found = metrics.calibration_bins(*scored()[:2], **options)
    return found.count, found.score, found.share, found.error


def joint_scorer():
    learner, data = fitted()
    return sorted(
        metrics.get_joint_scorer("macro_f1", "macro_auc_pr")(learner, data.X, data.Y).items()
    )


def spread(**options):
    results = []
    for data in (dense(), sparse(), generated()):
        found = imbalance.local_distribution(data.Y, neighbors.find_neighbors(data.X, 5), **options)
        results.append((found.C, found.types, found.weights, found.minority_value))
    return results


def labelsets(Y):
    found = imbalance.labelsets(Y)
    return found.sets, found.frequencies, found.membership


def profile(X, Y):
    found = imbalance.profile(X, Y)
    overall = found.cardinality, found.density, found.mean_ir, found.cvir, found.scumble, found.tcs
    return *overall, found.label_counts, found.irlbl, found.imr, found.type_counts


def near(data, **options):
    data = DATA[data]()
    if data.missing:
        options["missing"] = "distance"
    found = neighbors.find_neighbors(data.X, 5, categorical_features=data.categorical, **options)
    return found.indices, found.distances


def folds(name, *args, **options):
    """Return the rows of every test set, for labels of several kinds."""
    splitter = getattr(model_selection, name)(*args, random_state=0, **options)
    groups = np.arange(120) // 4 if "Group" in name else None
    return [
        [test for _, test in splitter.split(data.X, data.Y, groups)]
        for data in (dense(), sparse(), generated())
    ]


def split_quality(measure):
    data = dense()
    fold = np.arange(120) % 3
    return (
        measure(fold) if measure is model_selection.examples_distribution else measure(data.Y, fold)
    )


def described(data):
    """All of a dataset but the words about it."""
    nominal = [None if values is None else list(values) for values in data.categories]
    names = list(data.feature_names), list(data.label_names)
    return data.values, data.Y, *names, data.categorical_features, nominal


def mixed_dataset():
    data = missing()
    values = [("a", "b b", "c'") if j == 1 else ("no", "yes") if j == 4 else None for j in range(6)]
    return datasets.MultiLabelDataset(data.X, data.Y, categories=values)


def written(format):
    """The text of a file, or what comes back from one whose bytes are another package's."""
    data = datasets.MultiLabelDataset(*plain()) if format in ("libsvm", "npz") else mixed_dataset()
    with tempfile.TemporaryDirectory() as folder:
        path = datasets.write_multilabel(data, Path(folder) / f"data.{format}")
        if format in ("npz", "parquet"):
            return described(datasets.read_multilabel(path))
        return [file.read_bytes() for file in sorted(Path(folder).iterdir())]


def read(ending, text, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"data{ending}"
        path.write_text(text)
        return described(datasets.read_multilabel(path, **options))


DENSE_ARFF = """% a comment
@relation 'things: -C 2'
@attribute y1 {0,1}
@attribute 'y 2' {0,1}
@attribute width numeric
@attribute "the colour" {red, 'dark blue', green}
@data
1,0, 2.5e-3, red
0,1, ?, 'dark blue'
1,1, -7, ?
"""
SPARSE_ARFF = """@relation things
@attribute width real
@attribute colour {red,blue}
@attribute depth integer
@attribute y1 {0,1}
@attribute y2 {0,1}
@data
{0 1.5, 3 1}
{}
{1 blue, 2 -3, 4 1}
"""
TABLE = "width;colour;y1;y2\n1.5;red;1;0\n;blue;0;1\n-2e3;red;1;1\n"


def read_arff():
    return read(".arff", DENSE_ARFF), read(".arff", SPARSE_ARFF, labels=["y1", "y2"])


def read_tables():
    options = {"labels": ["y1", "y2"]}
    return (
        read(".csv", TABLE, separator=";", **options),
        read(".csv", TABLE.replace(";", ","), **options),
        read(".tsv", TABLE.replace(";", "\t"), **options),
    )


def read_classes():
    text = DENSE_ARFF.replace("y1 {0,1}", "y1 {0,1,2}")
    return read(".arff", text, multi_class="reduce")


def reduced():
    rng = np.random.default_rng(6)
    y = np.column_stack([rng.choice(list("abc"), 20), rng.integers(0, 2, 20)]).astype(object)
    y[:, 1] = y[:, 1].astype(int)
    reduction = datasets.MultiClassReduction().fit(y)
    back = reduction.inverse_transform(rng.random((9, 4)).round(1))
    return list(reduction.label_names_), reduction.transform(y), back.astype(str).tolist()


def partly_known():
    """Labels of which some are unknown, scores and predictions."""
    Y, scores, predicted = scored()
    hidden = np.random.default_rng(7).random(Y.shape) < 0.3
    return np.where(hidden, np.nan, Y), scores, predicted


def on_known(name):
    Y, scores, predicted = partly_known()
    package = metrics if hasattr(metrics, name) else imbalance
    others = () if package is imbalance else (scores if "auc" in name else predicted,)
    return getattr(package, name)(Y, *others)


def learn_from_known():
    data = dense()
    hidden = np.random.default_rng(8).random(data.Y.shape) < 0.3
    learner = BinaryRelevance()
    return learner.fit(data.X, np.where(hidden, np.nan, data.Y)).predict_proba(data.X)


def read_libsvm():
    return read(".libsvm", "0,2 1:0.5 3:-2\n 2:1\n1 1:1e-3\n")


def load(name, **options):
    try:
        return described(datasets.load_dataset(name, download_if_missing=False, **options))
    except LabelanceError as error:
        raise MissingDataset(name) from error


def protocol():
    data = datasets.MultiLabelDataset(
        sparse().X, np.hstack([plain()[1], np.eye(120, 1, dtype=int)])
    )
    return described(datasets.apply_protocol(data, feature_share=0.5))


def make(**options):
    return datasets.make_multilabel_imbalanced(100, 5, 4, random_state=0, **options)


def function_cases():
    """Every public function, and every class that is no estimator."""
    for name in [
        "coverage_error",
        "label_ranking_average_precision",
        "macro_auc_pr",
        "macro_auc_roc",
        "macro_brier_loss",
        "macro_calibration_error",
        "one_error",
        "ranking_loss",
    ]:
        yield f"metrics.{name}", partial(on_scores, getattr(metrics, name))
    for name in ("macro_auc_pr", "macro_auc_roc"):
        skip = partial(on_scores, getattr(metrics, name), undefined="skip")
        yield f"metrics.{name}, undefined labels left out", skip
    for name in ("ndcg_at_k", "precision_at_k", "propensity_scored_precision_at_k", *SCORERS_AT_K):
        for k in (1, 3):
            yield f"metrics.{name}, k = {k}", partial(on_scores, getattr(metrics, name), k=k)
    for name in [
        "example_f1",
        "hamming_loss",
        "macro_balanced_accuracy",
        "macro_f1",
        "macro_g_mean",
        "micro_f1",
        "subset_accuracy",
    ]:
        yield f"metrics.{name}", partial(on_predictions, getattr(metrics, name))
    yield (
        "decisions.find_thresholds",
        lambda: [
            thresholds(**options)
            for options in (
                {"shrinkage": 0},
                {"shrinkage": 20, "shrink_to": "prevalence"},
                {"shrinkage": 5, "shrink_to": "pooled"},
                {"objective": "micromacro"},
            )
        ],
    )
    yield (
        "decisions.find_calibration",
        lambda: [
            decisions.find_calibration(*scored()[:2], method=method).predict_proba(scored()[1])
            for method in ("sigmoid", "isotonic")
        ],
    )
    yield (
        "decisions.correct_prior",
        lambda: decisions.correct_prior(scored()[1], 0.5, scored()[0].mean(axis=0)),
    )
    yield "decisions.guarantee_recall", guaranteed_recall
    yield "decisions.guarantee_precision", guaranteed_precision
    yield (
        "decisions.limit_alarms",
        lambda: decisions.limit_alarms(scored()[1], n_alarms=4, n_rows=20, confidence=0.8),
    )
    yield (
        "decisions.positives_needed",
        lambda: [decisions.positives_needed(0.9, level) for level in (None, 0.9, 0.95)],
    )
    yield "annotation.suspect_labels", suspects
    yield (
        "annotation.rows_to_annotate",
        lambda: annotation.rows_to_annotate(scored()[1] ** 1.3, 12),
    )
    yield "decisions.decide_within_budget", budgets
    yield "decisions.find_budget_rule", budget_rules
    yield (
        "decisions.maximize_expected_f",
        lambda: [
            decisions.maximize_expected_f(scored()[1], average=average, beta=2)
            for average in ("macro", "micro", "samples")
        ],
    )
    yield "decisions.bayes_threshold", lambda: decisions.bayes_threshold([[0, 1], [9, -2]])
    yield "metrics.calibration_bins", bins
    yield "metrics.calibration_bins, of as many rows each", partial(bins, strategy="quantile")
    for name in ("macro_f1", "macro_auc_roc", "macro_auc_pr", "micro_f1", "hamming_loss"):
        yield f"metrics.{name}, unknown labels ignored", partial(on_known, name)
    for name in ("irlbl", "imr", "density"):
        yield f"imbalance.{name}, unknown labels ignored", partial(on_known, name)
    yield "learners.BinaryRelevance, unknown labels ignored", learn_from_known
    yield "datasets.MultiClassReduction", reduced
    yield "datasets.read_multilabel, labels of several values", read_classes
    yield "metrics.label_areas", areas
    yield "metrics.label_propensity", partial(on_labels, metrics.label_propensity)
    yield "metrics.label_scores", lambda: metrics.label_scores(fitted()[0], dense().X)
    yield "metrics.imbalance_report", report
    yield "metrics.get_label_scorer, of every name", scorers
    yield "metrics.get_label_scorer, of probabilities", probability_scorers
    yield "metrics.get_joint_scorer", joint_scorer

    for name in [
        "cardinality",
        "cvir",
        "density",
        "imr",
        "irlbl",
        "label_counts",
        "mean_imr",
        "mean_ir",
        "scumble",
        "scumble_cv",
        "scumble_instances",
        "scumble_labels",
    ]:
        yield f"imbalance.{name}", partial(on_labels, getattr(imbalance, name))
    yield "imbalance.labelsets", partial(on_labels, labelsets)
    yield "imbalance.tcs", partial(on_rows_and_labels, imbalance.tcs)
    yield "imbalance.profile", partial(on_rows_and_labels, profile)
    yield "imbalance.local_distribution", spread
    yield "imbalance.local_distribution as the authors' program", partial(spread, variant="mulan")

    for data in DATA:
        yield f"neighbors.find_neighbors on {data}", partial(or_refused, near, data)
    for metric in ("manhattan", "cosine", "chebyshev"):
        for data in ("dense", "sparse"):
            yield (
                f"neighbors.find_neighbors by {metric} on {data}",
                partial(or_refused, near, data, metric=metric),
            )
    for scale in ("range", "standard"):
        yield f"neighbors.find_neighbors, scale {scale}", partial(near, "mixed", scale=scale)

    stratified = "model_selection.IterativeStratified"
    yield f"{stratified}KFold", partial(folds, "IterativeStratifiedKFold", 4)
    yield (
        f"{stratified}KFold, shuffled",
        partial(folds, "IterativeStratifiedKFold", 4, shuffle=True),
    )
    yield f"{stratified}KFold of pairs", partial(folds, "IterativeStratifiedKFold", 4, order=2)
    yield f"{stratified}GroupKFold", partial(folds, "IterativeStratifiedGroupKFold", 3)
    yield f"{stratified}ShuffleSplit", partial(folds, "IterativeStratifiedShuffleSplit", 2)
    yield (
        "model_selection.RepeatedIterativeStratifiedKFold",
        partial(folds, "RepeatedIterativeStratifiedKFold", 3, 2),
    )
    yield (
        "model_selection.multilabel_train_test_split",
        lambda: model_selection.multilabel_train_test_split(*plain(), random_state=0),
    )
    for name in ("examples_distribution", "label_distribution", "label_pair_distribution"):
        yield f"model_selection.{name}", partial(split_quality, getattr(model_selection, name))

    yield "sampling.sample_weights", partial(on_rows_and_labels, sample_weights)
    weights = import_module("labelance.sampling").label_weights
    yield "sampling.label_weights", partial(on_labels, weights)
    effective = partial(weights, kind="effective", beta=0.9)
    yield "sampling.label_weights by effective number", partial(on_labels, effective)
    for name in ("distribution_balanced_weights", "focal_parameters", "logit_adjustment"):
        number = getattr(import_module("labelance.sampling"), name)
        yield f"sampling.{name}", partial(on_labels, number)
    index_sampler = import_module("labelance.sampling").WeightedIndexSampler
    yield (
        "sampling.WeightedIndexSampler",
        lambda: list(index_sampler(np.arange(30) % 4, 50, random_state=0)),
    )
    batch_sampler = import_module("labelance.sampling").RareLabelBatchSampler
    yield (
        "sampling.RareLabelBatchSampler",
        lambda: np.concatenate([*batch_sampler(plain()[1], 16, random_state=0)]),
    )

    yield "datasets.make_figure1", lambda: datasets.make_figure1(random_state=0)
    yield "datasets.make_figure1, variant b", lambda: datasets.make_figure1("b", random_state=0)
    yield "datasets.make_figure2", lambda: tuple(datasets.make_figure2())
    yield "datasets.make_multilabel_imbalanced", make
    yield "datasets.make_multilabel_imbalanced, sparse", partial(make, sparse=True)
    yield "datasets.make_multilabel_imbalanced, categorical", partial(make, n_categorical=2)
    yield (
        "datasets.make_multilabel_imbalanced, type shares",
        partial(make, type_shares=(0.4, 0.3, 0.2, 0.1)),
    )
    yield "datasets.drop_rare_labels", lambda: datasets.drop_rare_labels(dense().Y, 20)
    yield (
        "datasets.keep_frequent_features",
        lambda: datasets.keep_frequent_features(sparse().X, 0.3),
    )
    yield "datasets.apply_protocol", protocol
    yield "datasets.read_multilabel, ARFF", read_arff
    yield "datasets.read_multilabel, CSV and TSV", read_tables
    yield "datasets.read_multilabel, LibSVM", read_libsvm
    for format in ("arff", "csv", "tsv", "libsvm", "npz", "parquet"):
        yield f"datasets.write_multilabel, {format}", partial(written, format)
    for name in PUBLISHED:
        yield f"datasets.load_dataset, {name}", partial(load, name)
    yield (
        "datasets.load_dataset, medical as in the paper",
        partial(load, "medical", protocol="paper"),
    )


# ----------------------------------------------------------------------------- what there must be

PACKAGES = [
    "sampling",
    "learners",
    "annotation",
    "decisions",
    "ensemble",
    "metrics",
    "imbalance",
    "model_selection",
    "neighbors",
    "datasets",
]

# Public names whose results are those of others: values that functions return, bases, lists.
NOT_RESULTS = {
    *["BaseMultiLabelClassifier", "all_learners", "TrainingSet", "draw_training_sets"],
    *[
        "BaseMultiLabelSampler",
        "Draw",
        "Explanation",
        "FocalParameters",
        "ResamplingPlan",
        "SamplerTraits",
        "all_samplers",
    ],
    *["BudgetDecisions", "BudgetRule", "Calibration", "Guarantees"],
    *[
        "CostMatrix",
        "FBeta",
        "PrecisionAtRecall",
        "RecallAtPrecision",
        "Thresholds",
        "CalibrationBins",
    ],
    *["SCORERS", "ImbalanceReport", "JointScorer", "LabelAreas", "LabelScorer"],
    *["ImbalanceProfile", "LabelType", "Labelsets", "LocalDistribution", "Neighborhood", "Figure2"],
    *[
        "DatasetCheck",
        "DatasetFiles",
        "DatasetInfo",
        "DatasetTable",
        "MultiLabelDataset",
        "dataset_info",
    ],
    *["fetch_dataset", "get_data_home", "list_datasets", "verify_dataset"],
}
FUNCTIONS = {
    "correct_prior",
    *["find_calibration", "find_thresholds"],
    *["bayes_threshold", "decide_within_budget", "find_budget_rule", "maximize_expected_f"],
    *["guarantee_precision", "guarantee_recall", "limit_alarms", "positives_needed"],
    *["label_weights", "sample_weights", "WeightedIndexSampler", "RareLabelBatchSampler"],
    *["distribution_balanced_weights", "focal_parameters", "logit_adjustment"],
}


def public_names(package):
    return import_module(f"labelance.{package}").__all__


CASES = dict(estimator_cases()) | dict(function_cases())
