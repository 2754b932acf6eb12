"""Annotation: labels that look wrong, and rows to annotate next."""

from labelance.annotation._rows import rows_to_annotate
from labelance.annotation._suspect import suspect_labels

__all__ = ["rows_to_annotate", "suspect_labels"]
