"""Turns records into text for people and for other programs."""
