"""Programs that measure: `python -m benchmarks` lists them.

A package of its own, so that it goes before one of that name that another library installs.
"""
