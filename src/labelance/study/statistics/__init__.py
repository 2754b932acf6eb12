"""Which methods differ over many data sets, and by how much: ranks, tests, corrections, effects.

A table of scores has one row per data set and one column per method. `compare` does all of
the paper's comparison with it; the other functions are its steps, each of use alone.

References
----------
J. Demšar. Statistical comparisons of classifiers over multiple data sets. Journal of Machine
Learning Research 7 (2006), 1-30.

S. García and F. Herrera. An extension on "Statistical comparisons of classifiers over multiple
data sets" for all pairwise comparisons. Journal of Machine Learning Research 9 (2008), 2677-2694.
"""

from labelance.study.statistics._compare import Comparison, compare
from labelance.study.statistics._corrections import bergmann_hommel, holm, shaffer
from labelance.study.statistics._ranks import (
    EffectSizes,
    Friedman,
    average_ranks,
    cliques,
    critical_difference,
    effect_sizes,
    friedman,
    signed_rank_sums,
    wilcoxon_matrix,
)

__all__ = [
    "Comparison",
    "EffectSizes",
    "Friedman",
    "average_ranks",
    "bergmann_hommel",
    "cliques",
    "compare",
    "critical_difference",
    "effect_sizes",
    "friedman",
    "holm",
    "shaffer",
    "signed_rank_sums",
    "wilcoxon_matrix",
]
