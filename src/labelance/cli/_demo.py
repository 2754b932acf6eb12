"""``labelance demo``: see resampling work on data that come with the package."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

from labelance.cli._console import console, print_json, print_table, progress
from labelance.cli._data import check_free

EXAMPLE = "Example: labelance demo --picture demo.png"


@dataclass(frozen=True)
class Score:
    """How one learner does after one method, averaged over the folds."""

    learner: str
    method: str
    rows: float
    macro_f1: float
    macro_auc_roc: float
    macro_auc_pr: float

    def figures(self) -> tuple[float, float, float]:
        return self.macro_f1, self.macro_auc_roc, self.macro_auc_pr


def demo(
    picture: Annotated[
        Path, typer.Option(help="Where to draw the data before and after (needs matplotlib).")
    ] = Path("labelance-demo.png"),
    no_picture: Annotated[bool, typer.Option("--no-picture", help="Draw nothing.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the data, the folds and the methods.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the scores as JSON.")] = False,
) -> None:
    """Compare no sampling with samplers on data with rare sub-concepts and overlap.

    The data are those of the paper's Figure 1 (b): points with three labels, two of them
    broken into small groups that lie in the midst of other points.
    """
    from labelance.datasets import make_figure1

    if not no_picture:
        check_free(picture, force=True)
    started = perf_counter()
    X, Y = make_figure1("b", n_samples=400, random_state=seed)
    scores = _compare(X, Y, seed, quiet=json)
    drawn = None if no_picture else _draw(X, Y, seed, picture, quiet=json)
    seconds = perf_counter() - started
    if json:
        print_json(
            {"scores": [asdict(score) for score in scores], "picture": drawn, "seconds": seconds}
        )
        return
    _print_story(X, Y, scores, drawn, seconds)


def _methods(seed: int) -> dict[str, Any]:
    from labelance.sampling import MLROS, MLSMOTE, MLSOL

    samplers = (MLROS, MLSMOTE, MLSOL)
    return {"no sampling": None, **{kind.__name__: kind(random_state=seed) for kind in samplers}}


def _learners(seed: int) -> dict[str, Any]:
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.tree import DecisionTreeClassifier

    return {
        "tree": DecisionTreeClassifier(min_samples_leaf=2, random_state=seed),
        "5-NN": KNeighborsClassifier(5),
    }


def _compare(X: np.ndarray, Y: np.ndarray, seed: int, *, quiet: bool) -> list[Score]:
    """Return the mean scores of 5 times 2 folds, for every learner and method."""
    from labelance.model_selection import RepeatedIterativeStratifiedKFold

    folds = RepeatedIterativeStratifiedKFold(n_splits=2, n_repeats=5, random_state=seed)
    splits = list(folds.split(X, Y))
    learners, methods = _learners(seed), _methods(seed)
    scores = []
    with progress("Comparing", len(learners) * len(methods), quiet=quiet) as bar:
        for learner_name, learner in learners.items():
            for method_name, method in methods.items():
                measured = [_score(learner, method, X, Y, *split) for split in splits]
                scores.append(Score(learner_name, method_name, *np.mean(measured, axis=0)))
                bar.advance(bar.task_ids[0])
    return scores


def _score(
    learner: Any, method: Any, X: np.ndarray, Y: np.ndarray, train: np.ndarray, test: np.ndarray
) -> tuple[float, ...]:
    from sklearn.base import clone

    from labelance.metrics import label_scores, macro_auc_pr, macro_auc_roc, macro_f1

    X_train, Y_train = X[train], Y[train]
    if method is not None:
        X_train, Y_train = clone(method).fit_resample(X_train, Y_train)
    model = clone(learner).fit(X_train, Y_train)
    relevance = label_scores(model, X[test])
    return (
        len(X_train),
        macro_f1(Y[test], model.predict(X[test])),
        macro_auc_roc(Y[test], relevance),
        macro_auc_pr(Y[test], relevance),
    )


def _draw(X: np.ndarray, Y: np.ndarray, seed: int, path: Path, *, quiet: bool) -> str | None:
    """Draw before and after to a file; return its name, or None without matplotlib."""
    from labelance.exceptions import MissingDependencyError
    from labelance.report import save_before_after
    from labelance.sampling import MLSOL

    X_new, Y_new = MLSOL(random_state=seed).fit_resample(X, Y)
    names = ("triangle", "borderless", "red")
    try:
        save_before_after(path, X, Y, X_new, Y_new, label_names=names, title="MLSOL")
    except MissingDependencyError as error:
        if not quiet:
            console.print(f"No picture: {error}", highlight=False)
        return None
    return str(path)


def _print_story(
    X: np.ndarray, Y: np.ndarray, scores: list[Score], drawn: str | None, seconds: float
) -> None:
    shares = ", ".join(f"{share:.0%}" for share in Y.mean(axis=0))
    console.print(
        f"{len(X)} points with {Y.shape[1]} labels, present in {shares} of them; "
        "mean of 5 times 2 stratified folds.",
        highlight=False,
    )
    rows = [
        (score.learner, score.method, f"{score.rows:.0f}", *map("{:.3f}".format, score.figures()))
        for score in scores
    ]
    columns = ("learner", "method", "rows", "macro F", "AUC-ROC", "AUC-PR")
    print_table("No sampling, cloning, MLSMOTE and MLSOL", columns, rows, left=2)
    for learner in dict.fromkeys(score.learner for score in scores):
        ours = [score for score in scores if score.learner == learner]
        best = max(ours, key=lambda score: score.macro_f1)
        gain = best.macro_f1 - ours[0].macro_f1
        console.print(f"{learner}: best macro F with {best.method}, {gain:+.3f}.", highlight=False)
    console.print("Which method is best depends on data and learner; try yours.", highlight=False)
    if drawn:
        console.print(f"Before and after: {drawn}", highlight=False)
    console.print(f"Done in {seconds:.1f} s.", highlight=False)
