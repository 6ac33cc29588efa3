"""Turns what a report shows into failing tests, without a model."""
