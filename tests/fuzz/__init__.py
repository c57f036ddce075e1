"""Hostile input files for every command that reads one; `python -m fuzz` from `tests`, or `tox run -e fuzz`.

`seeds` makes valid files, `edits`, `databases` and `archives` spoil them, `kinds` says which commands read which kind
of file, `sandbox` runs a command in a process with limits that notes what it does, `judged` says what is wrong with
that. Hypothesis draws the edits: it makes a failing input smaller, runs the same inputs again for the same seed, and
is a dependency of this project already. Guidance by code coverage, as atheris has it, was weighed and left out: what
is behind checksums, digests, compression and SQL is reached by edits that know the form, and not by more bytes; and
wheels of it are for Linux on x86-64 alone, 130 MB of them.
"""
