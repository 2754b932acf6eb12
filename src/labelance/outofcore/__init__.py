"""Resample, split and profile data larger than memory, from file to file.

Labels fit into memory, features do not: they are kept in a file next to the result, as arrays that
the system reads when they are used. So every sampler gives the same rows, bit for bit, as it does
in memory.
"""

from labelance.outofcore._dataset import open_dataset
from labelance.outofcore._resample import ResampledFile, resample_file
from labelance.outofcore._split import split_file

__all__ = ["ResampledFile", "open_dataset", "resample_file", "split_file"]
