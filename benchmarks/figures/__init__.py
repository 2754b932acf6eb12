"""The figures that pages show, computed from committed results (see ``benchmarks/claims.py``)."""
