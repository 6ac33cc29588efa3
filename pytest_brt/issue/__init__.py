"""Reads bug reports: text in; statements, commands and files out, and what is said of each."""
