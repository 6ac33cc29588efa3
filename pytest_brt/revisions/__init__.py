"""Git history: the gate of a change, bisection, other branches, and rechecks of recorded runs."""
