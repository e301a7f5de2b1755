"""What the main job found, as a page that needs no other file; with its figures and its document, as files."""

from __future__ import annotations

import base64
import html
import json
import math
from pathlib import Path

from latex2mathml.converter import convert

from numeric.model import record
from verify.figures.main_job import main_job_figures
from verify.judging.realised import COMPARED_QUANTITIES
from verify.judging.scores import BAND, Comparison, Score
from verify.report.documents import main_job_document
from verify.studies.main_job import MainJobOutcome

STYLESHEET = Path(__file__).with_name("report.css")
MAIN_STEPS = ("free_entropy", "stationarity", "weak_regularisation")  #: shown open; the other steps are folded
LABELS = {"m": "m", "q": "q", "train_error": "train error", "test_error": "test error"}
CAPTIONS = {
    "curve.png": "Error against the sample ratio. Lines: replica theory. Points: trained heads at the largest d, with "
    "standard errors, without any finite-size correction. Vertical lines: thresholds at width 1 or more (recovery: "
    "the same target without label noise).",
    "spectra.png": "Singular values of the learned map S at full width. Blue: theory. Grey: trained heads. Red dashed: "
    "the target.",
    "scaling.png": "A power-law target, Gaussian-equivalent data. Left: excess test error above the best multiple of the "
    "target, and its ratio to the theory at the same d. Right: eigenvalues of S by rank.",
    "scores.png": f"Scores after finite-size extrapolation, by sample ratio and width (G: Gaussian-equivalent data). "
    f"Grey: the band |z| < {BAND:g}.",
}


def report_files(outcome: MainJobOutcome) -> dict[str, bytes]:
    """Return the figures, report.json and index.html (which needs no other file), by file name."""
    figures = main_job_figures(outcome)
    text = json.dumps(main_job_document(outcome), indent=1, allow_nan=False) + "\n"
    return {**figures, "report.json": text.encode(), "index.html": report_page(outcome, figures).encode()}


def report_page(outcome: MainJobOutcome, figures: dict[str, bytes]) -> str:
    """Return the page: verdict first, then figures, scores, thresholds, equations, and how to repeat it."""
    sections = (
        _verdict(outcome),
        "".join(_figure(name, figures[name]) for name in CAPTIONS if name in figures),
        _thresholds(outcome),
        _scaling(outcome),
        "".join(_table(str(kind), comparison) for kind, comparison in outcome.comparisons.items()),
        _equations(),
        _provenance(outcome),
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        'content="width=device-width, initial-scale=1"><title>Tied attention: theory and training</title>'
        f"<style>{STYLESHEET.read_text()}</style></head><body><main>"
        "<h1>Empirical risk minimisation in one tied attention head</h1>"
        '<p class="lead">Replica theory against direct minimisation of the empirical risk, in standard errors.</p>'
        f"{''.join(sections)}</main></body></html>\n"
    )


def _verdict(outcome: MainJobOutcome) -> str:
    word, tone = ("agree", "good") if outcome.agrees else ("disagree", "bad")
    rows = "".join(
        f'<li class="{"good" if v.agrees else "bad"}"><b>{LABELS[v.quantity]}</b> ({kind}): {html.escape(v.advice)}; '
        f"worst z = {_number(v.worst.z, '.1f')} at α = {v.worst.problem.alpha:g}, κ = {v.worst.problem.width:g}; "
        f"mean over points {100 * v.pooled.relative:+.2f} ± {100 * v.pooled.standard_error:.2f} %</li>"
        for kind, comparison in outcome.comparisons.items()
        for v in comparison.verdicts
    )
    if outcome.laws:
        tone_of = "good" if outcome.laws.agrees else "bad"
        rows += f'<li class="{tone_of}"><b>scaling laws</b>: {"agree" if outcome.laws.agrees else "disagree"}</li>'
    rows += "".join(
        f'<li class="{"good" if p.agrees else "bad"}"><b>spectrum</b> at α = {p.alpha:g}: '
        f"{'agrees' if p.agrees else 'disagrees'}; distance of the distribution functions {p.distance:.4f}, "
        f"p = {p.p_value:.3f}</li>"
        for p in outcome.panels
    )
    excluded = sum(len(comparison.excluded) for comparison in outcome.comparisons.values())
    shuffled = " Labels were shuffled among samples on purpose." if outcome.plan.base.shuffle_labels else ""
    return (
        f'<section class="verdict {tone}"><h2>Theory and simulation {word}.{shuffled}</h2><ul>{rows}</ul>'
        f"<p>{len(outcome.results)} runs; {excluded} did not converge and were left out.</p></section>"
    )


def _figure(name: str, content: bytes) -> str:
    source = base64.b64encode(content).decode()
    caption = html.escape(CAPTIONS[name])
    return (
        f'<figure><img alt="{caption}" src="data:image/png;base64,{source}"><figcaption>{caption}</figcaption></figure>'
    )


def _thresholds(outcome: MainJobOutcome) -> str:
    rows = "".join(
        f"<tr><th>{kind}</th><td><code>{t.value}</code></td></tr>" for kind, t in sorted(outcome.thresholds.items())
    )
    return (
        f"<section><h2>Thresholds</h2><table>{rows}</table><p>Sample ratios at width 1 or more; interpolation at the "
        "label noise of this page, recovery without label noise.</p></section>"
    )


def _scaling(outcome: MainJobOutcome) -> str:
    """Derived exponents beside the theory at growing d, and slopes of trained heads beside the theory's over the same window."""
    if not outcome.exponents or outcome.laws is None:
        return ""
    approach = "".join(
        f"<tr><td>{html.escape(a.regime)}</td><td>{a.exponent}</td><td>"
        + ", ".join(f"{slope:.3f} (d = {dim:.0e})" for dim, slope, _ in a.slopes)
        + f"</td><td>{'reached to 0.01' if a.reached else 'not yet reached to 0.01'}</td></tr>"
        for a in outcome.exponents
    )
    slopes = "".join(
        f"<tr{'' if s.agrees else ' class=bad'}><td>{s.dim}</td><td>{html.escape(s.decay.name)}</td>"
        f"<td>{s.samples[0]} to {s.samples[1]}</td><td>{s.value:.3f} [{s.low:.3f}, {s.high:.3f}]</td>"
        f"<td>{s.theory:.3f}</td><td>{s.exponent:.3f}</td></tr>"
        for s in outcome.laws.slopes
    )
    return (
        "<section><h2>Scaling laws</h2><p>Exponents of the samples in the risk at unit gain; local slopes of the full theory at "
        "growing d; gamma = 3/4.</p><table><tr><th>regime</th><th>exponent</th><th>theory</th><th></th></tr>"
        f"{approach}</table><p>Slopes of trained heads with 95 % intervals, of the theory over the same samples, and the exponent: at "
        "such d windows are short, and theory and exponent differ.</p><table><tr><th>d</th><th>λ</th><th>n</th><th>trained</th>"
        f"<th>theory</th><th>exponent</th></tr>{slopes}</table></section>"
    )


def _table(kind: str, comparison: Comparison) -> str:
    head = "".join(
        f"<th>{name}</th>"
        for name in ("", "α", "κ", "d", "simulation", "theory", "raw difference", "extrapolated", "z")
    )
    body = "".join(_row(s) for q in COMPARED_QUANTITIES for s in comparison.scores if s.quantity == q)
    return (
        f"<section><h2>Every point: {kind}</h2><p>Simulation, theory and raw difference at the largest d; "
        "extrapolated: the residual "
        "a of r(d) = a + c/d (and e/d² with three sizes) with its standard error; z: a over that error, through Student's t.</p>"
        f'<table class="points"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></section>'
    )


def _row(score: Score) -> str:
    last = score.groups[-1] if score.groups else None
    cells = [LABELS[score.quantity], f"{score.problem.alpha:g}", f"{score.problem.width:g}"]
    if last is None:
        cells += ["", "no run converged", "", "", "", ""]
    else:
        cells += [
            ", ".join(f"{g.dim} × {g.runs}" for g in score.groups),
            f"{last.simulation:.5f} ± {_number(last.standard_error, '.5f')}",
            f"{last.theory:.5f}",
            f"{score.raw_percent:+.2f} %, {_number(score.raw_in_errors, '+.1f')} SE",
            f"{_number(score.residual, '+.5f')} ± {_number(score.standard_error, '.5f')}",
            _number(score.z, "+.2f"),
        ]
    tone = "" if score.agrees else ' class="bad"'
    return f"<tr{tone}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _number(value: float, form: str) -> str:
    return format(value, form) if math.isfinite(value) else "undetermined"


def _equations() -> str:
    steps: dict[str, list[dict[str, str]]] = {}
    for equation in json.loads(record("equations")):
        steps.setdefault(equation["step"], []).append(equation)
    parts = "".join(_step(step, equations) for step, equations in steps.items())
    return f"<section><h2>Equations</h2><p>All derived, none typed; folded: steps of detail.</p>{parts}</section>"


def _step(step: str, equations: list[dict[str, str]]) -> str:
    lines = "".join(
        f'<div class="equation">{convert(e["latex"], display="block")}<span>{html.escape(e["id"])}</span></div>'
        for e in equations
    )
    is_open = " open" if step in MAIN_STEPS else ""
    return f"<details{is_open}><summary>{html.escape(equations[0]['title'])}</summary>{lines}</details>"


def _provenance(outcome: MainJobOutcome) -> str:
    facts = main_job_document(outcome)
    rows = {
        **{key.rstrip("_"): value for key, value in facts["parameters"].items()},
        "runs (data, d × number, α, κ)": "; ".join(
            f"{c.data}: {', '.join(f'{d} × {n}' for d, n in c.sizes)}; α {', '.join(f'{a:g}' for a in c.alphas)}; "
            f"κ {', '.join(f'{w:g}' for w in c.widths)}"
            for c in outcome.plan.campaigns
        ),
        "seed": f"{facts['seed']}, spawned per point and run",
        "versions": ", ".join(f"{name} {number}" for name, number in facts["versions"].items()),
        "processor time": ", ".join(f"{stage} {seconds:.0f} s" for stage, seconds in facts["seconds"].items()),
        "wall time": f"{facts['elapsed']:.0f} s",
        "sum over runs": f"{facts['run_seconds']:.0f} s",
    }
    body = "".join(f"<tr><th>{html.escape(k)}</th><td>{html.escape(str(v))}</td></tr>" for k, v in rows.items())
    return f"<section><h2>How to repeat it</h2><table>{body}</table></section>"
