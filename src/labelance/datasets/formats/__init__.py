"""Read and write files of multi-label data: ARFF, CSV, TSV, Parquet, LibSVM text and NPZ."""

from labelance.datasets.formats._read_write import read_multilabel, write_multilabel

# Public from `labelance.datasets`.
__all__ = ["read_multilabel", "write_multilabel"]
