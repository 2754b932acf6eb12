"""CSV and TSV: a header of names, then a row a line; columns of numbers or of words.

Quotes are doubled inside quotes, and a quoted cell may go over several lines. pandas reads the
cells. Three things that it does not tell are settled here: whether a row is short, whether a cell
that looks missing was quoted, and which line is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import islice, product
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance.datasets._dataset import Categories, MultiLabelDataset
from labelance.datasets.formats._cells import BLANKS, is_number, read_frame
from labelance.datasets.formats._labels import Table, check_no_repeated_names, find_columns
from labelance.datasets.formats._text_file import CellWriter, TextFile
from labelance.exceptions import DataFileError, InputError, arg

# What must be quoted: what would be read as missing, and what would not be read as one cell.
_MISSING_WORD = re.compile(r"|\?|NA|(?i:nan|null)")
_MISSING = ["", "?", "NA", *(
    "".join(letters)
    for word in ("nan", "null")
    for letters in product(*zip(word, word.upper()))
)]  # fmt: skip
# Around a quoted cell that looks missing or has blanks at its ends; no text has this character.
_GUARD = "\ufdd0"
_DECIMAL = re.compile(r"[-+]?[0-9.]*(,[0-9]+)?(e[-+]?[0-9]+)?", re.IGNORECASE)
_THOUSANDS = re.compile(r"[-+]?(0|[1-9][0-9]{0,2}(,[0-9]{3})*)(\.[0-9]+)?")
_POINTS = re.compile(r"[-+]?[0-9]{1,3}(\.[0-9]{3})+,")
_ODD = re.compile(r"[\"\n\t,;|]|^\s|\s$")


def read_csv(
    file: TextFile,
    *,
    separator: str | None = None,
    categorical: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> Table:
    """Read a file of separated values; a column with a word in it is nominal."""
    text = file.read()
    separator = _find_separator(file, text) if separator is None else separator
    if len(separator) != 1 or not separator.isascii() or separator.isalnum() or separator in '"\n':
        raise InputError(
            "separator must be one character",
            f"Got separator={separator!r}",
            "Use ',', ';' or '\\t'",
        )
    sheet = _Sheet(file, text, separator.encode())
    header = next(sheet.rows(), None)
    if header is None:
        raise file.error(
            1, "The first line must hold the column names", "It is empty", "Add a header"
        )
    names = tuple(header.values())
    check_no_repeated_names(file, names, [header.line] * len(names))
    texts = find_columns(file, names, categorical, "categorical")
    ignored = find_columns(file, names, ignore, "ignore")
    cells, categories = _read_columns(_read_frame(sheet, header, set(texts)), texts, ignored)
    if not len(cells):
        raise file.error(
            None,
            "The file has a header and no rows",
            "Rows must follow the header",
            "Check that the file is complete",
        )
    table = Table(
        file=file,
        names=names,
        categories=categories,
        cells=cells,
        line_of=lambda row: next(islice(sheet.rows(), row + 1, None)).line,
        guesses=True,
    )
    return table.take(np.delete(np.arange(len(names)), ignored)) if ignored else table


def _read_frame(sheet: _Sheet, header: _Row, texts: set[int]) -> Any:
    """Return the cells below the header; columns in ``texts``, and others of words, as texts."""
    width, separator = len(header.cells), sheet.separator
    try:
        text, inside = _tidy(sheet.text[header.end :], separator)
        kinds = dict.fromkeys(texts, "category")
        frame = read_frame(text, separator.decode(), width, dtype=kinds, na_values=_MISSING)
        # No row is too long, so that none is short if all together have what they need.
        if text.count(separator) - inside != len(frame) * (width - 1):
            raise ValueError(f"A row has not {width} cells")
    except ValueError as problem:
        sheet.check_widths(header)
        raise sheet.file.error(
            None, "The file must be CSV", str(problem), "Write it again with another program"
        ) from problem
    # True and TRUE would be one.
    flags = {j for j in range(width) if frame[j].dtype == object and _has_flags(frame[j])}
    return _read_frame(sheet, header, texts | flags) if flags - texts else frame


def _has_flags(column: Any) -> bool:
    return any(isinstance(value, bool) for value in column.unique())


def _read_columns(
    frame: Any, texts: Collection[int], ignored: Collection[int]
) -> tuple[NDArray[np.float64], Categories]:
    """Return numbers and codes, and the values of the columns of words in alphabetical order."""
    numeric = np.array([kind.kind == "f" for kind in frame.dtypes])
    cells = np.full(frame.shape, np.nan)
    cells[:, numeric] = frame.loc[:, numeric].to_numpy()
    categories: list[tuple[str, ...] | None] = [None] * len(numeric)
    for j in {*np.flatnonzero(~numeric).tolist()} - {*ignored}:
        column = frame[j].astype("category").cat
        words = [str(word).strip(BLANKS).strip(_GUARD) for word in column.categories]
        known: dict[str, float]
        if j not in texts and all(map(is_number, words)):
            known = {word: float(word) for word in words}
        else:
            ordered = sorted(set(words))
            known = {word: float(code) for code, word in enumerate(ordered)}
            categories[j] = tuple(ordered)
        cells[:, j] = np.array([*map(known.__getitem__, words), np.nan])[column.codes]
    return cells, tuple(categories)


def _tidy(text: bytes, separator: bytes) -> tuple[bytes, int]:
    """Return rows without blanks after cells, and how many separators are inside quotes.

    What is quoted and would be read as missing, or without its blanks, is guarded.
    """
    blanks = BLANKS.encode().replace(separator, b"")
    if b'"' not in text and not any(
        bytes([blank]) + end in text for blank in blanks for end in (separator, b"\n")
    ):
        return text, 0
    s, inside = re.escape(separator), 0

    def tidy(match: re.Match[bytes]) -> bytes:
        nonlocal inside
        value = match[1]
        if value is None:
            return b""
        if not match[2] or match[3] is None:
            raise ValueError("A quoted cell does not end with its quote")
        inside += value.count(separator)
        odd = _MISSING_WORD.fullmatch(value.decode()) or value != value.strip(b" \t")
        guard = _GUARD.encode() if odd else b""
        return b'"' + guard + value + guard + b'"'

    quoted = rb'(?:\A|(?<=[%b\n]))[%b]*+"((?:[^"]|"")*+)("?+)[%b]*+(?=([%b\n])?)' % (
        s, blanks, blanks, s
    )  # fmt: skip
    return re.sub(rb"%b|[%b]++(?=[%b\n])" % (quoted, blanks, s), tidy, text), inside


class _Row(NamedTuple):
    """A row: its first line, its cells, each matched, and where it ends."""

    line: int
    cells: list[re.Match[bytes]]
    end: int

    def values(self) -> Iterator[str]:
        """Yield what the cells hold."""
        for cell in self.cells:
            quoted = cell["quoted"]
            value = cell["bare"].strip(b" \t") if quoted is None else quoted.replace(b'""', b'"')
            yield value.decode()


class _Sheet(NamedTuple):
    """A file of separated values, read cell by cell: for its header, and for what is wrong."""

    file: TextFile
    text: bytes
    separator: bytes

    def rows(self) -> Iterator[_Row]:
        """Yield the rows that are not empty, the header first."""
        s, blanks = re.escape(self.separator), b" \t".replace(self.separator, b"")
        quoted = rb'"(?P<quoted>(?:[^"]|"")*+)(?P<close>"?+)[%b]*+(?P<more>[^%b\n]*+)' % (blanks, s)
        bare = rb'(?P<bare>(?!")[^%b\n]*+)' % s
        cell = re.compile(rb"[%b]*+(?:%b|%b)(?P<end>[%b\n])" % (blanks, quoted, bare, s))
        at, line = 0, 1
        while at < len(self.text):
            start, cells = at, list[re.Match[bytes]]()
            while not cells or cells[-1]["end"] != b"\n":
                match = cell.match(self.text, at)
                if match is None or match["more"]:
                    raise self._bad_quotes(line, len(cells), closed=match is not None)
                cells.append(match)
                at = match.end()
            if len(cells) > 1 or cells[0]["bare"] is None or cells[0]["bare"].strip(b" \t"):
                yield _Row(line, cells, at)
            line += self.text.count(b"\n", start, at)

    def _bad_quotes(self, line: int, column: int, *, closed: bool) -> DataFileError:
        where = f"cell {column + 1}"
        if closed:
            return self.file.error(
                line,
                "A quoted cell must end with its quote",
                f"Something follows in {where}",
                "Double the quotes inside quotes",
            )
        return self.file.error(
            line,
            "A quoted cell must be closed",
            f"The quote in {where} starts here and never ends",
            "Close the quote",
        )

    def check_widths(self, header: _Row) -> None:
        """Raise for a row that has not as many cells as the header."""
        width = len(header.cells)
        for row in self.rows():
            if len(row.cells) == width:
                continue
            too_few = len(row.cells) < width
            separator = self.separator.decode()
            raise self.file.error(
                row.line,
                f"Every row must have {width} cells, like the header",
                f"This one has {len(row.cells) if too_few else 'more'}",
                "Add the missing cells; they may be empty"
                if too_few
                else f"Remove the extra cells, and quote cells with a {separator!r}",
            )


def _find_separator(file: TextFile, text: bytes) -> str:
    """Return what separates cells: what cuts the header and the first row into most cells alike."""
    widths = {separator: _first_widths(file, text, separator) for separator in ",;\t|"}
    alike = {separator: w[0] for separator, w in widths.items() if len({*w}) == 1 and w[0] > 1}
    if alike:
        return max(alike, key=alike.__getitem__)
    return next((separator for separator, w in widths.items() if w and w[0] > 1), ",")


def _first_widths(file: TextFile, text: bytes, separator: str) -> list[int]:
    """Return how many cells a separator makes of the header and of the first row."""
    try:
        return [len(row.cells) for row in islice(_Sheet(file, text, separator.encode()).rows(), 2)]
    except DataFileError:
        return []  # raised again where the cells are read


def check_no_decimal_commas(
    file: TextFile, data: MultiLabelDataset, categorical: Collection[str], separator: str | None
) -> None:
    """Raise where numbers with a decimal comma would be taken for words."""
    for name, values in zip(data.feature_names, data.categories):
        commas = [value for value in values or () if "," in value]
        if commas and name not in categorical and all(map(_DECIMAL.fullmatch, values or ())):
            separator = separator or _find_separator(file, file.read())
            options = f"sep={separator!r}"
            if separator == "," and all(map(_THOUSANDS.fullmatch, values or ())):
                problem, options = "Numbers must not have commas", options + ", thousands=','"
            else:
                problem, options = "Numbers must have a decimal point", options + ", decimal=','"
                if any(
                    _POINTS.match(value) for column in data.categories for value in column or ()
                ):
                    options += ", thousands='.'"
            raise file.error(
                None,
                problem,
                f"Column {name!r} has {commas[0]!r}",
                f"Convert the file, for example pandas.read_csv({str(file.path)!r}, {options})"
                f".to_csv('new.csv', index=False), or add the column to {arg('categorical', ...)}",
            )


def write_csv(data: MultiLabelDataset, out: BinaryIO, *, separator: str = ",") -> None:
    """Write a dataset as separated values, labels last, missing cells empty."""
    writer = CellWriter(data, _quote_value, missing="", infinity="inf")
    names = separator.join(map(_quote_name, (*data.feature_names, *data.label_names)))
    out.write(f"{names}\n".encode())
    for rows in writer.dense_rows():
        out.write("\n".join([*map(separator.join, rows), ""]).encode())


def _quote_value(word: str) -> str:
    return f'"{word}"' if _MISSING_WORD.fullmatch(word) else _quote_name(word)


def _quote_name(word: str) -> str:
    if "\r" in word or "\0" in word:
        raise InputError(
            "CSV cannot hold carriage returns and zero bytes",
            f"{word!r} has one",
            "Rename it, or write another format",
        )
    return '"' + word.replace('"', '""') + '"' if _ODD.search(word) or not word else word
