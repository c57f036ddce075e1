"""A device that takes down what DirectML asks of Direct3D 12 to run an operator, on a machine that has no GPU.

It is the null device, grown by all that DirectML touches when it compiles, initializes, binds and records an operator
(`device`). Nothing of it does anything; what is called is decoded (`decoding`) and kept, in order, as values (`calls`).
`process` drives it with the product's execution path, the real library in a process of its own.
"""
