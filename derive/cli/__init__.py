"""Command line of the symbolic layer: what is printed, models read one by one, one file a
command.
"""
