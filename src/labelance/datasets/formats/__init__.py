"""File formats of multi-label data; the doors are ``_read`` and ``_write``."""
