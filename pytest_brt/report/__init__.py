"""Reads bug reports: text in; statements and what the report claims of each out."""
