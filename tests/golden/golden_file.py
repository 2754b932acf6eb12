"""The golden file: one fingerprint for every result that the library promises to keep.

A fingerprint has two parts. What is exact on every processor (shapes, row numbers, labels, words,
the places of missing values) is hashed. Floats may differ in their last bits between processors and
compilers, and rounding before hashing only moves the edge at which that shows; so of floats two
sums are kept, that of the absolute values and a weighted one in which every place has a weight of
its own, and compared with a tolerance.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp

GOLDEN_FILE = Path(__file__).with_name("golden.json")

# Sums may differ by this share of the sum of absolute values: some thousand times what the order of
# additions does, and some hundred million times less than one flipped vote.
TOLERANCE = 1e-11


def fingerprint(value):
    """Return [hash of all that is exact, sum of absolute values, weighted sum of the floats]."""
    exact, floats = hashlib.sha256(), [np.empty(0)]
    _walk(value, exact, floats)
    values = np.concatenate(floats)
    # Multiples of the golden ratio, less their whole parts: no two places have the same weight.
    weights = np.modf(np.arange(1, len(values) + 1) * 0.6180339887498949)[0] - 0.5
    sums = [float(np.abs(values).sum()), float(values @ weights)]
    return [exact.hexdigest()[:12], *([float(f"{x:.15g}") for x in sums] if len(values) else [])]


def _walk(value, exact, floats):
    if sp.issparse(value):
        rows = sp.csr_array(value)
        rows.sort_indices()
        exact.update(f"sparse{rows.shape}".encode())
        value = (rows.indptr, rows.indices, rows.data)
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if isinstance(value, list | tuple):
        exact.update(f"sequence of {len(value)}".encode())
        for part in value:
            _walk(part, exact, floats)
    elif isinstance(value, str | bytes) or value is None:
        exact.update(repr(value).encode())
    else:
        _walk_array(np.asarray(value), exact, floats)


def _walk_array(array, exact, floats):
    if array.dtype.kind == "f":
        finite = np.isfinite(array)
        exact.update(f"{array.dtype}{array.shape}".encode())
        exact.update(np.where(finite, "", array.astype(str)).tobytes())
        floats.append(array[finite].astype(np.float64))
    elif array.dtype.kind in "iub":
        # How wide an integer is, numpy and the platform decide.
        exact.update(f"integers{array.shape}".encode())
        exact.update(array.astype("<i8").tobytes())
    else:
        exact.update(f"words{array.shape}".encode())
        exact.update(repr(array.tolist()).encode())


def same(found, golden):
    """Return whether two fingerprints are of the same result."""
    if found[0] != golden[0] or len(found) != len(golden):
        return False
    return all(abs(a - b) <= TOLERANCE * golden[1] for a, b in zip(found[1:], golden[1:]))


def read_golden(text=None):
    """Return the golden fingerprints by name."""
    return json.loads(GOLDEN_FILE.read_text() if text is None else text)


def write_golden(fingerprints):
    """Write the file, one line per result, so that a difference of two versions can be read."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(fingerprints[name])}" for name in sorted(fingerprints)
    )
    GOLDEN_FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
