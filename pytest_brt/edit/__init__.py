"""Changes of Python files as text: tests put into them, and xfail marks."""
