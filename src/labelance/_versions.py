"""What a bug report needs: versions of Python, of this library and of what it stands on."""

import platform
import re
import sys
from importlib import import_module, metadata
from typing import Any, Literal, overload

# Parsed by hand, since packaging is no core dependency; a test compares with it.
# A requirement as the metadata writes it: "numba>=0.60", "typer>=0.12; extra == 'cli'".
_REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)[^;]*(?:;.*\bextra\s*==\s*['\"](?P<extra>[\w-]+)['\"])?"
)

# Extras that change how the project is made, not what it does.
_WORKSHOP = {"docs", "dev"}


@overload
def show_versions(*, as_dict: Literal[False] = False) -> None: ...
@overload
def show_versions(*, as_dict: Literal[True]) -> dict[str, Any]: ...
def show_versions(*, as_dict: bool = False) -> dict[str, Any] | None:
    """Print the versions that a bug report needs.

    Parameters
    ----------
    as_dict : bool, default=False
        Return the facts and print nothing.

    Returns
    -------
    None or dict
        With ``as_dict=True``, a dictionary with the keys ``system``, ``core``, ``optional``
        and ``threadpools``. A package that is not installed has the version None.

    Examples
    --------
    >>> import labelance
    >>> facts = labelance.show_versions(as_dict=True)
    >>> sorted(facts)
    ['core', 'optional', 'system', 'threadpools']
    >>> facts["core"]["labelance"] == labelance.__version__
    True
    """
    facts = {
        "system": _system(),
        "core": _core(),
        "optional": _optional(),
        "threadpools": _threadpools(),
    }
    if as_dict:
        return facts
    print(_text(facts))
    return None


def _system() -> dict[str, str]:
    import joblib

    return {
        "python": sys.version.replace("\n", " "),
        "executable": sys.executable,
        "machine": platform.platform(),
        "usable cpus": str(joblib.cpu_count()),
    }


def _core() -> dict[str, str | None]:
    from labelance import __version__

    needed = [name for name, extra in _requirements() if extra is None]
    return {"labelance": __version__} | {name: _version(name) for name in needed}


def _optional() -> dict[str, str | None]:
    names = {name for name, extra in _requirements() if extra and extra not in _WORKSHOP}
    return {name: _version(name) for name in sorted(names - {"labelance"}, key=str.lower)}


def _threadpools() -> list[dict[str, Any]]:
    # The pools are seen only once the libraries that bring them are loaded.
    from threadpoolctl import threadpool_info

    for name in ("numpy", "scipy.linalg", "sklearn.neighbors"):
        import_module(name)
    pools: list[dict[str, Any]] = threadpool_info()
    return pools


def _requirements() -> list[tuple[str, str | None]]:
    """Name and extra of everything the project file asks for; it is the only list kept."""
    try:
        lines = metadata.requires("labelance") or []
    except metadata.PackageNotFoundError:  # run from a source tree that was never installed
        return []
    found = (_REQUIREMENT.match(line) for line in lines)
    return [(match["name"], match["extra"]) for match in found if match]


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _text(facts: dict[str, Any]) -> str:
    blocks = [
        "\n".join([title, *(f"  {key:>18}: {value}" for key, value in facts[part].items())])
        for title, part in [
            ("System", "system"),
            ("Core packages", "core"),
            ("Optional packages", "optional"),
        ]
    ]
    pools = [
        f"  {pool['user_api']:>18}: {pool['internal_api']} {pool.get('version')}, "
        f"{pool['num_threads']} threads, {pool['filepath']}"
        for pool in facts["threadpools"]
    ]
    return "\n\n".join([*blocks, "\n".join(["Thread pools", *pools])])
