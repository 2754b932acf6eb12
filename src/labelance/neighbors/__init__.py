"""Find the nearest neighbors of rows, exactly and reproducibly, as one frozen value."""

from labelance.neighbors._brute import even_block as even_block
from labelance.neighbors._brute import single_threaded_blas as single_threaded_blas
from labelance.neighbors._brute import thread_count as thread_count
from labelance.neighbors._find import METHODS as METHODS
from labelance.neighbors._find import Method as Method
from labelance.neighbors._find import check_n_neighbors as check_n_neighbors
from labelance.neighbors._find import check_neighborhood as check_neighborhood
from labelance.neighbors._find import find_neighbors
from labelance.neighbors._find import find_neighbors_for as find_neighbors_for
from labelance.neighbors._find import refuse_what_needs_memory as refuse_what_needs_memory
from labelance.neighbors._find import resolve_neighbors as resolve_neighbors
from labelance.neighbors._find import search_neighbors as search_neighbors
from labelance.neighbors._metric import FAR_WIDER as FAR_WIDER
from labelance.neighbors._metric import FeatureMetric as FeatureMetric
from labelance.neighbors._metric import Metric as Metric
from labelance.neighbors._metric import Scale as Scale
from labelance.neighbors._metric import column_range as column_range
from labelance.neighbors._metric import column_widths as column_widths
from labelance.neighbors._metric import find_dominant_columns as find_dominant_columns
from labelance.neighbors._neighborhood import Neighborhood
from labelance.neighbors._neighborhood import remember_neighbors as remember_neighbors
from labelance.neighbors._partition import bytes_beside_files as bytes_beside_files

# What is not listed here is for the other packages of this library: they have validated their
# data, and search without another check.
__all__ = ["Neighborhood", "find_neighbors"]
