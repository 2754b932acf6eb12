"""What an installation without extras must do: import all names, resample.

Run it with the installation's own Python; the argument is a folder that labelance must come from.
"""

import sys
from pathlib import Path

import numpy as np

import labelance

home = Path(labelance.__file__).resolve()
if not home.is_relative_to(Path(sys.argv[1]).resolve()):
    raise SystemExit(f"labelance was imported from {home}, not from {sys.argv[1]}")
for name in labelance.__all__:
    getattr(labelance, name)
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(200, 4)), (rng.random((200, 3)) < [0.4, 0.2, 0.1]).astype(int)
X_new, Y_new = labelance.MLSOL(random_state=0).fit_resample(X, Y)
if not len(X_new) == len(Y_new) > len(X):
    raise SystemExit(f"MLSOL made {len(X_new)} rows and {len(Y_new)} rows of labels out of 200")
print(f"labelance {labelance.__version__}: MLSOL made {len(X_new)} rows out of {len(X)}")
