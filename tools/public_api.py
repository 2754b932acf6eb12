"""List every public name with its signature, and compare with the committed list.

    python tools/public_api.py            # print what changed; exit code 1 if anything did
    python tools/public_api.py --update   # write tools/public_api.txt again

A line is a name of a package's ``__all__``, a public method or property, a documented fitted
attribute, or a command with its options. Types are left out: they are no promise. What other
libraries add to a class is theirs, and differs between their versions.
"""

from __future__ import annotations

import argparse
import difflib
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

import labelance
from labelance.exceptions import MissingDependencyError

LISTING = Path(__file__).with_suffix(".txt")
PACKAGES = (*labelance._PACKAGES, "study.statistics", "torch")
_ATTRIBUTES = re.compile(r"^Attributes\n-{5,}\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", re.M | re.S)
_LITERALS = (bool, int, float, str, type(None))
Empty = inspect.Parameter.empty


def show_default(value: Any) -> str:
    """Return a default value as text that is the same in every process."""
    if isinstance(value, tuple | list | frozenset):
        shown = map(show_default, value)
        # A set has another order in every process.
        return f"({', '.join(sorted(shown) if isinstance(value, frozenset) else shown)})"
    return repr(value) if isinstance(value, _LITERALS) else "..."


def show_signature(function: Any, *, bound: bool = False) -> str:
    """Return the parameters of a function without types; bound leaves out the first."""
    parameters = list(inspect.signature(function).parameters.values())[bound:]
    plain = [
        one.replace(
            annotation=Empty,
            default=Empty if one.default is Empty else _Text(show_default(one.default)),
        )
        for one in parameters
    ]
    return str(inspect.Signature(plain))


class _Text(str):
    """A string that is shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def list_members(owner: type) -> Iterator[str]:
    """Yield methods, properties and documented attributes of a class, inherited ones too."""
    found: dict[str, str] = {}
    for base in owner.__mro__:
        if not base.__module__.startswith("labelance"):
            continue
        for name, value in vars(base).items():
            # scikit-learn adds set_fit_request and the like, other ones in every version.
            if name.startswith("_") or re.fullmatch(r"set_\w+_request", name):
                continue
            found.setdefault(name, show_member(value))
    if is_dataclass(owner):
        found |= {one.name: "" for one in fields(owner) if not one.name.startswith("_")}
    for text in _ATTRIBUTES.findall(inspect.cleandoc(owner.__doc__ or "")):
        for names in re.findall(r"^(\w[\w, ]*)(?= :|$)", text, re.M):
            for name in names.split(", "):
                found.setdefault(name, "")
    yield from (f".{name}{found[name]}" for name in sorted(found))


def show_member(value: Any) -> str:
    """Return the signature of a method, nothing for a property or a value."""
    inner = getattr(value, "fn", value)  # of available_if
    if isinstance(inner, staticmethod):
        return show_signature(inner.__func__)
    if isinstance(inner, classmethod):
        return show_signature(inner.__func__, bound=True)
    return show_signature(inner, bound=True) if inspect.isfunction(inner) else ""


def list_name(name: str, value: Any) -> Iterator[str]:
    """Yield the lines of a public name."""
    if not isinstance(value, type):
        yield name + (show_signature(value) if callable(value) else "")
        return
    if issubclass(value, BaseException):
        yield f"{name}: {', '.join(base.__name__ for base in value.__bases__)}"
        return
    if issubclass(value, Enum):  # its signature is Python's own, another one in 3.14
        yield name
    elif inspect.isfunction(value.__init__):
        yield name + show_signature(value.__init__, bound=True)
    else:
        yield name + show_call(value)
    yield from (f"{name}{member}" for member in list_members(value))


def show_call(owner: type) -> str:
    """Return the signature of a class without an ``__init__`` of its own."""
    try:
        return show_signature(owner)
    except (TypeError, ValueError):  # compiled, or a protocol
        return ""


def list_commands(command: Any, name: str) -> Iterator[str]:
    """Yield every command with its arguments and options."""
    if hasattr(command, "commands"):
        for inner in sorted(command.commands):
            yield from list_commands(command.commands[inner], f"{name} {inner}")
        return
    words = [
        "/".join(option.opts + option.secondary_opts) if option.opts[0][0] == "-" else option.name
        for option in command.params
    ]
    yield " ".join([f"$ {name}", *words])


def list_api() -> list[str]:
    """Return every line of the public API."""
    from typer.main import get_command

    lines = [f"labelance.{name}" for name in sorted(labelance.__all__)]
    for package in PACKAGES:
        try:
            module = import_module(f"labelance.{package}")
        except MissingDependencyError:  # torch is not installed: what is listed stays
            committed = LISTING.read_text(encoding="utf-8").splitlines()
            lines += [line for line in committed if line.startswith(f"labelance.{package}.")]
            continue
        for name in sorted(module.__all__):
            lines += list_name(f"labelance.{package}.{name}", getattr(module, name))
    app = import_module("labelance.cli._app").app
    return [*lines, *list_commands(get_command(app), "labelance")]


def compare_api() -> list[str]:
    """Return the lines that differ from the committed list."""
    committed = LISTING.read_text(encoding="utf-8").splitlines()
    lines = difflib.unified_diff(committed, list_api(), "committed", "now", lineterm="", n=0)
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help=f"write {LISTING.name} again")
    if parser.parse_args().update:
        LISTING.write_text("\n".join(list_api()) + "\n", encoding="utf-8")
        return 0
    changed = compare_api()
    print("\n".join(changed) or "The public API is the committed one.")
    return bool(changed)


if __name__ == "__main__":
    raise SystemExit(main())
