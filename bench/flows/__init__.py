"""The benchmark of update streams: marking, updates that overlap, and long streams."""
