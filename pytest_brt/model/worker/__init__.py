"""Runs llama.cpp; imported in the process of a model alone."""
