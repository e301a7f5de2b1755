"""What the main job found, as a page that needs no other file; with its figures and its document, as files."""

from __future__ import annotations

import html

from attention_erm.commandline.provenance import document_text
from verify.core.realised import COMPARED_QUANTITIES
from verify.core.scores import BAND
from verify.main_job.document import main_job_document
from verify.main_job.figure import main_job_figures
from verify.main_job.study import MainJobOutcome
from verify.report.html import LABELS, equations, figure_element, formatted, how_to_repeat, page, score_table
from verify.studies.exponents.text import near_words
from verify.studies.thresholds.text import sighting_text, sighting_word

CAPTIONS = {
    "curve.png": "Error against the sample ratio. Lines: replica theory. Points: trained heads at the largest d, with "
    "standard errors, without any finite-size correction. Vertical lines: thresholds at width 1 or more (recovery: "
    "the same target without label noise).",
    "spectra.png": "Singular values of the learned map S at full width. Blue: theory. Grey: trained heads. Red dashed: "
    "the target.",
    "scaling.png": "A power-law target, Gaussian-equivalent data. Left: excess test error above the best multiple of the "
    "target, and its ratio to the theory at the same d. Right: eigenvalues of S by rank.",
    "thresholds.png": "Thresholds seen in training at vanishing weight decay. Points: root of the training loss (above) and of "
    "the estimation error without label noise (below), open beyond the threshold. Line: theory. Dotted: proven value. Band: where "
    "the trained root ends, 95 %, extrapolated in d.",
    "scores.png": f"Scores after finite-size extrapolation, by sample ratio and width (G: Gaussian-equivalent data). "
    f"Grey: the band |z| < {BAND:g}.",
}


def report_files(outcome: MainJobOutcome) -> dict[str, bytes]:
    """Return the figures, report.json and index.html (which needs no other file), by file name."""
    figures = main_job_figures(outcome)
    text = document_text(main_job_document(outcome))
    return {**figures, "report.json": text.encode(), "index.html": report_page(outcome, figures).encode()}


def report_page(outcome: MainJobOutcome, figures: dict[str, bytes]) -> str:
    """Return the page: verdict first, then figures, scores, thresholds, equations, and how to repeat it."""
    sections = (
        _verdict(outcome),
        "".join(figure_element(CAPTIONS[name], figures[name]) for name in CAPTIONS if name in figures),
        _thresholds(outcome),
        _sightings(outcome),
        _scaling(outcome),
        "".join(
            score_table(f"Every point: {kind}", comparison.scores, COMPARED_QUANTITIES)
            for kind, comparison in outcome.comparisons.items()
        ),
        equations(),
        _provenance(outcome),
    )
    return page(
        "Tied attention: theory and training",
        "Empirical risk minimisation in one tied attention head",
        "Replica theory against direct minimisation of the empirical risk, in standard errors.",
        sections,
    )


def _verdict(outcome: MainJobOutcome) -> str:
    word, tone = ("agree", "good") if outcome.agrees else ("disagree", "bad")
    rows = "".join(
        f'<li class="{"good" if v.agrees else "bad"}"><b>{LABELS[v.quantity]}</b> ({kind}): {html.escape(v.advice)}; '
        f"worst z = {formatted(v.worst.z, '.1f')} at α = {v.worst.problem.alpha:g}, κ = {v.worst.problem.width:g}; "
        f"mean over points {100 * v.pooled.relative:+.2f} ± {100 * v.pooled.standard_error:.2f} %</li>"
        for kind, comparison in outcome.comparisons.items()
        for v in comparison.verdicts
    )
    if outcome.laws:
        tone_of = "good" if outcome.laws.agrees else "bad"
        rows += f'<li class="{tone_of}"><b>scaling laws</b>: {"agree" if outcome.laws.agrees else "disagree"}</li>'
    rows += "".join(
        f'<li class="{"good" if one.agrees else "bad"}"><b>exponent {one.exponent}</b> of the samples: trained heads '
        f"{'agree' if one.agrees else 'disagree'}; seen {formatted(one.seen.value, '.3f')} "
        f"[{formatted(one.seen.low, '.3f')}, {formatted(one.seen.high, '.3f')}]</li>"
        for one in (outcome.trained.exponents if outcome.trained else ())
    )
    rows += "".join(
        f'<li class="{"good" if leg.closes_in else "bad"}"><b>exponent {leg.exponent}</b>: the theory '
        f"{'reaches it to 0.01' if leg.reached else 'approaches it' if leg.closes_in else 'does not approach it'} at "
        f"d = {leg.slopes[-1][0]:.0e}</li>"
        for leg in outcome.exponents
    )
    rows += "".join(
        f'<li class="{"good" if one.agrees else "bad"}"><b>{one.sought.kind.name} threshold</b> at {html.escape(one.sought.setting)}: '
        f"{sighting_word(one)}; {sighting_text(one)}</li>"
        for one in (outcome.sighted.sightings if outcome.sighted else ())
    )
    rows += "".join(
        f'<li class="{"good" if 1.0 in ratio else "bad"}"><b>{name} threshold</b>, all settings: trained over proven '
        f"{ratio:.4f}</li>"
        for name, ratio in (outcome.sighted.pooled.items() if outcome.sighted else ())
    )
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


def _thresholds(outcome: MainJobOutcome) -> str:
    rows = "".join(
        f"<tr><th>{kind}</th><td><code>{t.value}</code></td></tr>" for kind, t in sorted(outcome.thresholds.items())
    )
    return (
        f"<section><h2>Thresholds</h2><table>{rows}</table><p>Sample ratios at width 1 or more; interpolation at the "
        "label noise of this page, recovery without label noise.</p></section>"
    )


def _sightings(outcome: MainJobOutcome) -> str:
    """Each threshold at each size and at infinite d, beside its proven value."""
    if outcome.sighted is None:
        return ""
    rows = "".join(
        f"<tr{'' if one.agrees else ' class=bad'}><td>{one.sought.kind.name}</td><td>{html.escape(one.sought.setting)}</td><td>"
        + ", ".join(
            f"{one.crossing.by_size[item.dim].value:.4f} (d = {item.dim}, {len(item.values)} runs)"
            for item in one.points
        )
        + f"</td><td>{one.crossing.infinite.value:.4f} [{one.crossing.infinite.low:.4f}, {one.crossing.infinite.high:.4f}]</td>"
        f"<td>[{one.crossing.judged.low:.4f}, {one.crossing.judged.high:.4f}]</td><td>{float(one.proven):.8f}</td></tr>"
        for one in outcome.sighted.sightings
    )
    return (
        "<section><h2>Thresholds in training</h2><p>Where the trained root ends at each d and extrapolated in 1/d, with intervals of "
        "95 % and those at which all hold together, which are judged.</p><table><tr><th></th><th>setting</th><th>trained</th>"
        f"<th>d → ∞</th><th>judged</th><th>proven</th></tr>{rows}</table></section>"
    )


def _scaling(outcome: MainJobOutcome) -> str:
    """Derived exponents beside the theory at growing d, and slopes of trained heads beside the theory's over the same window."""
    if not outcome.exponents or outcome.laws is None:
        return ""
    approach = "".join(
        f"<tr><td>{html.escape(a.regime)}</td><td>{a.exponent}</td><td>"
        + ", ".join(f"{slope:.3f} (d = {dim:.0e})" for dim, slope, _ in a.slopes)
        + f"</td><td>{'reached to 0.01' if a.reached else 'not yet reached to 0.01'}</td>"
        + f"<td>{near_words(a.near)}</td></tr>"
        for a in outcome.exponents
    )
    slopes = "".join(
        f"<tr{' class=bad' if s.judged and not s.agrees else ''}><td>{s.dim}</td><td>{html.escape(s.decay.name)}</td>"
        f"<td>{s.samples[0]} to {s.samples[1]}</td><td>{s.trained:.3f}</td>"
        f"<td>{s.theory:.3f}</td><td>{s.exponent:.3f}</td></tr>"
        for s in outcome.laws.slopes
    )
    trained = (
        "<p>Slopes of trained heads with 95 % intervals, of the theory over the same samples, and the exponent: at such d windows are "
        "short, and theory and exponent differ.</p><table><tr><th>d</th><th>λ</th><th>n</th><th>trained</th><th>theory</th>"
        f"<th>exponent</th></tr>{slopes}</table>"
    )
    return (
        "<section><h2>Scaling laws</h2><p>Exponents of the samples in the risk at unit gain; local slopes of the full theory at "
        "growing d; gamma = 3/4.</p><table><tr><th>regime</th><th>exponent</th><th>theory</th><th></th>"
        "<th>where what the exponent leaves out ends</th></tr>"
        f"{approach}</table>{trained if slopes else ''}</section>"
    )


def _provenance(outcome: MainJobOutcome) -> str:
    document = main_job_document(outcome)
    rows = {
        **{key.rstrip("_"): value for key, value in document["parameters"].items()},
        "runs (data, d × number, α, κ)": "; ".join(
            f"{c.data}: {', '.join(f'{d} × {n}' for d, n in c.sizes)}; α {', '.join(f'{a:g}' for a in c.alphas)}; "
            f"κ {', '.join(f'{w:g}' for w in c.widths)}"
            for c in outcome.plan.campaigns
        ),
        "seed": f"{document['seed']}, spawned per point and run",
        "versions": ", ".join(f"{name} {number}" for name, number in document["versions"].items()),
        "processor time": ", ".join(f"{stage} {seconds:.0f} s" for stage, seconds in document["seconds"].items()),
        "wall time": f"{document['elapsed']:.0f} s",
        "sum over runs": f"{document['run_seconds']:.0f} s",
    }
    return how_to_repeat(rows)
