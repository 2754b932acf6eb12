"""Pictures and tables of what was computed elsewhere."""

from labelance.report._before_after import plot_before_after, save_before_after

__all__ = ["plot_before_after", "save_before_after"]
