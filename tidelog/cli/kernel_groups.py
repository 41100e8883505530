"""All groups of kernels, for `tidelog warm` and `tidelog doctor`."""

from __future__ import annotations

from tidelog.closure import kernel_group as closures
from tidelog.dbsp import kernel_group as circuit
from tidelog.jit.groups import Kernels
from tidelog.local import kernel_group as engine
from tidelog.spark.strategies import kernel_group as spark

GROUPS: tuple[Kernels, ...] = (engine.KERNELS, closures.KERNELS, circuit.KERNELS, spark.KERNELS)
