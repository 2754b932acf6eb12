"""``labelance advise``, ``fit`` and ``predict``: from a file to a model, and on to labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Literal
from zipfile import BadZipFile

import numpy as np
import typer

import labelance
from labelance._progress import is_interactive
from labelance._utils._files import replace_when_done
from labelance._utils._messages import did_you_mean, optional_import, plural, show_names
from labelance.cli._console import (
    errors,
    long_work,
    only_results_on_stdout,
    print_json,
    report_kept_files,
    say,
    use_names,
)
from labelance.cli._data import (
    ForceOption,
    JsonOption,
    SeedOption,
    Source,
    argument,
    check_free,
    check_is_file,
    join_vectors,
    option,
    output_option,
    split_names,
    takes_options,
)
from labelance.cli._scores import (
    LabelColumns,
    check_suffix,
    is_id_name,
    read_ids,
    read_table,
    write_decisions,
)
from labelance.exceptions import InputError

if TYPE_CHECKING:
    from labelance.datasets import MultiLabelDataset

Learner = Literal["default", "logistic", "forest"]

# Types that models of `labelance fit` need beyond those of labelance and those that skops trusts.
_TRUSTED = {
    "numpy.dtype",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.tree._tree.Tree",
}


@takes_options
def advise(
    source: Source,
    budget: Annotated[float, typer.Option(help="Time budget in seconds for the comparison.")] = 120,
    measure: Annotated[
        Literal["macro_f1", "macro_auc_roc", "macro_auc_pr", "neg_macro_brier_loss"],
        typer.Option(help="What decides: decisions, rankings (two ways) or probabilities."),
    ] = "macro_f1",
    seed: SeedOption = 0,
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


@takes_options
def fit(
    source: Source,
    output: Annotated[Path, output_option("Where to write the model, a .skops file.")],
    learner: Annotated[
        Learner,
        typer.Option(
            help="RareLabelClassifier (default), or logistic regressions or a random forest with a "
            "threshold for each label."
        ),
    ] = "default",
    seed: SeedOption = 0,
    jobs: Annotated[int, typer.Option(help="Threads; the model does not depend on it.")] = 1,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Fit a model to a data file, and save it for `labelance predict`.

    Texts, categories, numbers and (Parquet) vectors are read; ids and dates are left out. With
    --missing-labels keep or --unknown -1, each label learns from the rows in which it is known.
    """
    import pandas

    if output.suffix != ".skops":
        name = output.with_suffix(".skops") if output.name.strip("-.") else "model.skops"
        raise InputError("A model is saved as a .skops file", f"Got -o {output}", f"Use -o {name}")
    check_free(output, force)
    skops_io = _import_skops("labelance fit")
    began = perf_counter()
    with report_kept_files(output), long_work("Reading", quiet=json) as tell:
        rows = load_rows(source)
        model = _make_model(learner, rows, seed, jobs)
        X = rows.X if learner == "default" else _fill_texts(rows.X)
        tell(f"Fitting {rows.dataset.n_samples} rows")
        # Labels as a frame, so that the model knows their names.
        names = list(rows.dataset.label_names)
        model.fit(X, pandas.DataFrame(rows.dataset.Y.toarray(), columns=names))
        tell("Writing")
        with replace_when_done(output) as temporary:
            skops_io.dump(model, temporary)
    dataset, seconds = rows.dataset, perf_counter() - began
    if json:
        print_json({
            "model": str(output), "learner": learner, "rows": dataset.n_samples,
            "columns": rows.names, "labels": list(dataset.label_names),
            "left_out": rows.left_out, "bytes": output.stat().st_size, "seconds": seconds,
        })  # fmt: skip
        return
    for name, why in rows.left_out.items():
        say(f"left out: {name} ({why})", to=errors)
    first = f" ({', '.join(rows.names[:3])}{', …' * (len(rows.names) > 3)})" if rows.names else ""
    say(
        f"{output}: {type(model).__name__} of {plural(dataset.n_samples, 'row')}, "
        f"{plural(X.shape[1], 'column')}{first} and {plural(dataset.n_labels, 'label')}, "
        f"{output.stat().st_size / 1e6:.1f} MB, in {seconds:.0f} s"
    )


def predict(
    model: Annotated[Path, argument("MODEL", "A file of labelance fit.")],
    data: Annotated[
        Path,
        argument("DATA", "New rows with the columns of fit, in a file of any format."),
    ],
    output: Annotated[Path, output_option("Where to write labels: CSV, TSV, Parquet or NPZ.")],
    scores: Annotated[bool, option("Write probabilities in place of 0 and 1.", "--scores")] = False,
    id_: Annotated[
        str | None,
        option("The column that names rows; by default one that the model does not use.", "--id"),
    ] = None,
    encoding: Annotated[str, typer.Option(help="The encoding of a text file.")] = "UTF-8",
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Predict the labels of new rows with a model of `labelance fit`.

    Columns are found by their names; ids go to the output, and other columns are not used. The
    file is opened with skops, which runs no code: types that labelance does not know are refused.
    """
    check_suffix(output)
    check_free(output, force)
    with report_kept_files(output), long_work("Reading", quiet=json) as tell:
        fitted = _open_model(model)
        rows = _read_rows(data, fitted, id_, encoding)
        n_rows = rows.X.shape[0]
        tell(f"Predicting {n_rows} rows")
        found = fitted.predict_proba(rows.X) if scores else fitted.predict(rows.X)
        names = getattr(fitted, "label_names_", None)
        names = [str(name) for name in names or range(found.shape[1])]
        tell("Writing")
        ids = LabelColumns(data, found, tuple(names), rows.ids, rows.id_name)
        write_decisions(output, found, ids, names)
    if json:
        print_json({
            "output": str(output), "rows": n_rows, "labels": names, "scores": scores,
            "id": rows.id_name if rows.ids is not None else None, "not_used": rows.unused,
        })  # fmt: skip
        return
    if rows.unused:
        say(f"not used: {show_names(rows.unused)}", to=errors)
    what = "scores" if scores else plural(int(found.sum()), "label")
    say(f"{output}: {what} of {plural(n_rows, 'row')}")


# --- models ---------------------------------------------------------------------------------------


def _import_skops(purpose: str) -> Any:
    return optional_import("skops.io", extra="cli", purpose=purpose)


def _make_model(learner: Learner, rows: Rows, seed: int, jobs: int) -> Any:
    if learner == "default":
        return labelance.RareLabelClassifier(random_state=seed, n_jobs=jobs)
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    from labelance.advice._learners import C_DENSE, C_SPARSE
    from labelance.decisions import LabelThresholds
    from labelance.learners import BinaryRelevance

    unknown = np.isnan(rows.dataset.Y.data).any()
    if learner == "logistic":
        C = C_SPARSE if not rows.kinds or "text" in rows.kinds.values() else C_DENSE
        inner: Any = BinaryRelevance(LogisticRegression(C=C, max_iter=1000), n_jobs=jobs)
    else:
        inner = RandomForestClassifier(n_jobs=jobs, random_state=seed)
        inner = BinaryRelevance(inner) if unknown else inner
    return LabelThresholds(make_pipeline(*_make_encoder(rows), inner), random_state=seed)


def _make_encoder(rows: Rows) -> list[Any]:
    """Return what makes numbers of texts, categories and gaps, from scikit-learn."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

    from labelance._validation._column_groups import choose_vectorizer, nothing_left

    if not rows.kinds:  # a sparse table
        return [MaxAbsScaler()]
    by_kind: dict[str, list[str]] = {}
    for name, kind in rows.kinds.items():
        by_kind.setdefault(kind, []).append(name)
    if "embedding" in by_kind:
        found = f"{by_kind['embedding'][0]!r} holds vectors"
        cure = (
            "Remove --learner, leave the column out with --ignore, or write it as X of an NPZ file"
        )
        raise InputError("Only the default learner reads columns of vectors", found, cure)
    texts = {name: choose_vectorizer(rows.X[name]) for name in by_kind.get("text", ())}
    # Texts that are all equal, or share no term.
    rows.left_out.update({name: why for name, why in texts.items() if isinstance(why, str)})
    if len(rows.left_out.keys() & rows.kinds) == len(rows.kinds):
        raise nothing_left(rows.left_out, "labelance fit")
    steps: list[Any] = [(made, name) for name, made in texts.items() if not isinstance(made, str)]
    if "category" in by_kind:
        steps.append((OneHotEncoder(handle_unknown="ignore"), by_kind["category"]))
    if "number" in by_kind:
        scaled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
        steps.append((scaled, by_kind["number"]))
    return [make_column_transformer(*steps)]


def _open_model(path: Path) -> Any:
    """Return the model in a file of skops; raise for types that labelance does not trust."""
    skops_io = _import_skops("labelance predict")
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    check_is_file(path)
    try:
        named = skops_io.get_untrusted_types(file=path)
    except (BadZipFile, KeyError, ValueError, TypeError) as problem:
        found = f"{path} is no skops file ({type(problem).__name__})"
        cure = "Pickles are not opened, since that runs code: save the model with skops.io.dump"
        raise InputError("MODEL must be a file that labelance fit wrote", found, cure) from problem
    unknown = [name for name in named if name not in _TRUSTED and not name.startswith("labelance.")]
    if unknown:
        found = f"It names {show_names(unknown)}"
        cure = "If you trust its author, open it in Python: skops.io.load(path, trusted=[…])"
        raise InputError(f"{path} needs types that labelance does not trust", found, cure)
    model = skops_io.load(path, trusted=named)
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        model = None
    if not hasattr(model, "predict"):
        raise InputError("MODEL must hold a fitted classifier", f"{path} holds something else")
    return model


# --- rows -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rows:
    """Training rows: a frame, or a sparse table without names."""

    X: Any
    dataset: MultiLabelDataset
    kinds: dict[str, str]  # of the columns of a frame
    left_out: dict[str, str]

    @property
    def has_vectors(self) -> bool:
        return "embedding" in self.kinds.values()

    @property
    def names(self) -> list[str] | None:
        return list(self.kinds) or None


def load_rows(source: Source) -> Rows:
    """Read training rows, without ids, dates and the like."""
    from labelance._arrays._mixed import REASONS, open_source
    from labelance._arrays._open import take_columns

    dataset, vectors = source.load_mixed()
    if dataset.is_sparse:
        return Rows(dataset.X, dataset, {}, {})
    X = join_vectors(dataset, vectors)
    columns = open_source(X)
    assert columns is not None
    kinds: dict[str, str] = {name: columns.find_kind(name) for name in columns.names}
    left_out = {name: REASONS[kind] for name, kind in kinds.items() if kind in REASONS}
    if len(left_out) == len(kinds):
        only = f"{show_names(kinds)}, ids or dates" if kinds else "labels alone"
        raise InputError("A model needs columns to learn from", f"{source.data} has {only}")
    kept = [j for j, name in enumerate(kinds) if name not in left_out]
    forms = {"numbers": "number", "words": "category", "missing": "number", "other": "category"}
    kinds = {
        name: forms[columns.form(name)] if kind == "table" else kind
        for name, kind in kinds.items()
        if name not in left_out
    }
    return Rows(take_columns(X, np.array(kept)), dataset, kinds, left_out)


def _fill_texts(X: Any) -> Any:
    """Return a frame with empty texts where texts are missing, as scikit-learn needs them."""
    if not hasattr(X, "loc"):  # a sparse table
        return X
    from pandas.api.types import is_numeric_dtype

    strings = [name for name in X.columns if not is_numeric_dtype(X[name].dtype)]
    filled = {name: X[name].astype(object).where(X[name].notna(), "") for name in strings}
    return X.assign(**filled)


@dataclass(frozen=True)
class _NewRows:
    """Rows to predict."""

    X: Any
    ids: list[str] | None
    id_name: str
    unused: list[str]


def _read_rows(path: Path, model: Any, id_name: str | None, encoding: str) -> _NewRows:
    """Read the columns that a model uses, by name, and the ids of the rows."""
    import scipy.sparse as sp

    from labelance.datasets.formats._parquet import read_vectors
    from labelance.datasets.formats._read_write import find_format

    check_is_file(path)
    kind = find_format(path, None)
    if kind in ("npz", "libsvm"):
        options = {"n_features": model.n_features_in_} if kind == "libsvm" else {}
        dataset = labelance.datasets.read_multilabel(path, **options)
        names = list(dataset.feature_names) if kind == "npz" else None
        return _NewRows(_match_columns(dataset, names, model, path, {}), None, "id", [])
    vectors = read_vectors(path) if kind == "parquet" else {}
    table = read_table(path, kind, encoding, ignore=list(vectors))
    words = [name for name in _word_columns(model) if name in table.names]
    if kind in ("csv", "tsv") and any(
        table.categories[table.names.index(name)] is None for name in words
    ):  # words that look like numbers here
        table = read_table(path, kind, encoding, words=words)
    wanted = [str(name) for name in getattr(model, "feature_names_in_", ())]
    labels = [str(name) for name in getattr(model, "label_names_", None) or ()]
    extras = [name for name in table.names if wanted and name not in (*wanted, *labels)]
    own = _find_id(table, extras, id_name)
    ids = None
    if own is not None:
        ids = read_ids(table, kind, table.names.index(own))
    others = {own, *labels}.difference(wanted)
    used = table.take(np.flatnonzero([name not in others for name in table.names]))
    no_labels = sp.csr_array((table.cells.shape[0], 1))
    dataset = labelance.datasets.MultiLabelDataset(
        used.cells, no_labels, feature_names=used.names, categories=used.categories
    )
    X = _match_columns(dataset, list(used.names), model, path, vectors)
    return _NewRows(X, ids, own or "id", [name for name in extras if name != own])


def _match_columns(
    dataset: MultiLabelDataset,
    names: list[str] | None,
    model: Any,
    path: Path,
    vectors: dict[str, Any],
) -> Any:
    """Return the columns that a model was fitted with, in its order; by place without names."""
    wanted = getattr(model, "feature_names_in_", None)
    if wanted is None or names is None:
        return dataset.X
    missing = [name for name in wanted if name not in names and name not in vectors]
    if missing:
        there = show_names([name or repr(name) for name in (*names, *vectors)]) or "ids only"
        cure = f"{did_you_mean(missing[0], names)}Add it, or fit again with --ignore"
        problem = f"{path} must have the columns that the model was fitted with"
        raise InputError(problem, f"Missing: {show_names(missing)}. It has {there}", cure)
    X = dataset.to_frame()[0]
    for name in wanted:
        if name in vectors:
            X[name] = vectors[name]
    X = X[list(wanted)]
    inner = type(getattr(model, "estimator", None)).__name__
    return _fill_texts(X) if inner == "Pipeline" else X


def _find_id(table: Any, names: list[str], wanted: str | None) -> str | None:
    """Return the column that names the rows, of those that the model does not use."""
    from labelance._arrays._words import find_kind
    from labelance.datasets.formats._labels import find_columns

    if wanted is not None:
        find_columns(table.file, table.names, wanted, "--id")
        return wanted
    n_rows = table.cells.shape[0]
    words = {name: table.categories[table.names.index(name)] for name in names}
    by_name = [name for name in names if is_id_name(name)]
    own = [name for name, values in words.items() if values and len(values) == n_rows]
    own = [name for name in own if find_kind(words[name] or (), n_rows) != "text"]
    return next(iter([*by_name, *own]), None)


def _word_columns(model: Any) -> list[str]:
    """Return the columns that a model read as words, whose digits are no numbers."""
    from labelance._validation._column_groups import ColumnGroups

    inner: Any = getattr(model, "estimator_", None)
    if type(inner).__name__ == "Pipeline":
        fitted = getattr(inner[0], "transformers_", ())
        listed = [columns for name, _, columns in fitted if name.startswith(("tfidf", "onehot"))]
        return [str(name) for columns in listed for name in np.atleast_1d(columns)]
    found = [value for value in vars(model).values() if isinstance(value, ColumnGroups)]
    groups = [
        str(name)
        for one in found
        for name, form in ({n: c.form for n, c in one.columns.items()} | dict(one.table)).items()
        if form == "words"
    ]
    schema = getattr(model, "_schema", None)
    if schema is None or schema.names is None:
        return groups
    return [*groups, *(str(schema.names[j]) for j in schema.categories)]
