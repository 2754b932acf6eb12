"""A playground on this computer: points that one drags and labels, and what samplers make of them.

``labelance play`` serves it. Everything the page shows is computed by the library at each change.
"""

from labelance.play._explore import Exploration, Synthetic, explore
from labelance.play._scene import Scene, make_scene, map_dataset
from labelance.play._server import Playground

__all__ = [
    "Exploration",
    "Playground",
    "Scene",
    "Synthetic",
    "explore",
    "make_scene",
    "map_dataset",
]
