"""Datalog whose consequences stay correct while facts and rules change."""

__version__ = "0.1.0"
