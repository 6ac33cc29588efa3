"""Failing tests by way of passing ones: pin what is wrong now, then turn the assertion round."""
