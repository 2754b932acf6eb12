"""Which samplers there are."""

from __future__ import annotations

from inspect import Parameter, isabstract, signature

from labelance.sampling._base import BaseMultiLabelSampler


def all_samplers() -> dict[str, type[BaseMultiLabelSampler]]:
    """Return every public sampler that can be made without arguments, by name.

    Examples
    --------
    >>> from labelance.sampling import all_samplers
    >>> "MLSOL" in all_samplers()
    True
    """
    from labelance import sampling

    public = {name: getattr(sampling, name) for name in sampling.__all__}
    return {name: kind for name, kind in public.items() if _is_ready(kind)}


def _is_ready(kind: object) -> bool:
    if not (isinstance(kind, type) and issubclass(kind, BaseMultiLabelSampler)):
        return False
    required = [p for p in signature(kind).parameters.values() if p.default is Parameter.empty]
    return not isabstract(kind) and not required
