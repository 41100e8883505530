"""Applying updates: the loop, the sources of streams, and the policies that order the work."""

NAMES = ("sequential", "marking", "fully-dynamic")  # of the policies
