"""Tests that a model wrote: read, taken apart, given a place, run and judged."""
