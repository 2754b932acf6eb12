"""Read and write files of multi-label data: ARFF, CSV, TSV, Parquet, LibSVM text and NPZ."""

from labelance.datasets.formats._labels import (
    label_file_beside,
    label_file_bytes,
    matches_pattern,
    read_label_names,
)
from labelance.datasets.formats._parquet import has_dates, list_parquet, restore_dates, to_arrow
from labelance.datasets.formats._read_write import (
    DatasetBlocks,
    find_format,
    read_multilabel,
    write_multilabel,
)
from labelance.datasets.formats._text_file import (
    DEFAULT_BUDGET,
    find_budget,
    format_amount,
    parse_amount,
)
from labelance.datasets.formats._tokenizer import BAD, KNOWN, UNDECIDED, parse_number

# Public from `labelance.datasets`; what is not listed is for our own packages and tests.
__all__ = ["read_multilabel", "write_multilabel"]
