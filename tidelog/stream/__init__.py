"""Streams of updates: sources that they arrive from, and policies by which they are applied."""

NAMES = ("sequential", "marking", "fully-dynamic")  # of policies
