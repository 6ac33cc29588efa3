"""Failing tests by sampling a model many times and taking what the samples agree on."""
