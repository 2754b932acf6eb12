"""A wheel holds the package, its type marker, its datasets, all licenses, and nothing else."""

import sys
import zipfile

names = zipfile.ZipFile(sys.argv[1]).namelist()
strangers = [name for name in names if not name.startswith(("labelance/", "labelance-"))]
if strangers:
    raise SystemExit(f"the wheel holds files from outside the package: {strangers}")
BUNDLED = "labelance/datasets/bundled"
DATASETS = [f"{name}.{kind}" for name in ("flags", "verbframes") for kind in ("arff.gz", "xml")]
for needed in ("labelance/py.typed", *(f"{BUNDLED}/{name}" for name in (*DATASETS, "LICENSES.md"))):
    if needed not in names:
        raise SystemExit(f"the wheel lacks {needed}")
if not any(name.endswith("/LICENSE") for name in names):
    raise SystemExit("the wheel lacks the license")
print(f"{len(names)} files, all of them the package's own")
