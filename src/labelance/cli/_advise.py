"""``labelance advise``: what to do about imbalance in a file."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import typer

import labelance
from labelance._progress import is_interactive
from labelance.cli._console import (
    errors,
    long_work,
    only_results_on_stdout,
    print_json,
    say,
    use_names,
)
from labelance.cli._data import JsonOption, Source, reads_data, split_names
from labelance.cli._models import load_rows


@reads_data
def advise(
    source: Source,
    budget: Annotated[
        float,
        typer.Option(help="Time budget in seconds for the comparison."),
    ] = 120,
    measure: Annotated[
        Literal["macro_f1", "macro_auc_roc", "macro_auc_pr", "neg_macro_brier_loss"],
        typer.Option(help="What decides: decisions, rankings (two ways) or probabilities."),
    ] = "macro_f1",
    seed: Annotated[int, typer.Option(help="Seed of the random numbers.")] = 0,
    jobs: Annotated[int, typer.Option(help="Trees or labels fitted at a time.")] = 1,
    json: JsonOption = False,
) -> None:
    """Say which learner to use, and what to do about imbalance: often not to resample.

    A race on a sample chooses the learner. Thresholds, class weights, samplers and
    RareLabelClassifier are compared under it in stratified folds, as far as the budget goes. Prints
    a verdict with figures, and Python to copy. Ctrl-C prints the verdict of the folds that are
    finished, if there are two.
    """
    # Nothing in a pipe: --budget says how long it takes.
    with long_work("Reading", quiet=not is_interactive()) as tell:
        rows = load_rows(source)
        dataset = rows.dataset
        X, y = dataset.to_X_y()
        if rows.left_out or rows.has_vectors:
            X = rows.X
            ignored = [*(split_names(source.ignore) or ()), *rows.left_out]
            source = replace(source, ignore=",".join(ignored) or None)
            for name, why in rows.left_out.items():
                say(f"left out: {name} ({why})", to=errors)
        tell(f"Advising on {dataset.n_samples} rows")
        use_names(dataset.feature_names, dataset.label_names)
        try:
            with only_results_on_stdout():
                advice = labelance.advise(
                    X, y, measure=measure, budget=budget, random_state=seed, n_jobs=jobs
                )
        except KeyboardInterrupt:
            say("interrupted before two folds were finished, too early for an advice", to=errors)
            raise
    advice = replace(advice, code=source.add_to_code(advice.code))
    if json:
        print_json({"source": source.data, **advice.to_dict()})
    else:
        say(str(advice))
        run, planned = advice.design.n_run, advice.design.n_folds
        say(f"{run} of {planned} folds in {advice.seconds:.0f} s", to=errors)
    if advice.design.interrupted:  # what is finished is printed; the exit code says the rest
        raise KeyboardInterrupt
