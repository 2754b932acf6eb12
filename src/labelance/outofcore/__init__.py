"""Resample, split and profile data larger than memory, from file to file.

Labels fit into memory, features do not: they are kept in a file beside the result, as arrays that
the system reads when they are used. So every sampler gives the same rows, bit for bit, as it does
in memory.
"""

from labelance.outofcore._dataset import open_dataset
from labelance.outofcore._job import job_folder as job_folder
from labelance.outofcore._resample import ResampledFile, resample_file
from labelance.outofcore._resample import adapt_sampler as adapt_sampler
from labelance.outofcore._resample import only_copies_rows as only_copies_rows
from labelance.outofcore._split import split_file

# What is not listed is for our own command line.
__all__ = ["ResampledFile", "open_dataset", "resample_file", "split_file"]
