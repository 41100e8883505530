"""The local engine's inner loops: Python that Numba compiles, rules as data.

Arrays reach a kernel as addresses inside integer tables (one row per relation, index
or step), so that one compiled interpreter serves every program and a new rule costs
no compilation. `layout` names the columns of those tables. Only kernels that Python calls
are cached on disk; the others are compiled into them.
"""
