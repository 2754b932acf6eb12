"""What a sampler does to the rows, so that the right laws can be asked of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SamplerTraits:
    """What a sampler may do; :mod:`labelance.testing` chooses its checks by these.

    Parameters
    ----------
    adds : bool
        Appends rows after the originals.
    deletes : bool
        Leaves original rows out, and sets ``sample_indices_``.
    edits : bool
        Changes labels of original rows.
    clones : bool
        Added rows are exact copies of the features of original rows.
    interpolates : bool
        Added rows lie between a seed and a reference row, feature by feature, and
        ``seed_indices_`` and ``reference_indices_`` say which.
    random : bool
        Two draws may differ.
    exact_budget : bool
        The number of rows added or deleted is what ``sampling_ratio`` asks for.
    label_order_free : bool
        Permuting the columns of Y permutes the result's columns and changes nothing else.
    finds_neighbors : bool
        Searches neighbors among all rows; takes ``fit_resample(X, Y, neighborhood=…)``.
    """

    adds: bool = False
    deletes: bool = False
    edits: bool = False
    clones: bool = False
    interpolates: bool = False
    random: bool = True
    exact_budget: bool = False
    label_order_free: bool = True
    finds_neighbors: bool = False

    @property
    def only_adds(self) -> bool:
        """Say whether the original rows come out as they went in, first, with new ones below."""
        return self.adds and not (self.deletes or self.edits)
