"""Build the kernels into ``src/``, next to their sources; only what changed since the last time.

    python tools/build.py                # this checkout
    python tools/build.py --root FOLDER  # another one
    python tools/build.py --sanitize     # checks every index and address: see .ci/sanitize

``pip install -e .`` does the same, more slowly. This needs what the extra ``dev`` brings.
"""

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import cython_cmake

CMAKE = [sys.executable, "-m", "cmake"]  # what the system has may be too old


def build(root: Path, sanitize: bool = False) -> None:
    """Build the modules of a checkout into its source folder, or with a copy of that."""
    folder = root / "build" / ("sanitize" if sanitize else "inplace")
    settings = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_MODULE_PATH": Path(cython_cmake.__file__).parent / "cmake",
        "Python_EXECUTABLE": sys.executable,
        "SKBUILD_SABI_VERSION": "" if sysconfig.get_config_var("Py_GIL_DISABLED") else "3.11",
        "SKBUILD_STATE": "editable",
        "SANITIZE": "ON" if sanitize else "OFF",
    }
    options = [f"-D{name}={value}" for name, value in settings.items()]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # for ninja
    for command in (
        ["-G", "Ninja", "-S", str(root), "-B", str(folder), "--log-level=NOTICE", *options],
        ["--build", str(folder)],
    ):
        done = subprocess.run([*CMAKE, *command], check=False, env={**os.environ, "PATH": path})
        if done.returncode:
            raise SystemExit(done.returncode)
    if sanitize:
        others = shutil.ignore_patterns("*.pyx", "*.so", "__pycache__")
        shutil.copytree(root / "src", folder / "src", ignore=others, dirs_exist_ok=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--sanitize", action="store_true")
    given = parser.parse_args()
    build(given.root.resolve(), given.sanitize)
