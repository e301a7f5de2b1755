"""Command line of the comparison with training: arguments and one file a command."""
