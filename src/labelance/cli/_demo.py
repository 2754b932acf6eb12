"""``labelance demo``: see resampling work on data that come with the package."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Annotated

import numpy as np
import typer

from labelance.cli._comparison import N_REPEATS, Score, compare
from labelance.cli._console import console, print_json, print_table
from labelance.cli._data import check_free

EXAMPLE = "Example: labelance demo --picture demo.png"


def demo(
    picture: Annotated[
        Path, typer.Option(help="Where to draw the data before and after (needs matplotlib).")
    ] = Path("labelance-demo.png"),
    no_picture: Annotated[bool, typer.Option("--no-picture", help="Draw nothing.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the data, the folds and the methods.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the scores as JSON.")] = False,
) -> None:
    """Compare no sampling, MLSMOTE, MLSOL and their ensembles, under C4.5 trees and MLkNN.

    The data are those of the paper's Figure 1 (b): points with three labels, two of them
    broken into small groups that lie in the midst of other points. The first run compiles
    the library's kernels, which takes most of a minute; later ones take seconds.
    """
    from labelance.datasets import make_figure1

    if not no_picture:
        check_free(picture, force=True)
    started = perf_counter()
    X, Y = make_figure1("b", n_samples=400, random_state=seed)
    scores = compare(X, Y, seed, quiet=json)
    drawn = None if no_picture else _draw(X, Y, seed, picture, quiet=json)
    seconds = perf_counter() - started
    if json:
        print_json(
            {"scores": [asdict(score) for score in scores], "picture": drawn, "seconds": seconds}
        )
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
            console.print(f"No picture: {error}", highlight=False)
        return None
    return str(path)


def _print_story(
    X: np.ndarray, Y: np.ndarray, scores: list[Score], drawn: str | None, seconds: float
) -> None:
    shares = ", ".join(f"{share:.0%}" for share in Y.mean(axis=0))
    console.print(
        f"{len(X)} points with {Y.shape[1]} labels, present in {shares} of them; "
        f"mean of {N_REPEATS} times 2 stratified folds.",
        highlight=False,
    )
    rows = [
        (score.learner, score.method, *map("{:.3f}".format, score.figures())) for score in scores
    ]
    columns = ("learner", "method", "macro F", "AUC-ROC", "AUCPR")
    print_table("No sampling, samplers, and ensembles of them", columns, rows, left=2)
    for learner in dict.fromkeys(score.learner for score in scores):
        ours = [score for score in scores if score.learner == learner]
        best = max(ours, key=lambda score: score.macro_f1)
        gain = best.macro_f1 - ours[0].macro_f1
        console.print(f"{learner}: best macro F with {best.method}, {gain:+.3f}.", highlight=False)
    console.print("Which method is best depends on data and learner; try yours.", highlight=False)
    if drawn:
        console.print(f"Before and after: {drawn}", highlight=False)
    console.print(f"Done in {seconds:.1f} s.", highlight=False)
