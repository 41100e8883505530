"""The local engine: one process, kernels at native speed."""

# Before any kernel is called, whoever imports the engine.
from tidelog.local import kernel_group as kernel_group
