"""Tell texts, vectors, ids and dates in X from a table, and make numbers of the first two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer

from labelance._arrays._cells import join_columns
from labelance._arrays._mixed import REASONS, Form, SingleSource, Source, open_source
from labelance._arrays._words import has_no_blanks, is_missing, sample_strings
from labelance._utils._messages import plural, show_names
from labelance._validation._data import check_not_empty, validate_features
from labelance.exceptions import InputError

BlockKind = Literal["text", "embedding", "table"]

MOST_TERMS = 200_000  # of a text column: the most frequent ones
_MIN_ROWS = ((1000, 3), (100, 2))  # rows of X, and in how many of them terms must be
_THINGS: dict[Form, str] = {
    "words": "strings",
    "vectors": "vectors",
    "numbers": "numbers",
    "dates": "dates or times",
    "missing": "no values",
    "other": "other objects",
}


class Block(NamedTuple):
    """Columns of X that belong together.

    Attributes
    ----------
    name : object
        The column of X; "text" or "embedding" where X is a single column without a name, "table"
        for all other columns.
    kind : {"text", "embedding", "table"}
        What ``native`` is: a CSR array of float32 TF-IDF, a float32 array, or the other columns
        as the user gave them.
    native : Any
        The rows.
    """

    name: Any
    kind: BlockKind
    native: Any


@dataclass(frozen=True, eq=False)
class ColumnGroups:
    """What the columns of X are, learned from training rows.

    Attributes
    ----------
    columns : dict
        A `TextColumn` or `VectorColumn` for every block but the table, by name.
    table : dict
        What the cells of the other columns are, by name; empty where X has no names.
    omitted : dict
        Why columns are left out, by name.
    whole : bool
        Whether X goes through as it is.
    single : bool
        Whether X is a single column without a name, such as a list of texts.
    """

    columns: Mapping[Any, TextColumn | VectorColumn]
    table: Mapping[Any, Form]
    omitted: Mapping[Any, str]
    whole: bool = False
    single: bool = False

    @classmethod
    def fit(cls, X: Any, *, caller: str) -> tuple[ColumnGroups, list[Block]]:
        """Return the groups of the columns of X, and the blocks of its rows.

        Texts become TF-IDF of 1 or 2 words, or of 2 to 4 characters where a fifth of the letters
        are of a script without blanks: the 200,000 most frequent terms in 3 rows or more (2 below
        1,000 rows, 1 below 100). X without texts, vectors, ids and dates is one block, as given.
        """
        source = open_source(X)
        if source is None:
            return cls({}, {}, {}, whole=True), [_as_table(X)]
        check_not_empty(source.shape, caller, "X")
        kinds = {name: source.find_kind(name) for name in source.names}
        reasons = {name: REASONS[kind] for name, kind in kinds.items() if kind in REASONS}
        omitted = {name: why for name, why in reasons.items() if kinds[name] != "index"}
        columns: dict[Any, TextColumn | VectorColumn] = {}
        blocks = []
        for name, kind in kinds.items():
            if kind != "text" and kind != "embedding":
                continue
            learn = TextColumn.fit if kind == "text" else VectorColumn.fit
            found = learn(source.cells(name), name, caller)
            if isinstance(found, str):
                omitted[name] = found
            else:
                columns[name], rows = found
                blocks.append(Block(name, kind, rows))
        table = [name for name, kind in kinds.items() if kind in ("table", "index")]
        if blocks or any(kinds[name] == "table" for name in table):  # they tell more than an index
            omitted |= reasons
            table = [name for name in table if kinds[name] == "table"]
        if not blocks and not table:
            raise nothing_left(omitted, caller)
        forms = {name: source.form(name) for name in table}
        if not blocks and not omitted:
            return cls({}, forms, {}, whole=True), [_as_table(X)]
        if table:
            blocks.append(_as_table(source.take(table)))
        return cls(columns, forms, omitted, single=source.is_single), blocks

    def transform(self, X: Any, *, caller: str) -> list[Block]:
        """Return the blocks of other rows, those of a data frame by the names of its columns.

        All columns are checked before any work.
        """
        source = open_source(X, single=self.single)
        if self.whole:
            if source is not None:
                self._check_whole(source, caller)
            return [_as_table(X)]
        source = self._match(X, source, caller)
        check_not_empty(source.shape, caller, "X")
        forms = {name: column.form for name, column in self.columns.items()}
        _check_same(source, forms | dict(self.table), caller)
        blocks = [
            Block(name, column.kind, column.transform(source.cells(name), name, caller))
            for name, column in self.columns.items()
        ]
        return [*blocks, _as_table(source.take(list(self.table)))] if self.table else blocks

    def summary(self) -> str:
        """Return in one line what was found, and what is left out.

        Examples
        --------
        >>> from labelance._validation._column_groups import ColumnGroups
        >>> groups, _ = ColumnGroups.fit(["a fine day", "a bad day"], caller="fit")
        >>> groups.summary()
        'text: 5 terms of 1 or 2 words'
        """
        parts = [f"{name}: {column.summary()}" for name, column in self.columns.items()]
        if self.table and not self.whole:
            parts.append(f"a table of {plural(len(self.table), 'column')}")
        parts += [f"left out: {name} ({why})" for name, why in self.omitted.items()]
        return "; ".join(parts)

    def join(self, blocks: Sequence[Block], *, caller: str) -> tuple[Any, list[str]]:
        """Return all blocks as one table of numbers for distances, and the names of its columns.

        Each block has the mean squared distance of two texts without a word in common, so that
        none decides alone which rows are near: a vector is divided by the root of its total
        variance, and so is a table, with standardised numbers (the mean where they are missing)
        and a column for every category. Sparse where there are texts. Texts without any term
        share a column: rows of zeros would be nearer to all texts than these are to each other.
        """
        parts, names = [], []
        for block in blocks:
            column = None if block.kind == "table" else self.columns[block.name]
            if isinstance(column, TextColumn):
                parts.append(block.native)
                names += [f"{block.name}: {term}" for term in column.terms.split("\n")]
                empty = np.diff(block.native.indptr) == 0
                if empty.any():
                    parts.append(sp.csr_array(empty[:, None], dtype=np.float32))
                    names.append(f"{block.name}: no term")
                continue
            rows, own = (
                _as_numbers(block.native, caller)
                if column is None
                else (block.native, [f"{block.name} {j}" for j in range(block.native.shape[1])])
            )
            total = float(np.var(rows, axis=0, dtype=np.float64).sum())
            parts.append(rows / np.float32(np.sqrt(total) if total > 0 else 1.0))
            names += own
        return join_columns(parts), names

    def _check_whole(self, source: Source, caller: str) -> None:
        """Raise for texts and vectors where a table was learned."""
        if source.is_single:
            (name,) = source.names
            raise InputError(
                f"{caller} was fitted with a table",
                f"X is a single column of {_THINGS[source.form(name)]}",
            )
        for name in source.names:
            form = source.form(name)
            if self.table and name not in self.table and form in ("words", "vectors"):
                raise InputError(
                    f"{caller} was fitted without a column {name!r}",
                    f"X has {_THINGS[form]} there",
                    f"Drop it: the model knows {show_names(self.table)}",
                )
        shared = {name: form for name, form in self.table.items() if name in source.names}
        _check_same(source, shared, caller)

    def _match(self, X: Any, source: Source | None, caller: str) -> Source:
        """Return the columns of X if they are those that were learned."""
        known = [*self.columns, *self.table]
        if source is None or self.single or source.is_single:
            if source is not None and len(known) == len(source.names) == 1 and not self.table:
                cells = source.cells(source.names[0])  # a single column needs no name
                return SingleSource(cells, self.columns[known[0]].kind)
            fitted = (
                f"a single column of {known[0]}s" if self.single else f"columns {_quote(known)}"
            )
            raise InputError(
                f"{caller} was fitted with {fitted}",
                f"X is a {type(X).__name__}"
                + ("" if source is None else f" of {plural(len(source.names), 'column')}"),
            )
        missing = [name for name in known if name not in source.names]
        if missing:
            raise InputError(
                f"{caller} was fitted with columns that X does not have: {_quote(missing)}",
                f"X has {_quote(source.names)}",
            )
        new = [name for name in source.names if name not in known and name not in self.omitted]
        if new:
            raise InputError(
                f"{caller} was fitted without columns that X has: {_quote(new)}",
                f"{new[0]!r} holds {_THINGS[source.form(new[0])]}",
            )
        return source


def _check_same(source: Source, forms: Mapping[Any, Form], caller: str) -> None:
    """Raise for a column whose cells are of another kind than in fit."""
    for name, form in forms.items():
        here = source.form(name)
        if here != form and "missing" not in (here, form) and not source.is_empty(name):
            raise InputError(
                f"{caller} was fitted with {_THINGS[form]} in column {name!r}",
                f"X has {_THINGS[here]} there",
            )


def _as_numbers(table: Any, caller: str) -> tuple[np.ndarray, list[str]]:
    """Return a data frame as standardised numbers and a column for each category."""
    found = validate_features(table, caller=caller, missing="keep")
    columns, names = [], []
    for j, name in enumerate(found.names or range(found.X.shape[1])):
        cells = np.asarray(found.X[:, j], dtype=np.float64)
        if found.categorical[j]:
            words = found.container.categories()[j]
            columns += [cells == code for code in range(len(words))]
            names += [f"{name}={word}" for word in words]
            continue
        known = ~np.isnan(cells)
        spread = np.std(cells[known]) if known.any() else 0.0
        cells = np.where(known, cells, np.mean(cells[known]) if known.any() else 0.0)
        columns.append((cells - cells.mean()) / (spread if spread > 0 else 1.0))
        names.append(str(name))
    return np.column_stack(columns).astype(np.float32), names


def _as_table(native: Any) -> Block:
    return Block("table", "table", native)


def _quote(names: Sequence[Any]) -> str:
    return show_names([repr(name) for name in names])


class NothingLeftError(InputError):
    """X has ids, dates and empty columns alone."""


def nothing_left(omitted: Mapping[Any, str], caller: str) -> NothingLeftError:
    reasons = [f"{name!r}: {why}" for name, why in omitted.items()]
    return NothingLeftError(
        f"{caller} needs a column that it can learn from",
        show_names(reasons, 5),
        "Pass other columns: texts that differ, numbers or categories",
    )


# --- columns of texts and of vectors --------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TextColumn:
    """The terms of a text column, and how rare each is.

    Attributes
    ----------
    terms : str
        A line for every term, in alphabetical order: less memory, and a smaller file, than a
        dictionary.
    rarity : ndarray of float32
        The logarithm of each term's inverse frequency.
    characters : bool
        Whether terms are 2 to 4 characters, for scripts without blanks, and not 1 or 2 words.
    """

    terms: str
    rarity: np.ndarray
    characters: bool

    kind: ClassVar[BlockKind] = "text"
    form: ClassVar[Form] = "words"

    @classmethod
    def fit(
        cls, cells: Sequence[Any], name: Any, caller: str
    ) -> tuple[TextColumn, sp.csr_array] | str:
        """Return the terms of texts and their TF-IDF, or why there is nothing in them."""
        vectorizer = choose_vectorizer(cells)
        if isinstance(vectorizer, str):
            return vectorizer
        rows = vectorizer.fit_transform(_read_texts(cells))
        terms = "\n".join(vectorizer.get_feature_names_out())
        return cls(
            terms, vectorizer.idf_.astype(np.float32), vectorizer.analyzer != "word"
        ), sp.csr_array(rows)

    def transform(self, cells: Sequence[Any], name: Any, caller: str) -> sp.csr_array:
        """Return the TF-IDF of other texts; a text of unknown terms is a row of zeros."""
        return sp.csr_array(self._vectorizer.transform(_read_texts(cells)))

    def summary(self) -> str:
        """Return what the terms are."""
        unit = "2 to 4 characters" if self.characters else "1 or 2 words"
        return f"{plural(len(self.rarity), 'term')} of {unit}"

    @cached_property
    def _vectorizer(self) -> TfidfVectorizer:
        """The vectorizer, made of the terms when it is first needed."""
        terms = self.terms.split("\n")
        vectorizer = make_vectorizer(self.characters, len(terms), vocabulary=terms)
        vectorizer.idf_ = self.rarity
        return vectorizer

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_vectorizer"}


def choose_vectorizer(cells: Sequence[Any]) -> TfidfVectorizer | str:
    """Return what is to learn the terms of texts, or why there is nothing in them."""
    texts = _read_texts(cells)
    distinct = set(texts)
    if len(distinct) < 2:
        return "its texts are all " + ("equal" if distinct - {""} else "empty")
    vectorizer = make_vectorizer(has_no_blanks(sample_strings(distinct)), len(texts))
    rows_with: Counter[str] = Counter()
    analyze = vectorizer.build_analyzer()
    for text in texts:  # some word is in enough of the first few, as a rule
        terms = set(analyze(text))
        rows_with.update(terms)
        if any(rows_with[term] >= vectorizer.min_df for term in terms):
            return vectorizer
    return f"no word is in {plural(vectorizer.min_df, 'row')} or more"


def make_vectorizer(characters: bool, n: int, **more: Any) -> TfidfVectorizer:
    """Return TF-IDF of 1 and 2 words of n texts, or of 2 to 4 characters inside words."""
    return TfidfVectorizer(
        analyzer="char_wb" if characters else "word",
        ngram_range=(2, 4) if characters else (1, 2),
        sublinear_tf=True,
        min_df=next((least for many, least in _MIN_ROWS if n >= many), 1),
        max_features=MOST_TERMS,
        **{"dtype": np.float32, **more},
    )


def _read_texts(cells: Sequence[Any]) -> list[str]:
    """Return cells as texts; what is missing is an empty one."""
    return ["" if is_missing(cell) else str(cell) for cell in cells]


@dataclass(frozen=True, eq=False)
class VectorColumn:
    """A column of vectors, such as embeddings, of one length."""

    length: int

    kind: ClassVar[BlockKind] = "embedding"
    form: ClassVar[Form] = "vectors"

    @classmethod
    def fit(
        cls, cells: Sequence[Any], name: Any, caller: str
    ) -> tuple[VectorColumn, np.ndarray] | str:
        """Return the length of vectors, and their cells as an array."""
        column = cls(len(next(cell for cell in cells if not is_missing(cell))))
        return column, column.transform(cells, name, caller)

    def transform(self, cells: Sequence[Any], name: Any, caller: str) -> np.ndarray:
        """Return the cells of other vectors."""
        problem = f"{caller} needs vectors of {plural(self.length, 'number')} in column {name!r}"
        lengths = np.array([-1 if is_missing(cell) else len(cell) for cell in cells])
        if (lengths != self.length).any():
            row = int(np.flatnonzero(lengths != self.length)[0])
            found = "no vector" if lengths[row] < 0 else f"a vector of {lengths[row]}"
            raise InputError(problem, f"Row {row} has {found}")
        if not self.length:
            raise InputError(problem, "They are empty")
        with np.errstate(over="ignore"):
            rows = np.stack([np.asarray(cell, dtype=np.float32) for cell in cells])
        strange = ~np.isfinite(rows).all(axis=1)
        if strange.any():
            row = int(np.flatnonzero(strange)[0])
            raise InputError(problem, f"Row {row} has NaN or infinity, or a number beyond float32")
        return rows

    def summary(self) -> str:
        """Return what the vectors are."""
        return f"vectors of {plural(self.length, 'number')}"
