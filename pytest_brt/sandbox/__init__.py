"""Runs tests and statements on private copies of the project, whose own tree it never writes."""
