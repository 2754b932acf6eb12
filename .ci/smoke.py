"""What an installation without extras must do: import all names, make data, resample, describe.

Run it with the installation's own Python; the argument is a folder that labelance must come from.
"""

import sys
from pathlib import Path

import labelance
from labelance.datasets import make_multilabel_imbalanced
from labelance.imbalance import profile

home = Path(labelance.__file__).resolve()
if not home.is_relative_to(Path(sys.argv[1]).resolve()):
    raise SystemExit(f"labelance was imported from {home}, not from {sys.argv[1]}")
for name in labelance.__all__:
    getattr(labelance, name)
X, Y = make_multilabel_imbalanced(n_samples=200, random_state=0)
X, Y = labelance.MLSOL(random_state=0).fit_resample(X, Y)
if not len(X) == len(Y) > 200:
    raise SystemExit(f"MLSOL made {len(X)} rows and {len(Y)} rows of labels out of 200")
print(profile(X, Y))
