"""The project as text: its files, settings, names and words."""
