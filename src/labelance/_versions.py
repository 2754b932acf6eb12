"""What a bug report needs: versions of Python, of this library and of what it stands on."""

import platform
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib import metadata
from typing import Any


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
        and ``threadpools``. ``optional`` has the packages of all extras that are installed.

    Examples
    --------
    >>> import labelance
    >>> facts = labelance.show_versions(as_dict=True)
    >>> sorted(facts)
    ['core', 'optional', 'system', 'threadpools']
    >>> facts["core"]["labelance"] == labelance.__version__
    True
    """
    import joblib

    # threadpoolctl sees the pools of libraries that are loaded: scikit-learn loads them all.
    import sklearn.neighbors  # noqa: F401
    from threadpoolctl import threadpool_info

    system = {
        "python": sys.version,
        "executable": sys.executable,
        "machine": platform.platform(),
        "usable cpus": joblib.cpu_count(),
    }
    # An extra of extras asks for labelance itself.
    needs = [n for n in metadata.requires("labelance") or [] if not n.startswith("labelance[")]
    facts = {
        "system": system,
        "core": installed_versions(
            ["labelance", *(line for line in needs if "extra ==" not in line)]
        ),
        "optional": installed_versions(sorted(line for line in needs if "extra ==" in line)),
        "threadpools": {
            pool["filepath"]: f"{pool['internal_api']} {pool['version']}, "
            f"{pool['num_threads']} threads"
            for pool in threadpool_info()
        },
    }
    if as_dict:
        return facts
    for title, values in facts.items():
        print(title, *(f"{key:>20}: {value}" for key, value in values.items()), sep="\n")
    return None


def installed_versions(requirements: Iterable[str]) -> dict[str, str]:
    """Return the versions of the packages that lines of metadata ask for, if they are there."""
    found = {}
    for line in requirements:
        name = re.split(r"[^\w.-]", line)[0]
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found
