"""The fourteen tools of the repair agent (paper 004), one per file."""
