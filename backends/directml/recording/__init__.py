"""Recording: what DirectML asks of Direct3D 12 to run an operator, on a machine that has no GPU.

The null device grows all that DirectML touches when it compiles, initializes, binds and records an operator: root
signatures, pipelines, heaps, resources, lists of commands (`objects`, `device`). Nothing of it does anything; what is
called is decoded (`decoding`) and kept, in order, as values (`calls`). That runs in a process of its own (`worker`,
`session`), asked through `process`.
"""
