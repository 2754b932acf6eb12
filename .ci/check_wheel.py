"""A wheel holds the package with kernels, type marker, datasets and licenses; nothing else."""

import sys
import zipfile
from pathlib import Path

names = zipfile.ZipFile(sys.argv[1]).namelist()
strangers = [name for name in names if not name.startswith(("labelance/", "labelance-"))]
if strangers:
    raise SystemExit(f"the wheel holds files from outside the package: {strangers}")
BUNDLED = "labelance/datasets/bundled"
DATASETS = [f"{name}.{kind}" for name in ("flags", "verbframes") for kind in ("arff.gz", "xml")]
for needed in ("labelance/py.typed", *(f"{BUNDLED}/{name}" for name in (*DATASETS, "LICENSES.md"))):
    if needed not in names:
        raise SystemExit(f"the wheel lacks {needed}")
SOURCES = Path(__file__).parents[1] / "src"
for kernels in (str(path.relative_to(SOURCES).with_suffix("")) for path in SOURCES.rglob("*.pyx")):
    if not any(name.startswith(f"{kernels}.") and name.endswith((".so", ".pyd")) for name in names):
        raise SystemExit(f"the wheel lacks the compiled {kernels}")
if any(name.endswith((".pyx", ".pxd", ".pxi", ".c", ".cpp")) for name in names):
    raise SystemExit("the wheel holds sources of kernels")
if not any(name.endswith("/LICENSE") for name in names):
    raise SystemExit("the wheel lacks the license")
print(f"{len(names)} files, all of them the package's own")
