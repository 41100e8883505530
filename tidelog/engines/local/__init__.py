"""The local engine: one process, kernels at native speed."""

# Before any kernel is called, whoever imports the engine.
from tidelog.engines.local import cache as cache
