"""Databases, snapshots and queries."""

ENGINES = ("local", "spark")  # by name; `backends` opens them
