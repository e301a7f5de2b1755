r"""State evolution of message passing
==================================

Order parameters step by step, from four starts: the fixed point is the saddle point, drawn dotted
(:doc:`/explanation/message_passing`).
"""

import numeric
from numeric.plotting.caption import add_caption, settings
from numeric.plotting.style import Sheet, in_style, legend_above

problem = numeric.Problem(alpha=0.5, target=numeric.MarchenkoPastur(0.5), lambda_=0.05, noise=0.5)
saddle_point = numeric.solve(problem).unwrap()
evolutions = {
    start: numeric.state_evolution(problem, start, steps=20).stages
    for start in numeric.FirstMessage
}


@in_style
def evolution_figure():
    """One line for each start."""
    sheet = Sheet(2, 2.4)
    names = {"m": "$m$", "estimation_error": "estimation error"}
    for axes, (name, label) in zip(sheet.subplots(1, 2), names.items(), strict=True):
        axes.axhline(getattr(saddle_point, name), color="0.5", ls=":")
        for start, stages in evolutions.items():
            steps = range(1, len(stages) + 1)
            axes.plot(
                steps,
                [getattr(stage, name) for stage in stages],
                "o-",
                ms=3,
                label=f"from {start.value}",
            )
        axes.set(xlabel="step", ylabel=label)
        axes.xaxis.get_major_locator().set_params(integer=True)
        legend_above(axes, 2)
    add_caption(sheet, settings(problem))
    return sheet


figure = evolution_figure()
