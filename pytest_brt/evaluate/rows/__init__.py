"""The rows of a study: every measure is a column."""
