"""Find the nearest neighbors of rows, exactly and reproducibly, as one frozen value."""

from labelance.neighbors._find import find_neighbors
from labelance.neighbors._neighborhood import Neighborhood

__all__ = ["Neighborhood", "find_neighbors"]
