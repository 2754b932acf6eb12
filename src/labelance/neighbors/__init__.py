"""Who is near whom: one frozen value, and one exact search that makes it."""

from labelance.neighbors._find import find_neighbors
from labelance.neighbors._neighborhood import Neighborhood
from labelance.neighbors._resolve import resolve_neighbors
from labelance.neighbors._search import search
from labelance.neighbors._space import Space

__all__ = ["Neighborhood", "Space", "find_neighbors", "resolve_neighbors", "search"]
