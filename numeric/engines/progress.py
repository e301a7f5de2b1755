"""How much of the work is done, on stderr."""

from __future__ import annotations

import sys
from typing import Any

from attention_erm.commandline.log import progress


def seconds_bar(title: str, seconds: float, shown: bool = True) -> Any:
    """A bar over `seconds` of work, with the time left at the rate so far: that of the last tasks jumps."""
    return progress(
        total=seconds,
        disable=not shown,
        desc=title,
        bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed} elapsed, {remaining} left",
        mininterval=0.2 if sys.stderr.isatty() else 30,  # a log file gets a line now and then, not a bar that moves
        smoothing=0,
    )
