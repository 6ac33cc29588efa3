"""Runs candidate tests against candidate patches, and orders the patches."""
