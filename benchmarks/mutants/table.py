"""What a survey found, as tables: by room how many mutations were noticed, and each that was not."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from scipy.stats import beta

from benchmarks.mutants.survey import Trial
from benchmarks.mutants.trial import Verdict

EQUIVALENTS = Path(__file__).with_name("equivalents.toml")  #: mutations that change nothing, each with its reason


def equivalents() -> dict[tuple[str, str, str], str]:
    """Reason by file, line before and line after."""
    listed = tomllib.loads(EQUIVALENTS.read_text())["equivalent"]
    return {(one["file"], one["before"], one["after"]): one["reason"] for one in listed}


def survivors(trials: Iterable[Trial]) -> list[Trial]:
    """Mutations that no test noticed and that are not known to change nothing."""
    known = equivalents()
    return [
        one
        for one in trials
        if one.verdict in ("", Verdict.SURVIVED) and (one.file, one.before, one.after) not in known
    ]


def table(trials: Sequence[Trial], totals: Mapping[str, int]) -> str:
    """Markdown: a line for each room and one for all."""
    known, rows = equivalents(), []
    missed = set(survivors(trials))
    for room in (*sorted(totals), "all"):
        own = [one for one in trials if room in (one.room, "all")]
        same = sum((one.file, one.before, one.after) in known and one.verdict in ("", Verdict.SURVIVED) for one in own)
        left = sum(one in missed for one in own)
        since = sum(one.verdict == Verdict.NOTICED_SINCE for one in own)
        tried = len(own) - same
        noticed = tried - left - since
        share = f"{noticed / tried:.0%} [{', '.join(_interval(noticed, tried))}]" if tried else ""
        total = totals.get(room, sum(totals.values()))
        rows.append(f"| {room} | {total} | {len(own)} | {same} | {noticed} | {share} | {since} | {left} |")
    head = "| room | mutations | tried | equivalent | noticed | share, 95 % | noticed by tests since | not noticed |\n"
    return head + "| --- " * 8 + "|\n" + "\n".join(rows)


def _interval(hits: int, count: int) -> tuple[str, str]:
    """Clopper and Pearson's, of a share."""
    low = float(beta.ppf(0.025, hits, count - hits + 1)) if hits else 0.0
    high = float(beta.ppf(0.975, hits + 1, count - hits)) if hits < count else 1.0
    return f"{low:.0%}", f"{high:.0%}"


def listing(trials: Iterable[Trial]) -> str:
    """Each mutation that was not noticed: where, and the line before and after."""
    return "\n".join(
        f"{one.file}:{one.mutation.line} {one.mutation.function} ({one.mutation.kind}{'' if one.verdict else ', run by no test'})\n"
        f"- {one.before}\n+ {one.after}\n"
        for one in sorted(survivors(trials), key=lambda one: (one.file, one.mutation.start))
    )
