"""What all command lines have in common: refusals in one line, files of options, log levels,
completion, version.
"""

CONFIG = "--config"  #: names a file of options
#: What there is to do where training is wanted.
NO_TORCH = (
    "verify trains in torch, which is not installed: run pip install -c constraints.txt -e "
    "'.[verify]' in the sources"
)
