"""One file a command: its arguments, what runs it, what it prints."""
