"""Makes candidate tests from bug reports, and judges them on the unpatched tree."""
