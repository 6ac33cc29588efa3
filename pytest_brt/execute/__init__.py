"""Runs tests and snippets on private views of the project, whose own tree it never writes."""
