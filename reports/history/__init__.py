"""Sums of many runs, and what changed from run to run."""
