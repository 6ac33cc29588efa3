"""The project under test as text: read with `ast`, edited with libcst, never run."""
