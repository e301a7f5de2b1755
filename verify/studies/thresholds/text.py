"""Thresholds seen in training as lines of text and as JSON values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verify.core.intervals import INTERVAL_PROBABILITY, Interval
from verify.studies.thresholds.descents import Descents
from verify.studies.thresholds.study import DECAY, Sighting, ThresholdOutcome


def threshold_lines(outcome: ThresholdOutcome) -> Iterator[str]:
    """Every threshold beside its proven value, the mean ratios, and the verdict."""
    for sighting in outcome.sightings:
        yield _sighting_line(sighting)
    for name, ratio in outcome.pooled.items():
        word = "agrees" if 1.0 in ratio else "DISAGREES"
        yield f"{name}, all settings: {word}; trained over proven {ratio:.4f}\n"
    yield f"thresholds: {'agree' if outcome.agrees else 'DISAGREE'}\n"


def sighting_word(sighting: Sighting) -> str:
    """The verdict on one threshold."""
    if not sighting.vanishes:
        return f"DISAGREES, the {sighting.sought.kind.label} does not vanish beyond it"
    if not sighting.decides:
        return "undecided, add runs or larger sizes"
    if not sighting.rises:
        return f"DISAGREES, the {sighting.sought.kind.label} does not rise as in theory"
    return "agrees" if sighting.agrees else "DISAGREES"


def sighting_text(sighting: Sighting) -> str:
    """What training shows of one threshold, beside its proven value."""
    left_out = f"; {sighting.excluded} runs left out, not converged" if sighting.excluded else ""
    return (
        f"trained {sighting.crossing.infinite:.5f} (+-{100 * sighting.half_width:.1f} %), proven "
        f"{float(sighting.proven):.10f}; root far from it over the theory's {sighting.crossing.level:.3f}{left_out}"
    )


def _sighting_line(sighting: Sighting) -> str:
    return f"{sighting.sought.kind.name}, {sighting.sought.setting}: {sighting_word(sighting)}; {sighting_text(sighting)}\n"


def threshold_document(outcome: ThresholdOutcome) -> dict[str, Any]:
    """The outcome as JSON values."""
    base = outcome.plan.bases[0]
    return {
        "agrees": outcome.agrees,
        "parameters": {"decay": DECAY, "seed": base.entropy, "shuffle_labels": base.shuffle_labels,
                       "theory_noise_factor": outcome.plan.noise_factor},
        "confidence": INTERVAL_PROBABILITY,
        "thresholds": [_sighting_document(sighting) for sighting in outcome.sightings],
        "mean_ratios": {name: {**ratio._asdict(), "agrees": 1.0 in ratio} for name, ratio in outcome.pooled.items()},
    }  # fmt: skip


def _sighting_document(sighting: Sighting) -> dict[str, Any]:
    crossing, problem = sighting.crossing, sighting.sought.base.problem
    kappa0 = sighting.sought.base.record()["kappa0"]
    return {
        "kind": sighting.sought.kind.name, "kappa0": kappa0, "tokens": problem.tokens, "noise": problem.noise, "width": problem.width,
        "parametrisation": str(problem.parametrisation), "told_noise": sighting.sought.told.noise,
        "proven": sighting.proven.value, "digits_proven": sighting.proven.digits,
        "estimate": crossing.infinite.value, "interval": _ends(crossing.infinite), "judged_interval": _ends(crossing.judged),
        "level": crossing.level._asdict(), "rises": sighting.rises,
        "fit_bias_subtracted": crossing.fit_bias,
        "sizes": [
            {"dim": item.dim, "runs": len(item.values), "crossing": crossing.by_size[item.dim].value,
             "interval": _ends(crossing.by_size[item.dim]), "alphas": item.alphas.tolist(), "root_means": item.means().tolist(),
             "root_errors": item.errors().tolist()}
            for item in sighting.points
        ],
        "theory": {name: values.tolist() for name, values in sighting.theory._asdict().items()},
        "beyond": [
            {"dim": item.dim, "alpha": float(item.alphas[0]), "root_mean": float(item.means()[0])} for item in sighting.beyond
        ],
        "excluded_runs": sighting.excluded, "decides": sighting.decides, "vanishes": sighting.vanishes, "agrees": sighting.agrees,
    }  # fmt: skip


def _ends(interval: Interval) -> list[float]:
    return [interval.low, interval.high]


def descent_line(descents: Descents) -> str:
    """Where descents over W and over S ended."""
    word = "the same minimum" if descents.agrees else "different minima"
    return (
        f"weight decay on W and trace penalty on S at alpha {descents.alpha:.4f}: {word}; "
        f"loss {descents.factorised:.9g} and {descents.convex:.9g}, distance of the maps {descents.distance:.1e}\n"
    )
