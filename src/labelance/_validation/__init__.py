"""The one place that checks input; nothing after it checks again.

A public function or method validates what it was given, once, in its first lines, and hands
clean values to a private one: ``fit_resample(X, y)`` makes a :class:`Data` for ``_plan`` and
``_draw``, ``fit(X, y)`` one for ``_fit``, ``local_distribution(y, …)`` a clean ``Y`` for
``find_local_distribution``. Inside the library only the private ones are called, with the
values that are clean already. So an estimator inside another one of ours gets a
:class:`Data`, never X and y as given.
"""
