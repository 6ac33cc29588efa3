"""The fourteen tools of the repair agent (paper 004)."""
