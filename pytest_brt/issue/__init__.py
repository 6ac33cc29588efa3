"""Reads bug reports: text in, statements, commands and files out, with what is said of each."""
