"""Command line of the solvers: arguments, output, figures, one file a command."""
