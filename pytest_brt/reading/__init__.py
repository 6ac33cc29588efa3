"""What a report says: its blocks and sentences → statements, files and commands, with claims."""
