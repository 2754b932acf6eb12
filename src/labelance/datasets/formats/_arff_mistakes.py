"""What an ARFF row can get wrong: what was asked, what came, what to do."""

from labelance.datasets.formats import _arff_rows as row

# Mistakes in the values of a row, beside those in its form.
NOT_A_NUMBER, UNKNOWN_VALUE = 101, 102

MISTAKES: dict[int, tuple[str, str, str]] = {
    row.TOO_FEW: (
        "A row has {width} values, one for every attribute",
        "this one has {column}",
        "Add the values that are missing, ? where they are unknown",
    ),
    row.TOO_MANY: (
        "A row has {width} values, one for every attribute",
        "this one has more",
        "Remove what is too much, and quote values with commas or spaces",
    ),
    row.EMPTY: (
        "There is a value before every comma",
        "the value of {name!r} is empty",
        "Write ? for a missing value",
    ),
    row.UNCLOSED: (
        "A quoted value ends on its line",
        "the value of {name!r} does not",
        "Close the quote",
    ),
    row.OPEN_ROW: (
        "A sparse row ends with a brace",
        "this one does not",
        "Check that the file is whole, and close the row with }}",
    ),
    NOT_A_NUMBER: (
        "{name!r} is numeric",
        "its value is {token!r}",
        "Write a number or ?, or declare the attribute nominal",
    ),
    UNKNOWN_VALUE: (
        "The value of {name!r} is one that its attribute line declares",
        "it is {token!r}",
        "Declare this value, or correct it",
    ),
    row.WEIGHT: (
        "Rows have no weights",
        "this one is followed by {token!r}, as a weight is",
        "Remove the weights; samples all count the same here",
    ),
    row.WRONG_KIND: (
        "Rows are all dense or all sparse, as the first one is",
        "there is {token!r}",
        "Write all rows in the same way",
    ),
    row.BAD_INDEX: (
        "A cell of a sparse row is the number of a column, from 0 to {width} less one, and a value",
        "there is {token!r}",
        "Correct the cell",
    ),
    row.NO_VALUE: (
        "A cell of a sparse row is the number of a column and a value",
        "column {column} has no value",
        "Write the value, ? where it is unknown",
    ),
    row.UNORDERED: (
        "The columns of a sparse row increase",
        "column {column} comes too late or twice",
        "Sort the cells of the row",
    ),
    row.TRAILING: (
        "Cells are parted by commas and a row ends with its line",
        "there is {token!r}",
        "Correct the row, and quote values with spaces",
    ),
}
