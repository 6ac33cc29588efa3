"""Candidate fixes from a model: strategies that try changes on private views of the tree."""
