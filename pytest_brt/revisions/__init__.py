"""Git history: the gate of a change, the commit that fixed a bug, and branches."""
