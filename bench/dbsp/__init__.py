"""Benchmarks of the circuit: the DYRE paper's evaluation on generated equivalents of its data."""
