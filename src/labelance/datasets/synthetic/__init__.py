"""Made-up multi-label data whose difficulty is known beforehand."""
