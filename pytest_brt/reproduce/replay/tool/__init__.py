"""Reports about a command line: files and commands in the report, run in a folder of their own."""
