"""Judging a case: the memory that a backend gets, what it left there, the verdict and the rule it is blamed on."""
