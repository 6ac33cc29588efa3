"""The project under test as text: read with `ast`, edited as text, never run."""
