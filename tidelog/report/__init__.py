"""Pages about a run and pictures of a program."""
