"""What the code of a report does on the unpatched tree."""
