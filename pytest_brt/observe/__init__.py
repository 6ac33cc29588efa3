"""What the report's own code and commands do on the unpatched tree."""
