"""What one can do with a data file: describe, convert and split it, or look at it on a page."""

from __future__ import annotations

import threading
import webbrowser
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import labelance
from labelance._utils._messages import show_names
from labelance.cli._console import (
    errors,
    long_work,
    print_json,
    print_table,
    report_kept_files,
    say,
)
from labelance.cli._data import (
    STREAM,
    ForceOption,
    JsonOption,
    Search,
    SeedOption,
    Source,
    ToOption,
    argument,
    check_free,
    check_page,
    choose_format,
    option,
    output_option,
    takes_options,
    tell_losses,
    write,
)
from labelance.exceptions import InputError

if TYPE_CHECKING:
    from labelance.datasets import MultiLabelDataset
    from labelance.imbalance import ImbalanceProfile


TopOption = Annotated[
    int, typer.Option(min=0, help="How many labels to list, the rarest first; 0 lists all.")
]


@takes_options
def describe(
    source: Source,
    search: Search,
    top: TopOption = 20,
    json: JsonOption = False,
) -> None:
    """Show how imbalanced multi-label data are, over all and label by label.

    Global measures (MeanIR, SCUMBLE and so on) come with the share of safe, borderline,
    rare and outlier cells among each label's minority, of at most --subsample rows. With
    --missing-labels keep, known cells count, and each label's unknown cells are listed.
    """
    with long_work("Reading", quiet=json) as tell:
        dataset, vectors = source.load_mixed()
        tell(f"Measuring {dataset.n_samples} rows")
        result = search.measure(dataset, vectors)
    if json:
        print_json({"data": source.data, **result.to_dict()})
    else:
        say(result.to_text(top=top or result.n_labels))


OutArgument = Annotated[
    Path, argument("OUT", "Where to write; its ending says the format. - is standard output.")
]


@takes_options
def convert(
    source: Source, out: OutArgument, to: ToOption = None, force: ForceOption = False
) -> None:
    """Convert a data file to another format.

    ARFF, Parquet and NPZ keep everything; CSV has no declared categories, and LibSVM has no
    names and is sparse. What is lost is said.
    """
    check_free(out, force)
    format = choose_format(source, out, to)
    with report_kept_files(out), long_work("Reading") as tell:
        dataset = source.load()
        tell("Writing")
        tell_losses((dataset, format))
        written = write(dataset, out, format=format, force=force)
    say(
        f"{written}: {dataset.n_samples} rows, {dataset.n_features} features, "
        f"{dataset.n_labels} labels",
        to=errors if str(out) == STREAM else None,
    )


@takes_options
def split(
    source: Source,
    output: Annotated[str, output_option("A file for each part, separated by commas.")],
    sizes: Annotated[
        str, typer.Option(help="Shares of the parts, or numbers of rows, separated by commas.")
    ] = "0.75,0.25",
    pairs: Annotated[bool, option("Keep label pairs in proportion too.", "--pairs")] = False,
    seed: SeedOption = 0,
    to: ToOption = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Split data into parts by iterative stratification, so that rare labels reach all of them."""
    shares, files = _parse(sizes, output)
    order: Literal[1, 2] = 2 if pairs else 1
    formats = [choose_format(source, file, to) for file in files]
    for file in files:
        check_free(file, force)
    with report_kept_files(*files), long_work("Reading", quiet=json) as tell:
        dataset = source.load()
        tell(f"Splitting {dataset.n_samples} rows")
        rows = range(dataset.n_samples)
        parts = labelance.model_selection.multilabel_train_test_split(
            list(rows), dataset.Y, sizes=shares, order=order, random_state=seed
        )[: len(shares)]
        tell("Writing")
        taken = [dataset.take(part) for part in parts]
        tell_losses(*zip(taken, formats))
        for part, file, format in zip(taken, files, formats):
            write(part, file, format=format, force=force)
    _report_split(files, [len(part) for part in parts], as_json=json)


def _report_split(files: list[Path], n_rows: list[int], *, as_json: bool) -> None:
    if as_json:
        print_json([{"file": str(f), "rows": rows} for f, rows in zip(files, n_rows)])
        return
    n = sum(n_rows)
    lines = [(str(f), str(rows), f"{rows / n:.3f}") for f, rows in zip(files, n_rows)]
    print_table(f"{n} rows", ("file", "rows", "share"), lines)


def _parse(sizes: str, output: str) -> tuple[tuple[Any, ...], list[Path]]:
    try:
        shares = tuple(int(s) if s.strip().isdigit() else float(s) for s in sizes.split(","))
    except ValueError:
        raise InputError("--sizes must be numbers such as 0.6,0.2,0.2", f"Got {sizes!r}") from None
    files = [Path(name.strip()) for name in output.split(",")]
    if Path(STREAM) in files:
        raise InputError("The parts of a split must go to files", "-o is -, standard output")
    if not len(shares) == len(files) == len(set(files)):
        found = f"Got {len(shares)} parts and {len(set(files))} files"
        raise InputError("Every part of a split needs its own file", found)
    return shares, files


PageOption = Annotated[Path, output_option("Where to write the page, an HTML file.")]
TitleOption = Annotated[str | None, option("The heading; the name of DATA by default.")]


@takes_options
def profile(
    source: Source,
    output: PageOption,
    search: Search,
    title: TitleOption = None,
    force: ForceOption = False,
) -> None:
    """Write a page about multi-label data: how imbalanced it is, label by label.

    One file that opens offline: a summary, all labels to search and sort, labels that occur
    together, what neighbors know, rows that look mislabelled, folds and a map. What to do about
    the imbalance: labelance advise DATA.
    """
    check_page(output, force)
    with report_kept_files(output):
        dataset, vectors = source.load_mixed()
        found = _measure(search, dataset, vectors)
        found.to_html(output, title=title or source.data)
    say(f"{output}: {found.n_samples} rows, {found.n_labels} labels, MeanIR {found.mean_ir:.3f}")


@takes_options
def compare(
    source: Source,
    after: Annotated[str, argument("AFTER", "The same data after a sampler, read alike.")],
    output: PageOption,
    search: Search,
    title: TitleOption = None,
    force: ForceOption = False,
) -> None:
    """Write a page that shows data before and after a sampler, side by side."""
    from labelance.datasets._dataset import find_texts, leave_out

    check_page(output, force)
    with report_kept_files(output):
        datasets = source.load_mixed()[0], _load_after(source, after)
        # Copied texts have another vocabulary, so that the two would have no feature in common.
        texts = list(dict.fromkeys(name for one in datasets for name in find_texts(one)))
        if texts:
            say(f"note: texts and ids are not compared: {show_names(texts, 5)}", to=errors)
        first, second = (_measure(search, leave_out(one, texts), {}) for one in datasets)
        first.to_html(output, title=title or f"{source.data} and {after}", after=second)
    say(
        f"{output}: {first.n_samples} -> {second.n_samples} rows, "
        f"MeanIR {first.mean_ir:.3f} -> {second.mean_ir:.3f}"
    )


# What says how labels are read from a file that was not written by a sampler.
_HOW_TO_READ = (
    "labels", "present", "unknown", "missing_labels", "multi_class", "label_separator", "ignore",
)  # fmt: skip


def _load_after(source: Source, after: str) -> MultiLabelDataset:
    """Read AFTER like DATA, or as `labelance resample` wrote it, with its labels in columns."""
    alike = replace(source, data=after)
    try:
        return alike.load_mixed()[0]
    except InputError as problem:
        try:
            own: dict[str, Any] = dict.fromkeys(_HOW_TO_READ)
            return replace(alike, **own).load_mixed()[0]
        except InputError:
            raise problem from None


def _measure(search: Search, dataset: MultiLabelDataset, vectors: Any) -> ImbalanceProfile:
    with long_work(f"Looking at {dataset.n_samples} rows"):
        return search.measure(dataset, vectors)


@takes_options
def play(
    source: Source | None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen at; 0 takes a free one.")
    ] = 0,
    no_browser: Annotated[bool, option("Only print the address.", "--no-browser")] = False,
) -> None:
    """Open a playground in the browser: what MLSOL sees and makes, at each move of a point.

    Without DATA it begins with figures of the paper, whose points can be dragged, labelled, added
    and removed. DATA is shown as a map of its first two principal components.
    """
    map_dataset = labelance.play.map_dataset
    scene = None if source is None else map_dataset(source.load(), title=source.data)
    with labelance.play.Playground(port, data=scene) as playground:
        say(f"The playground is at {playground.url} (Ctrl-C ends it)")
        if not no_browser:
            # Some browsers run inside the terminal, and would keep the server from answering.
            opening = partial(webbrowser.open, playground.url)
            threading.Thread(target=opening, daemon=True).start()
        try:
            playground.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            say("The playground is closed", to=errors)
            raise
