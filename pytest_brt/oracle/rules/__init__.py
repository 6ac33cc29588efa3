"""The rules: what a report says and what was seen → drafts of tests, one file per family."""
