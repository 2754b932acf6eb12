"""Who is near whom: one frozen value, and one exact search that makes it."""

from labelance.neighbors._find import find_neighbors
from labelance.neighbors._neighborhood import Neighborhood
from labelance.neighbors._resolve import resolve_neighbors as resolve_neighbors
from labelance.neighbors._search import search as search
from labelance.neighbors._space import Space as Space

# The other rooms of the house also use the space and the search behind the door.
__all__ = ["Neighborhood", "find_neighbors"]
