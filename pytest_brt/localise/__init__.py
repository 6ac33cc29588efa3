"""Where the bug may be: suspects from tracebacks, snippets, words and coverage."""
