"""Asks a language model on this machine: one of the two layers with side effects."""
