"""Oracles: by what a test tells wrong from right, and how often each is right."""
