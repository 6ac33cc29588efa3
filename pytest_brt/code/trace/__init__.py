"""Pasted tracebacks: what they say, and which files of the project they speak of."""
