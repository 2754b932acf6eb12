"""C4.5 trees: one by one as a classifier, or many at once over one X."""

from labelance.learners.tree._c45 import C45Classifier

__all__ = ["C45Classifier"]
