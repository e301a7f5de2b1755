r"""State evolution of message passing
==================================

Order parameters step by step, from four starts: the fixed point is the saddle point, drawn dotted (:doc:`/message_passing`).
"""

from matplotlib.figure import Figure

import numeric

problem = numeric.Problem(alpha=0.5, target=numeric.MarchenkoPastur(0.5), lambda_=0.05, noise=0.5)
saddle_point = numeric.solve(problem).unwrap()

figure = Figure(figsize=(8, 3.4), layout="constrained")
panels = figure.subplots(1, 2)
for axes, name in zip(panels, ("m", "estimation_error"), strict=True):
    axes.axhline(getattr(saddle_point, name), color="0.5", ls=":")
    axes.set(xlabel="step", ylabel=name.replace("_", " "))
for k, start in enumerate(numeric.FirstMessage):
    stages = numeric.state_evolution(problem, start, steps=20).stages
    for axes, name in zip(panels, ("m", "estimation_error"), strict=True):
        axes.plot(
            range(1, 21),
            [getattr(stage, name) for stage in stages],
            "o-",
            ms=3,
            color=f"C{k}",
            label=f"from {start.value}",
        )
panels[1].legend(frameon=False)
