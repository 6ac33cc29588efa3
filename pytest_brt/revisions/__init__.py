"""Git history: the gate of a change, bisection, and other branches."""
