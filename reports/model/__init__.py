"""A run: the stream of its records, and the sums of it that every view is made from."""
