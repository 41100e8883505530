"""Profiles of runs and pictures of programs."""
