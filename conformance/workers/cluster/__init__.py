"""Judging on other machines: workers of a Dask scheduler, each with backends of its own.

`client` is the side of the process that reads and writes, the only one that needs Dask's own library here; `tasks` is
what Dask's workers run.
"""
