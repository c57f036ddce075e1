"""The specification held against the live library: descriptors about every rule, and the cells of the tables."""
