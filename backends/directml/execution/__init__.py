"""Execution: DirectML's operators run for real, on a Direct3D 12 device.

`loader` chooses the libraries and `opening` makes a device of them; `bridge` lets DirectML talk to those that return
structs in another way; `gpu` and `submission` do the work. All that runs in the process that has the backend.
"""
