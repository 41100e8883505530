"""Inner loops of the closures: Python that Numba compiles.

Arrays come bundled in named tuples (`Lists`, `Rows`, `Classes`); numbers that kernels change
stand in the small array `info` of a bundle. No kernel asks for memory: one that needs more
says so and is called again. Only kernels that Python calls are cached on disk; the others are
compiled into them.
"""
