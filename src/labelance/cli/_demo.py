"""``labelance demo``: run the ten lines of the README, then compare samplers and ensembles."""

from __future__ import annotations

from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

from labelance._progress import loop, show_progress
from labelance.cli._console import print_json, print_table, report_kept_files, say
from labelance.cli._data import JsonOption, check_free, option

N_REPEATS = 3  # times two folds
MEASURES = ("macro_f1", "macro_auc_roc", "macro_auc_pr")


@dataclass(frozen=True)
class Score:
    """How one learner does with one method, averaged over the folds."""

    learner: str
    method: str
    macro_f1: float
    macro_auc_roc: float
    macro_auc_pr: float


def run_ten_lines() -> dict[str, float]:
    """Return macro F of the three models of the README, on a column of text."""
    import pandas as pd
    from sklearn.compose import make_column_transformer
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    from labelance import LabelThresholds, RareLabelClassifier
    from labelance.datasets import load_dataset
    from labelance.learners import BinaryRelevance
    from labelance.metrics import macro_f1
    from labelance.model_selection import multilabel_train_test_split

    verbs = load_dataset("verbframes")
    words, y = verbs.to_X_y(as_frame=True)[0], verbs.Y
    X = pd.DataFrame({"gloss": words.astype(bool) @ (words.columns + " ")})
    X_train, X_test, y_train, y_test = multilabel_train_test_split(X, y, random_state=0)
    text = make_column_transformer((TfidfVectorizer(), "gloss"))
    plain = make_pipeline(text, BinaryRelevance(LogisticRegression()))
    tuned = LabelThresholds(plain, random_state=0)
    models = (plain, tuned, RareLabelClassifier(random_state=0, n_jobs=-1))
    found = (model.fit(X_train, y_train).predict(X_test) for model in models)
    return {type(model).__name__: float(macro_f1(y_test, y)) for model, y in zip(models, found)}


def compare(X: np.ndarray, Y: np.ndarray, seed: int, *, quiet: bool) -> list[Score]:
    """Return the mean scores over stratified folds, for every learner and method."""
    from sklearn.model_selection import cross_validate

    from labelance.metrics import get_joint_scorer
    from labelance.model_selection import RepeatedIterativeStratifiedKFold

    folds = RepeatedIterativeStratifiedKFold(n_splits=2, n_repeats=N_REPEATS, random_state=seed)
    splits, scorer = list(folds.split(X, Y)), get_joint_scorer(*MEASURES)
    models, scores = _make_models(seed), []
    with show_progress(not quiet), loop("Comparing", len(models), "models") as bar:
        for (learner, method), model in models.items():
            found = cross_validate(model, X, Y, cv=splits, scoring=scorer, error_score="raise")
            means = (float(found[f"test_{name}"].mean()) for name in MEASURES)
            scores.append(Score(learner, method, *means))
            bar.advance()
    return scores


def _make_models(seed: int) -> dict[tuple[str, str], Any]:
    """Return the models to compare, by learner and method."""
    from imblearn.pipeline import make_pipeline

    from labelance.ensemble import EMLSMOTE, EMLSOL
    from labelance.learners import BinaryRelevance, MLkNN
    from labelance.sampling import MLSMOTE, MLSOL

    ensemble: dict[str, Any] = {"tune_on": "train", "random_state": seed}  # as in the paper
    models = {}
    for name, learner in {"BR of C4.5": BinaryRelevance(), "MLkNN": MLkNN()}.items():
        models[name, "no sampling"] = learner
        models[name, "MLSMOTE"] = make_pipeline(MLSMOTE(random_state=seed), learner)
        models[name, "MLSOL"] = make_pipeline(MLSOL(random_state=seed), learner)
        models[name, "EMLSMOTE"] = EMLSMOTE(learner, **ensemble)
        models[name, "EMLSOL"] = EMLSOL(learner, **ensemble)
    return models


def demo(
    picture: Annotated[
        Path, typer.Option(help="Where to draw the data before and after (needs matplotlib).")
    ] = Path("labelance-demo.png"),
    no_picture: Annotated[bool, option("Draw nothing.", "--no-picture")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the samplers' data, folds and draws.")] = 0,
    json: JsonOption = False,
) -> None:
    """Run the ten lines of the README, then compare samplers and ensembles of them.

    The ten lines find sentence patterns of verbs by their glosses: a regression, the same with
    thresholds, and RareLabelClassifier. Then no sampling, MLSMOTE, MLSOL and their ensembles learn
    under C4.5 trees and MLkNN, on points as in the paper's Figure 1 (b): three labels, two of them
    in small groups in the midst of other points.
    """
    from labelance.datasets import make_figure1

    if not no_picture:
        check_free(picture, force=True)
    started = perf_counter()
    with report_kept_files(picture):
        models = run_ten_lines()
        if not json:
            say("Ten lines: macro F on glosses of 2,243 verbs, 28 labels, some on 5 of them")
            for name, value in models.items():
                say(f"{name:<20} {value:.3f}")
        X, Y = make_figure1("b", n_samples=400, random_state=seed)
        scores = compare(X, Y, seed, quiet=json)
        drawn = None if no_picture else _draw(X, Y, seed, picture, quiet=json)
    seconds = perf_counter() - started
    if json:
        print_json({
            "models": models, "scores": [asdict(score) for score in scores],
            "picture": drawn, "seconds": seconds,
        })  # fmt: skip
        return
    _print_story(X, Y, scores, drawn, seconds)


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
            say(f"No picture: {error}")
        return None
    return str(path)


def _print_story(
    X: np.ndarray, Y: np.ndarray, scores: list[Score], drawn: str | None, seconds: float
) -> None:
    shares = ", ".join(f"{share:.0%}" for share in Y.mean(axis=0))
    say(
        f"{len(X)} points with {Y.shape[1]} labels, present in {shares} of them; "
        f"mean of {N_REPEATS} times 2 stratified folds."
    )
    rows = [(*row[:2], *map("{:.3f}".format, row[2:])) for row in map(astuple, scores)]
    columns = ("learner", "method", "macro F", "AUC-ROC", "AUCPR")
    print_table("No sampling, samplers, and ensembles of them", columns, rows, left=2)
    say("Thresholds first, then the model, then samplers; `labelance advise` compares on yours.")
    if drawn:
        say(f"Before and after: {drawn}")
    say(f"Done in {seconds:.1f} s.")
