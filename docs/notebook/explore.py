"""What a tied attention head learns, with sliders: learning curve, learned spectrum, parts of the
test error.

Run: marimo run docs/notebook/explore.py
    # `marimo edit` shows the cells; `python docs/notebook/explore.py` runs them once
"""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="What a tied attention head learns")


@app.cell
def _():
    import io
    from functools import lru_cache

    import marimo as mo
    import numpy as np
    from matplotlib.figure import Figure

    import numeric
    from attention_erm.runtime.errors import NoAnswer
    from numeric import plotting

    return Figure, NoAnswer, io, lru_cache, mo, np, numeric, plotting


@app.cell
def _(mo):
    mo.md(r"""
    # What a tied attention head learns

    Sequences of $T = 2$ tokens in dimension $d$; $n = \alpha d^2$ of them, labelled by a target
    $S_0$ of rank $\kappa_0 d$ with label noise of variance $\Delta$. Factors $W$ of $S = W
    W^\top/\sqrt{m d}$ are trained with weight decay $\lambda$. Everything below solves the replica
    equations that `derive` wrote; each number has an error bar, and a point without a value is not
    drawn.
    """)
    return


@app.cell
def _(mo, np):
    def geometric(first, last, count):
        """Steps of a slider, short decimals from first to last."""
        return [float(f"{value:.3g}") for value in np.geomspace(first, last, count)]

    alpha = mo.ui.slider(
        steps=geometric(0.1, 10, 41),
        value=1.0,
        label=r"samples $\alpha = n/d^2$",
        show_value=True,
    )
    decay = mo.ui.slider(
        steps=geometric(0.001, 1, 31), value=0.01, label=r"weight decay $\lambda$", show_value=True
    )
    noise = mo.ui.slider(
        steps=[k / 20 for k in range(41)], value=0.5, label=r"label noise $\Delta$", show_value=True
    )
    kappa0 = mo.ui.slider(
        steps=[k / 20 for k in range(1, 21)],
        value=0.5,
        label=r"rank of the target $\kappa_0$",
        show_value=True,
    )
    mo.vstack(
        [
            mo.hstack([alpha, decay], justify="start", gap=2),
            mo.hstack([noise, kappa0], justify="start", gap=2),
        ]
    )
    return alpha, decay, geometric, kappa0, noise


@app.cell
def _(io, mo):
    def panel(title, figure, what, text):
        """A figure, as an image that says what it shows, with a text beside it."""
        image = io.BytesIO()
        figure.savefig(image, format="png", dpi=150, bbox_inches="tight")
        shown = mo.image(image.getvalue(), alt=what, width=480)
        return mo.vstack(
            [
                mo.md(f"## {title}"),
                mo.hstack([shown, mo.md(text)], justify="start", align="center", gap=2),
            ]
        )

    def listed(heading, rows):
        """A table with two columns."""
        return "\n".join(
            [
                f"| {heading} | |",
                "| --- | --- |",
                *(f"| {name} | {value} |" for name, value in rows),
            ]
        )

    return listed, panel


@app.cell
def _(decay, geometric, kappa0, lru_cache, noise, numeric):
    _grid = tuple(geometric(0.1, 10, 10))

    @lru_cache(maxsize=256)
    def solved(alpha, decay, noise, kappa0):
        """The solution at one point."""
        return numeric.solve(numeric.Problem(alpha, numeric.MarchenkoPastur(kappa0), decay, noise))

    @lru_cache(maxsize=64)
    def curve(decay, noise, kappa0):
        """Solutions along the sample ratio."""
        return numeric.learning_curve(
            numeric.Problem(1.0, numeric.MarchenkoPastur(kappa0), decay, noise),
            _grid,
            accuracy=1e-2,
        )

    stated = decay.value, noise.value, kappa0.value
    return curve, solved, stated


@app.cell
def _(alpha, mo, solved, stated):
    point = solved(alpha.value, *stated)

    def row(name, quantity):
        """A line of the table: value and error bar, or that there is none."""
        if not point.trusted:
            return f"| {name} | no value | |"
        return (
            f"| {name} | {getattr(point, quantity):.6g} | {point.errors.get(quantity, 0.0):.1e} |"
        )

    table = "\n".join(
        (
            "| | value | error bar |",
            "| --- | --- | --- |",
            row(r"overlap $m$", "m"),
            row(r"norm $q$", "q"),
            row("training error", "train_error"),
            row("test error", "test_error"),
            row("estimation error", "estimation_error"),
        )
    )
    kinds = {"CONVERGED": "success", "UNLEARNED": "info", "UNSTABLE": "warn", "ROUGH": "warn"}
    verdict = mo.callout(
        mo.md(f"**alpha = {alpha.value:g}**: {point.status.value} (residual {point.residual:.1e})"),
        kind=kinds.get(point.status.name, "danger"),
    )
    mo.vstack([verdict, mo.md(table)])
    return (point,)


@app.cell
def _(NoAnswer, alpha, listed, mo, numeric, panel, plotting, point):
    def spectrum_panel():
        """Bulks, outliers and mass at zero; or why there are none."""
        try:
            found = numeric.learned_spectrum(point)
        except NoAnswer as reason:
            return mo.md(
                f"## Eigenvalues of the learned $S$\nnone at alpha = {alpha.value:g}: {reason}"
            )
        rows = [
            ("mass at zero", f"{found.zero_mass:.4f}"),
            *(
                (f"bulk {k}", f"{low:.4g} to {high:.4g}")
                for k, (low, high) in enumerate(found.bulks, 1)
            ),
            *(("outlier", f"{one.value:.4g}, overlap {one.overlap:.3f}") for one in found.outliers),
            ("outliers", len(found.outliers)),
        ]
        figure = plotting.spectrum_figure(found)
        table = listed(f"spectrum at alpha = {alpha.value:g}", rows)
        return panel("Eigenvalues of the learned $S$", figure, "learned spectrum", table)

    spectrum_panel()
    return


@app.cell
def _(Figure, NoAnswer, alpha, listed, mo, numeric, panel, point):
    def parts_panel():
        """What the test error is made of; or why that is not known."""
        try:
            split = numeric.decompose(point)
        except NoAnswer as reason:
            return mo.md(f"## Parts of the test error\nnone at alpha = {alpha.value:g}: {reason}")
        parts = {
            "best possible predictor": split.least,
            "mismatch": split.mismatch,
            "approximation": split.rate * split.approximation,
            "underfitting": split.rate * split.underfitting,
            "overfitting": split.rate * split.overfitting,
        }
        figure = Figure(figsize=(5, 2.2), layout="constrained")
        axes = figure.subplots()
        axes.barh(list(parts), list(parts.values()), color=["0.6", "C3", "C2", "C1", "C0"])
        axes.set(xlabel="part of the test error")
        rows = [
            (name, f"{value:.4g}")
            for name, value in (*parts.items(), ("together", sum(parts.values())))
        ]
        table = listed(f"parts at alpha = {alpha.value:g}", rows)
        return panel("Parts of the test error", figure, "parts of the test error", table)

    parts_panel()
    return


@app.cell
def _(alpha, curve, panel, plotting, point, stated):
    def curve_panel():
        """Errors along alpha with the point of the slider; which points have no value."""
        along = curve(*stated)
        figure = plotting.curve_figure(along)
        (axes,) = figure.axes
        colours = {"test_error": "C0", "train_error": "C1", "estimation_error": "C2"}
        for name, colour in colours.items() if point.trusted else ():
            error = point.errors.get(name, 0.0)
            axes.errorbar(
                [alpha.value], [getattr(point, name)], [error], fmt="o", color=colour, capsize=3
            )
        axes.axvline(alpha.value, color="0.7", lw=0.8, zorder=0)
        missing = [f"{one.problem.alpha:g}" for one in along if not one.trusted]
        without = (
            f"no value, and not drawn, at {', '.join(missing)}" if missing else "all with values"
        )
        text = f"curve of {len(along)} points, {without}; the slider is at alpha = {alpha.value:g}"
        return panel("Learning curve", figure, "learning curve", text)

    curve_panel()
    return


if __name__ == "__main__":
    app.run()
