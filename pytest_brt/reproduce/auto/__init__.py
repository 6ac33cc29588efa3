"""Tries one way after the other, the cheapest first, until there is enough or the time is over."""
