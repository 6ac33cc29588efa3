"""The ``pytest-brt`` command: front-ends of pytest, and tools around it."""
