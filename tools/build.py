"""Build the kernels into ``src/``, next to their sources; only what changed since the last time.

    python tools/build.py                # this checkout
    python tools/build.py --root FOLDER  # another one

``pip install -e .`` does the same, more slowly. This needs what the extra ``dev`` brings.
"""

import argparse
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import cython_cmake

CMAKE = [sys.executable, "-m", "cmake"]  # what the system has may be too old


def build(root: Path) -> None:
    """Build the modules of a checkout into its source folder."""
    folder = root / "build" / "inplace"
    settings = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_MODULE_PATH": Path(cython_cmake.__file__).parent / "cmake",
        "Python_EXECUTABLE": sys.executable,
        "SKBUILD_SABI_VERSION": "" if sysconfig.get_config_var("Py_GIL_DISABLED") else "3.11",
        "SKBUILD_STATE": "editable",
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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    build(parser.parse_args().root.resolve())
