"""How much of the work is done, on stderr."""

from __future__ import annotations

from typing import Any

from attention_erm.commandline.log import progress


def seconds_bar(title: str, seconds: float, shown: bool = True) -> Any:
    """A bar over `seconds` of work, with the time left at the rate so far: that of the last tasks jumps."""
    return progress(
        total=seconds,
        disable=not shown,
        desc=title,
        bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed} elapsed, {remaining} left",
        shares=True,
        mininterval=0.2,
        smoothing=0,
    )
