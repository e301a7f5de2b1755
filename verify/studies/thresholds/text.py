"""Text and JSON values of thresholds located in training."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attention_erm.runtime.text_table import table_text
from verify.core.intervals import INTERVAL_PROBABILITY, Interval
from verify.studies.thresholds.descents import Descents
from verify.studies.thresholds.study import DECAY, ThresholdEstimate, ThresholdOutcome


def threshold_lines(outcome: ThresholdOutcome) -> Iterator[str]:
    """Yield every threshold with its proven value, the mean ratios, and the verdict."""
    table = table_text([_estimate_row(one) for one in outcome.estimates])
    yield from (f"{line}\n" for line in table.splitlines())
    for name, ratio in outcome.pooled.items():
        word = "agrees" if 1.0 in ratio else "DISAGREES"
        yield f"{name}, all settings: {word}; trained over proven {ratio:.4f}\n"
    for one in outcome.estimates:
        if one.of_new_tokens is not None:
            word = "excluded" if one.excludes_new_tokens else "not excluded"
            yield f"new tokens, {one.case.setting}: {float(one.of_new_tokens):.7f} is {word}\n"
    yield f"thresholds: {'agree' if outcome.agrees else 'DISAGREE'}\n"


def _estimate_row(estimate: ThresholdEstimate) -> dict[str, object]:
    missing = f"; {estimate.excluded} runs not converged" if estimate.excluded else ""
    return {
        "threshold": f"{estimate.case.kind.name}, {estimate.case.setting}",
        "proven": f"{float(estimate.proven):.7f}",
        "trained, 95 %": f"{estimate.crossing.infinite:.4f}",
        "+- %": f"{100 * estimate.half_width:.1f}",
        "far root/theory": f"{estimate.crossing.level.value:.3f}",
        "verdict": estimate_verdict(estimate) + missing,
    }


def estimate_verdict(estimate: ThresholdEstimate) -> str:
    """Return the verdict on one threshold."""
    if not estimate.vanishes:
        return f"DISAGREES, the {estimate.case.kind.label} does not vanish beyond it"
    if not estimate.decides:
        return "undecided, add runs or larger sizes"
    if not estimate.rises:
        return f"DISAGREES, the {estimate.case.kind.label} does not rise as in theory"
    return "agrees" if estimate.agrees else "DISAGREES"


def threshold_document(outcome: ThresholdOutcome) -> dict[str, Any]:
    """Return the outcome as JSON values."""
    base = outcome.plan.bases[0]
    return {
        "agrees": outcome.agrees,
        "parameters": {
            "decay": DECAY,
            "seed": base.entropy,
            "shuffle_labels": base.shuffle_labels,
            "theory_noise_factor": outcome.plan.noise_factor,
        },
        "confidence": INTERVAL_PROBABILITY,
        "thresholds": [_estimate_document(estimate) for estimate in outcome.estimates],
        "mean_ratios": {
            name: {**ratio._asdict(), "agrees": 1.0 in ratio}
            for name, ratio in outcome.pooled.items()
        },
    }


def _estimate_document(estimate: ThresholdEstimate) -> dict[str, Any]:
    crossing, problem = estimate.crossing, estimate.case.base.problem
    kappa0 = estimate.case.base.record()["kappa0"]
    new_tokens: dict[str, object] = {}
    if estimate.of_new_tokens is not None:
        new_tokens = {
            "vocabulary": problem.vocabulary,
            "proven_of_new_tokens": estimate.of_new_tokens.value,
            "new_tokens_excluded": estimate.excludes_new_tokens,
        }
    return {
        "kind": estimate.case.kind.name,
        "kappa0": kappa0,
        "tokens": problem.tokens,
        "noise": problem.noise,
        "width": problem.width,
        "parametrisation": str(problem.parametrisation),
        "told_noise": estimate.case.theory_problem.noise,
        "proven": estimate.proven.value,
        "digits_proven": estimate.proven.digits,
        "estimate": crossing.infinite.value,
        "interval": _ends(crossing.infinite),
        "judged_interval": _ends(crossing.judged),
        "level": crossing.level._asdict(),
        "rises": estimate.rises,
        **new_tokens,
        "fit_bias_subtracted": crossing.fit_bias,
        "sizes": [
            {
                "dim": item.dim,
                "runs": len(item.values),
                "crossing": crossing.by_size[item.dim].value,
                "interval": _ends(crossing.by_size[item.dim]),
                "alphas": item.alphas.tolist(),
                "root_means": item.means().tolist(),
                "root_errors": item.errors().tolist(),
            }
            for item in estimate.points
        ],
        "theory": {name: values.tolist() for name, values in estimate.theory._asdict().items()},
        "beyond": [
            {"dim": item.dim, "alpha": float(item.alphas[0]), "root_mean": float(item.means()[0])}
            for item in estimate.beyond
        ],
        "excluded_runs": estimate.excluded,
        "decides": estimate.decides,
        "vanishes": estimate.vanishes,
        "agrees": estimate.agrees,
    }


def _ends(interval: Interval) -> list[float]:
    return [interval.low, interval.high]


def descent_line(descents: Descents) -> str:
    """Return the comparison of descents over W and over S as text."""
    alpha = descents.run.problem.alpha
    word = "the same minimum" if descents.agrees else "different minima"
    return (
        f"weight decay on W and trace penalty on S at alpha {alpha:.4f}: {word}; "
        f"loss {descents.factorised:.9g} and {descents.convex:.9g}, distance of the maps "
        f"{descents.distance:.1e}\n"
    )
