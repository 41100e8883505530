"""Streams of updates: sources that they arrive from, and policies by which they are applied."""
