"""``labelance warmup``: compile all kernels beforehand, for images of containers and for CI."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import active_children, get_context
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

from labelance._progress import loop, show_progress
from labelance._utils._kernel import kernel_folder
from labelance.cli._console import errors, fail, print_json, print_table, say
from labelance.exceptions import LabelanceWarning

# The parts share few kernels, so that processes that compile them hardly repeat each other's
# work; those that take longest come first.
PARTS = (
    "learners, dense",
    "learners, sparse",
    "samplers, dense",
    "samplers, sparse",
    "splits and metrics",
)


def warmup(
    jobs: Annotated[
        int | None, typer.Option(min=1, help="How many processes; as many as cores by default.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> None:
    """Compile the kernels of all samplers, learners, splits and metrics, and keep them on disk.

    What is compiled is kept next to the installed package, or in the folder that the variable
    NUMBA_CACHE_DIR names, for the processor that it was compiled on.
    """
    folder, named = kernel_folder(), os.environ.get("NUMBA_CACHE_DIR")
    if folder is None or (named and folder != named):
        refused = f"folder {named}, which NUMBA_CACHE_DIR names," if named else "package's folder"
        fail(
            f"warmup keeps what it compiles, but the {refused} cannot be written to. "
            "Name one that can: NUMBA_CACHE_DIR=FOLDER labelance warmup"
        )
    started = perf_counter()
    seconds = {}
    with (
        ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool,
        show_progress(not json),
        loop("Compiling", len(PARTS), "parts") as bar,
    ):
        running = {pool.submit(compile_part, part): part for part in PARTS}
        try:
            for done in as_completed(running):
                seconds[running[done]] = done.result()
                bar.advance()
        except KeyboardInterrupt:
            # numba hears nothing while it compiles, and the pool would begin the other parts.
            pool.shutdown(wait=False, cancel_futures=True)
            for process in active_children():
                process.terminate()
            say("interrupted; what was compiled up to now is kept", to=errors)
            raise
    total = perf_counter() - started
    if json:
        print_json({"folder": folder, "parts": seconds, "seconds": total})
        return
    rows = [(part, f"{seconds[part]:.1f}") for part in PARTS]
    print_table("Compiled, or found compiled", ("part", "seconds"), rows)
    say(f"Done in {total:.1f} s; kept in {folder}")


def compile_part(part: str) -> float:
    """Call everything of one part once on small data; return the seconds that took."""
    started = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelanceWarning)
        for call in _calls(part):
            call()
    return perf_counter() - started


def _calls(part: str) -> Iterator[Any]:
    from scipy.sparse import csr_array

    rng = np.random.default_rng(0)
    X = rng.random((300, 10))
    # The last label has more ones than zeros.
    y = (rng.random((300, 5)) < [0.1, 0.2, 0.3, 0.4, 0.6]).astype(np.int64)
    X = csr_array(np.where(X < 0.5, 0.0, X)) if part.endswith("sparse") else X
    kind = part.partition(",")[0]
    if kind == "learners":
        from labelance.learners import all_learners

        for learner in all_learners().values():
            yield lambda learner=learner: learner().fit(X, y).predict(X)
    elif kind == "samplers":
        from labelance import profile
        from labelance.sampling import all_samplers

        yield lambda: profile(X, y)
        for sampler in all_samplers().values():
            yield lambda sampler=sampler: sampler().fit_resample(X, y)
    else:
        from labelance.decisions import decide_within_budget, maximize_expected_f
        from labelance.metrics import label_areas, ranking_loss
        from labelance.model_selection import IterativeStratifiedKFold

        yield lambda: decide_within_budget(rng.random(y.shape), per_row=1)
        yield lambda: maximize_expected_f(rng.random(y.shape), average="samples")
        yield lambda: label_areas(y, rng.random(y.shape))
        yield lambda: ranking_loss(y, rng.random(y.shape))
        for order in (1, 2):
            yield lambda order=order: list(IterativeStratifiedKFold(order=order).split(X, y))
