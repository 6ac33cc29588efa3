"""What every prompt says of a report: the code shown, what was observed, and what fits."""
