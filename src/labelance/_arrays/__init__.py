"""The only code that knows arrays, sparse matrices, data frames, tensors and Dask apart.

Algorithms see a *container*: its kind, clean values, column names, and a way to build the same kind
again. Everything else is a verb (:func:`take_rows`, :func:`interpolate_rows`).
"""
