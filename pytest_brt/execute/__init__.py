"""Runs tests and snippets on private views of the project: one of the two layers with side effects."""
