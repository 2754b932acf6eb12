"""CSV and TSV: a header of names, then a row a line; columns of numbers or of words.

Quotes are doubled inside quotes, and a quoted cell may go over several lines. pandas reads the
cells. Three things that it does not tell are settled here: whether a row is short, whether a cell
that looks missing was quoted, and which line is wrong.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice, product
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance.datasets._dataset import Categories, MultiLabelDataset
from labelance.datasets.formats._labels import Table, check_no_repeated_names, find_columns
from labelance.datasets.formats._text_file import (
    BLANKS,
    CellWriter,
    TextFile,
    is_number,
    read_frame,
)
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
    separator = _find_separator(text) if separator is None else separator
    if len(separator) != 1 or not separator.isascii() or separator.isalnum() or separator in '"\n':
        cure = "Use ',', ';' or '\\t'"
        raise InputError("separator must be one character", f"Got separator={separator!r}", cure)
    text, inside = _tidy(file, text, separator.encode())
    sheet = _Sheet(file, text, separator)
    line, after, header = next(sheet.rows(), (1, 1, ()))
    if not header:
        raise file.error(
            "The first line must hold the column names", "It is empty", "Add a header", line=1
        )
    # Spreadsheets write cells that are not used, and an index may have no name.
    blank = [j for j, cell in enumerate(header) if not cell.strip(BLANKS)]
    names = tuple(
        f"column {j + 1}" if j in blank[1:] else cell.strip(BLANKS).strip(_GUARD)
        for j, cell in enumerate(header)
    )
    check_no_repeated_names(file, names, [line] * len(names))
    texts = find_columns(file, names, categorical, arg("categorical", ...))
    ignored = find_columns(file, names, ignore, arg("ignore", ...))
    frame = _read_frame(sheet, after, len(names), inside, set(texts))
    ignored += [j for j in blank if frame[j].isna().all()]
    cells, categories = _read_columns(frame, texts, ignored)
    if not len(cells):
        raise file.error("The file has a header and no rows", "Rows must follow the header")
    table = Table(
        file=file,
        names=names,
        categories=categories,
        cells=cells,
        line_of=lambda row: next(islice(sheet.rows(), row + 1, None), (None,))[0],
        guesses=True,
    )
    return table.take(np.delete(np.arange(len(names)), ignored)) if ignored else table


def _read_frame(sheet: _Sheet, first: int, width: int, inside: int, texts: set[int]) -> Any:
    """Return the cells from line ``first`` on; columns in ``texts``, and of words, as texts.

    ``inside`` counts the separators inside quotes.
    """
    below = sheet.text[sum(map(len, islice(io.BytesIO(sheet.text), first - 1))) :]
    kinds = dict.fromkeys(texts, str)  # categories of numbers would be written again: 7.0 for 007
    try:
        frame = read_frame(below, sheet.separator, width, dtype=kinds, na_values=_MISSING)
        # No row is too long, so that none is short if all, and the header, have what they need.
        if sheet.text.count(sheet.separator.encode()) - inside != (len(frame) + 1) * (width - 1):
            raise ValueError(f"A row has not {width} cells")
    except ValueError as problem:
        sheet.check_widths(width)
        raise sheet.file.error("The file must be CSV", str(problem)) from problem
    # True and TRUE would be one.
    flags = {j for j in range(width) if frame[j].dtype == object and _has_flags(frame[j])}
    if flags - texts:
        return _read_frame(sheet, first, width, inside, texts | flags)
    return frame


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


def _tidy(file: TextFile, text: bytes, separator: bytes) -> tuple[bytes, int]:
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
            raise _bad_quotes(file, text, separator, match)
        inside += value.count(separator)
        odd = _MISSING_WORD.fullmatch(value.decode()) or value != value.strip(b" \t")
        guard = _GUARD.encode() if odd else b""
        return b'"' + guard + value + guard + b'"'

    quoted = rb'(?:\A|(?<=[%b\n]))[%b]*+"((?:[^"]|"")*+)("?+)[%b]*+(?=([%b\n])?)' % (
        s, blanks, blanks, s
    )  # fmt: skip
    return re.sub(rb"%b|[%b]++(?=[%b\n])" % (quoted, blanks, s), tidy, text), inside


def _bad_quotes(
    file: TextFile, text: bytes, separator: bytes, match: re.Match[bytes]
) -> DataFileError:
    line, start = text.count(b"\n", 0, match.start()) + 1, text.rfind(b"\n", 0, match.start()) + 1
    where = f"cell {text.count(separator, start, match.start()) + 1}"
    found = f"Something follows in {where}" if match[2] else f"That of {where} never ends"
    cure = "Close the quote, or double the quotes inside quotes"
    return file.error("A quoted cell must end with its quote", found, cure, line=line)


def _parse(text: bytes, separator: str) -> Any:
    """Return a reader of rows, for the header and for what is wrong."""
    stream = io.TextIOWrapper(io.BytesIO(text), "utf-8", newline="\n")
    return csv.reader(stream, delimiter=separator, skipinitialspace=True)


class _Sheet(NamedTuple):
    """A file of separated values, without blanks after cells."""

    file: TextFile
    text: bytes
    separator: str

    def rows(self) -> Iterator[tuple[int, int, Sequence[str]]]:
        """Yield first line, line after and cells of the rows that are not empty, header first.

        Cells are guarded as `_tidy` does it.
        """
        reader, line = _parse(self.text, self.separator), 1
        with suppress(csv.Error):  # a cell that is too long; pandas reads it
            for row in reader:
                if row:
                    yield line, reader.line_num + 1, row
                line = reader.line_num + 1

    def check_widths(self, width: int) -> None:
        """Raise for a row that has not as many cells as the header."""
        for line, _, cells in self.rows():
            if len(cells) != width:
                problem = f"Every row must have {width} cells, like the header"
                cure = f"Leave missing cells empty, and quote cells with a {self.separator!r}"
                raise self.file.error(problem, f"This one has {len(cells)}", cure, line=line)


def _find_separator(text: bytes) -> str:
    """Return what separates cells: what cuts the header and the first row into most cells alike."""
    widths = {separator: _first_widths(text, separator) for separator in ",;\t|"}
    alike = {separator: w[0] for separator, w in widths.items() if len({*w}) == 1 and w[0] > 1}
    if alike:
        return max(alike, key=alike.__getitem__)
    return next((separator for separator, w in widths.items() if w and w[0] > 1), ",")


def _first_widths(text: bytes, separator: str) -> list[int]:
    """Return how many cells a separator makes of the header and of the first row."""
    widths = []
    with suppress(csv.Error):
        for row in islice(filter(None, _parse(text, separator)), 2):
            widths.append(len(row))
    return widths


def check_no_decimal_commas(
    file: TextFile, data: MultiLabelDataset, categorical: Collection[str], separator: str | None
) -> None:
    """Raise where numbers with a decimal comma would be taken for words."""
    named = zip(data.feature_names, data.categories)
    words = {name: values for name, values in named if values and name not in categorical}
    for name, values in words.items():
        commas = [value for value in values if "," in value]
        if not commas or not all(map(_DECIMAL.fullmatch, values)):
            continue
        separator = separator or _find_separator(file.read())
        is_utf8 = codecs.lookup(file.encoding).name == "utf-8"
        options = f"sep={separator!r}" + f", encoding={file.encoding!r}" * (not is_utf8)
        if separator == "," and all(map(_THOUSANDS.fullmatch, values)):
            problem, options = "Numbers must not have commas", options + ", thousands=','"
        else:
            problem, options = "Numbers must have a decimal point", options + ", decimal=','"
            options += ", thousands='.'" * any(map(_POINTS.match, chain(*words.values())))
        convert = f"pandas.read_csv({str(file.path)!r}, {options}).to_csv('new.csv', index=False)"
        cure = f"Convert the file by {convert}, or add the column to {arg('categorical', ...)}"
        raise file.error(problem, f"Column {name!r} has {commas[0]!r}", cure)


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
        problem = "CSV cannot hold carriage returns and zero bytes"
        raise InputError(problem, f"{word!r} has one", "Rename it, or write another format")
    return '"' + word.replace('"', '""') + '"' if _ODD.search(word) or not word else word
