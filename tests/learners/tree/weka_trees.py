"""J48 of Weka itself, asked in one Java process, and how its trees compare with ours.

The jar is that of the package ``python-weka-wrapper3`` if it is installed (only its file is used,
nothing is imported), or the one that the environment variable LABELANCE_WEKA_JAR names.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np

from labelance.learners import C45Classifier
from labelance.learners.tree import class_problems, fit_many

LEAF = -1
SAME = 1e-9  # weights and probabilities may differ by this: sums in another order


@dataclass(frozen=True)
class Tree:
    """Nodes in preorder, and the class probabilities of the training rows."""

    feature: np.ndarray
    threshold: np.ndarray  # NaN at leaves and nominal splits
    weights: np.ndarray  # class weights of the leaves
    proba: np.ndarray
    seconds: float = np.nan


@dataclass(frozen=True)
class Agreement:
    """How our trees of a case compare with Weka's: one entry per tree."""

    identical: np.ndarray
    same_predictions: np.ndarray
    difference: np.ndarray  # largest between two probabilities

    def __str__(self):
        return (
            f"{len(self.identical)} trees, {self.identical.sum()} identical, "
            f"{self.same_predictions.sum()} with the same predictions, "
            f"probabilities differ by {self.difference.max():.1e} at most"
        )


def find_jar():
    """The jar of Weka, or None."""
    named = os.environ.get("LABELANCE_WEKA_JAR")
    if named:
        return Path(named) if Path(named).is_file() else None
    try:
        files = metadata.files("python-weka-wrapper3") or []
    except metadata.PackageNotFoundError:
        return None
    return next((Path(file.locate()) for file in files if file.name == "weka.jar"), None)


def what_is_absent():
    """What a comparison would need and this machine does not have; empty if it can be made."""
    if find_jar() is None:
        return "no weka.jar: install python-weka-wrapper3 or name it in LABELANCE_WEKA_JAR"
    if shutil.which("java") is None:
        return "no java"
    return ""


def write_arff(path, case):
    """Write a case as Weka reads it: floats to the last bit, targets last, weights in braces."""
    X = case.X.toarray() if hasattr(case.X, "toarray") else case.X

    def nominal(k):
        return "{" + ",".join(map(str, range(k))) + "}"

    def column(values, k):
        return ["?" if x != x else str(int(x)) if k else repr(x) for x in values.tolist()]

    kinds = [nominal(k) if k else "numeric" for k in case.n_categories]
    columns = [column(values, k) for values, k in zip(X.T, case.n_categories)]
    columns += [column(classes, 1) for classes in case.y.T]
    if case.weight is not None and not case.repeated:
        columns.append([f"{{{w!r}}}" for w in case.weight.tolist()])
    rows = [",".join(cells) + "\n" for cells in zip(*columns)]
    with path.open("w") as file:
        file.write("@relation case\n")
        for f, kind in enumerate(kinds + [nominal(case.n_classes)] * case.y.shape[1]):
            file.write(f"@attribute a{f} {kind}\n")
        file.write("@data\n")
        file.writelines(rows[i] for i in rows_for_weka(case))


def rows_for_weka(case):
    """The rows in the order in which Weka gets them."""
    rows = np.arange(len(case.y))
    return np.repeat(rows, case.weight.astype(int)) if case.repeated else rows


def ask_weka(cases, folder, repeats=None):
    """Return J48's trees of all cases, a list per case, from one Java process.

    ``repeats`` tells for every case how often a tree is built, for its time.
    """
    repeats = repeats or [1] * len(cases)
    jobs = []
    for i, case in enumerate(cases):
        arff, out = folder / f"case{i}.arff", folder / f"case{i}.txt"
        write_arff(arff, case)
        words = [arff, out, case.y.shape[1], repeats[i], *case.options]
        jobs.append("\t".join(map(str, words)))
    (folder / "jobs").write_text("\n".join(jobs) + "\n")
    source = Path(__file__).with_name("DumpTrees.java")
    # One thread compiles and one collects, so that Java is as alone on its core as we are.
    java = ["java", "-XX:+UseSerialGC", "-Xmx2g", "-cp", str(find_jar()), str(source)]
    subprocess.run([*java, str(folder / "jobs")], check=True, capture_output=True, text=True)
    return [read_trees(folder / f"case{i}.txt", case) for i, case in enumerate(cases)]


def read_trees(path, case):
    """Read what DumpTrees.java wrote."""
    trees, first_copy = [], np.unique(rows_for_weka(case), return_index=True)[1]
    for block in path.read_text().split("T ")[1:]:
        lines = [line.split() for line in block.splitlines()]
        nodes = [line for line in lines[1:] if line[0] != "P"]
        feature = np.array([int(line[1]) if line[0] == "I" else LEAF for line in nodes])
        threshold = [float(line[2]) if line[0] == "I" else np.nan for line in nodes]
        numeric = (feature != LEAF) & (case.n_categories[feature] == 0)
        trees.append(
            Tree(
                feature,
                np.where(numeric, threshold, np.nan),
                np.array([line[2:] for line in nodes if line[0] == "L"], dtype=float),
                np.array([line[1:] for line in lines if line[0] == "P"], dtype=float)[first_copy],
                float(lines[0][0]),
            )
        )
    return trees


def fit_alone(case):
    """Return a classifier for every target."""
    return [
        C45Classifier(**_nominal(case), **case.keywords).fit(case.X, y, sample_weight=case.weight)
        for y in case.y.T
    ]


def fit_together(case):
    """Return a forest of all targets."""
    problems = class_problems(case.y, case.n_classes)
    return fit_many(case.X, problems, sample_weight=case.weight, **_nominal(case), **case.keywords)


def grown_alone(case):
    """Return our tree of every target, each from a classifier of its own."""
    return [
        in_preorder(model.forest_, model.predict_proba(case.X), model.classes_, case)
        for model in fit_alone(case)
    ]


def grown_together(case):
    """Return our tree of every target, all from one call."""
    forest, classes = fit_together(case), np.arange(case.n_classes)
    proba, at = forest.predict_proba(case.X), forest.slot_start
    return [
        in_preorder(forest.take(t, t + 1), proba[:, at[t] : at[t + 1]], classes, case)
        for t in range(len(forest))
    ]


def _nominal(case):
    nominal = np.flatnonzero(case.n_categories)
    return {"categorical_features": nominal, "n_categories": case.n_categories[nominal]}


def in_preorder(forest, proba, classes, case):
    """Return a forest of one tree, which may know only some of the declared classes."""
    order, waiting = [], [0]
    while waiting:
        v = waiting.pop()
        order.append(v)
        if forest.feature[v] != LEAF:
            waiting += range(forest.first[v] + forest.width[v] - 1, forest.first[v] - 1, -1)
    feature = forest.feature[order]
    numeric = (feature != LEAF) & (case.n_categories[feature] == 0)
    # A leaf without rows has its parent's weights with us, none in Weka.
    reached = (forest.weight > 0)[:, None]
    weights = forest.histogram.reshape(len(forest.feature), -1) * reached
    return Tree(
        feature,
        np.where(numeric, forest.threshold[order], np.nan),
        _declared(weights[order][feature == LEAF], classes, case.n_classes),
        _declared(proba, classes, case.n_classes),
    )


def _declared(values, classes, n_classes):
    """Lay out columns of some classes as columns of all, nothing for the others."""
    everything = np.zeros((len(values), n_classes))
    everything[:, classes] = values
    return everything


def is_identical(ours, theirs):
    """Tell whether structure, split points (to the last bit) and leaf weights are the same."""
    return (
        np.array_equal(ours.feature, theirs.feature)
        and np.array_equal(ours.threshold, theirs.threshold, equal_nan=True)
        and np.allclose(ours.weights, theirs.weights, rtol=SAME, atol=SAME)
    )


def compare(ours, theirs):
    """Compare the trees of a case, one by one."""
    pairs = list(zip(ours, theirs, strict=True))
    return Agreement(
        np.array([is_identical(a, b) for a, b in pairs]),
        np.array([np.array_equal(_decisions(a.proba), _decisions(b.proba)) for a, b in pairs]),
        np.array([np.abs(a.proba - b.proba).max() for a, b in pairs]),
    )


def _decisions(proba):
    """The most probable class, the first of those that are equal but for rounding."""
    return np.argmax(proba > proba.max(axis=1, keepdims=True) - SAME, axis=1)
