"""A law: a name, a check, and who it applies to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from labelance.sampling import SamplerTraits


def _everyone(traits: SamplerTraits) -> bool:
    return True


@dataclass(frozen=True)
class Law:
    """A statement that every sampler with certain traits must satisfy."""

    check: Callable[[Any, SamplerTraits], None]
    applies: Callable[[SamplerTraits], bool] = _everyone

    @property
    def name(self) -> str:
        """The name of the check without its prefix."""
        return self.check.__name__.removeprefix("check_")
