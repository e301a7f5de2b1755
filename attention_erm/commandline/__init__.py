"""What all command lines have in common: refusals in one line, files of options, log levels, completion, version."""

CONFIG = "--config"  #: names a file of options
