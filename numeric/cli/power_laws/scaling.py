"""Command `python -m numeric scaling`: excess risk and local slopes of a power-law target along samples or width."""

import argparse
import math
import re
import time
from collections.abc import Mapping, Sequence

from attention_erm.runtime import interrupts
from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.progress import progress
from attention_erm.runtime.text_table import table_text
from numeric.cli.arguments import (
    add_problem_arguments,
    exact_text,
    exact_texts,
    grid,
    integer,
    number,
    positive,
)
from numeric.cli.model_arguments import add_model, chosen_model, own_settings
from numeric.cli.output import (
    add_outputs,
    deliver,
    outputs,
    print_unsolved,
    run_or_return_partial,
    warn_inexact,
    warn_of_statuses,
)
from numeric.cli.power_laws.crossovers import PlacedSlope, tell_crossovers
from numeric.cli.power_laws.exponents import decay_exponent
from numeric.cli.problem_arguments import add_sample_minimum
from numeric.maths.domain import finite
from numeric.model import structure
from numeric.problem.decay_law import DecayLaw

SAMPLES = "give numbers of samples, e.g. 1e3,1e5 or 1e3:1e8:30"
MOST_DIM = 10**12
MOST_RECOVERED = 100  # features whose recovery is located: each takes some ten solves
MOST_LEADING = 32  # features kept exactly: each is an unknown and a Gaussian per token
WAY_OUT = "give a number, 1/d, sqrt(d) or d^p"


def add(commands) -> None:  # type: ignore[no-untyped-def]  # argparse hides the type
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "scaling",
        help="excess risk of a power-law target and its local slope along the number of samples, or along the width",
        description="Solve the full theory of a power-law target at finite dimension, along the number of samples or "
        "along the width. Prints a row a point: excess risk with its error bar, gain, features that have left "
        "the bulk (no whole number where the threshold cuts the interval over which one of them scatters) and the "
        "bulk's edge, 0 where all of it is below the threshold, the local slope beside the exponent of the regime that the point lies "
        "in, the status.",
        epilog="example: python -m numeric scaling --power-law 3/4 --dim 200 --lambda 1/d --samples 1e3:1e8:30 --noise .5",
    )
    parser.add_argument(
        "--power-law",
        type=decay_exponent("--power-law"),
        required=True,
        metavar="GAMMA",
        help="eigenvalues proportional to k^-GAMMA, k = 1..dim",
    )
    parser.add_argument(
        "--dim",
        type=dimension,
        required=True,
        metavar="D",
        help="dimension of a token",
    )
    parser.add_argument(
        "--lambda",
        dest="lambda_",
        required=True,
        metavar="X",
        help="weight decay: a number, 1/d, sqrt(d), d^p",
    )
    parser.add_argument(
        "--samples",
        type=grid("--samples", SAMPLES),
        required=True,
        metavar="GRID",
        help="numbers n of samples",
    )
    parser.add_argument(
        "--width",
        type=grid("--width"),
        default="1",
        metavar="GRID",
        help="width ratios m/d of the student, its rank over d; with several, rounded to whole numbers m of hidden units, give one "
        "number of samples: slopes are then along m (default 1)",
    )
    parser.add_argument(
        "--q0",
        type=positive("--q0", "give tr S0^2/d, e.g. 1"),
        default="1",
        metavar="X",
        help="second moment of the target (default 1)",
    )
    parser.add_argument(
        "--leading",
        type=integer(
            "--leading",
            0,
            MOST_LEADING,
            f"give one from 0 to {MOST_LEADING}; 8 are enough from gamma = 3/4 on",
        ),
        default="0",
        metavar="K",
        help="first features whose indices keep their law on token sequences, which is not Gaussian; excess_error and gain are then "
        "those of sequences (default 0)",
    )
    parser.add_argument(
        "--recovery",
        type=integer("--recovery", 0, MOST_RECOVERED, f"give one from 0 to {MOST_RECOVERED}"),
        default="0",
        metavar="K",
        help="also find the numbers of samples, within the range given, at which the first K features leave the bulk, printed and in "
        "JSON (default 0)",
    )
    add_model(parser)
    add_problem_arguments(parser, "noise", "tokens", "beta", "beta0")
    add_sample_minimum(parser)
    add_outputs(parser)
    parser.set_defaults(run=run)


def dimension(text: str) -> int:
    """Argument type: an integer from 2 to MOST_DIM, 1e6 for 1000000."""
    parse = integer("--dim", 2, MOST_DIM, "e.g. 200 or 1000000")
    try:
        value = float(text)
    except ValueError:
        return parse(text)
    return parse(str(int(value)) if value.is_integer() and abs(value) < 1e15 else text)


def decay_law(text: str) -> DecayLaw:
    """The law of weight decay that a text states.

    Raises:
        InvalidParameter: it is no number and no power of d.
    """
    compact = text.replace(" ", "").replace("**", "^")
    powers = {"1/d": -1.0, "sqrt(d)": 0.5, "d": 1.0, "1/sqrt(d)": -0.5}
    if compact in powers:
        return DecayLaw(text, power=powers[compact])
    if match := re.fullmatch(r"d\^\(?([-+0-9./]+)\)?", compact):
        exponent = number("--lambda", "has no exponent", lambda value: True, WAY_OUT)(match[1])
        return DecayLaw(text, power=float(exponent))
    if re.search(
        r"[^\d\W]", compact.lower().replace("e", "")
    ):  # names something else: only a number may have an e
        raise InvalidParameter("--lambda", text, "is no number and no power of d", WAY_OUT)
    return DecayLaw(text, factor=float(positive("--lambda", WAY_OUT)(text)))


def run(arguments: argparse.Namespace) -> int:
    """Print the scaling curve; exit 1 if a point was not solved."""
    outputs(arguments)  # refused before any work
    started = time.perf_counter()
    along = _axis(arguments)
    asked, given = _stated(arguments)
    from numeric.studies.scaling import scaling_curve, width_curve
    from numeric.studies.sequential_recovery import sequential_recovery

    samples = sorted(map(float, arguments.samples))
    hidden = sorted({max(1, round(float(ratio) * arguments.dim)) for ratio in arguments.width})
    curve, values = (scaling_curve, samples) if along == "samples" else (width_curve, hidden)
    found = run_or_return_partial(curve, asked, values, lambda values: progress(values, desc=along))
    points = [record(point, along) for point in found]
    tell_crossovers(slope for point in found for slope in slopes_of(point, along))
    features = progress(
        range(1, arguments.recovery + 1), disable=not arguments.recovery, desc="recovery"
    )
    try:
        recovered = (
            []
            if interrupts.interrupted()
            else run_or_return_partial(sequential_recovery, asked, found, features)
        )
    except KeyboardInterrupt:  # before the first was found; the points are
        interrupts.mark_handled()
        recovered = []
    recovery = [recovery_record(one) for one in recovered]
    deliver(
        arguments,
        points,
        lambda plotting: plotting.scaling_figure(asked, found, recovered, along),
        lambda: {
            "parameters": given,
            "points": points,
            "recovery": recovery,
            "seconds": time.perf_counter() - started,
        },
        below=_legend(asked.model, along, recovery),
    )
    solutions, places = (
        [point.solution for point in found],
        [getattr(point, along) for point in found],
    )
    warn_of_statuses(solutions, AXES[along], places)
    if not asked.leading:  # no command takes both --leading and --accuracy
        warn_inexact(solutions)
    return print_unsolved(solutions, AXES[along], places)


def _stated(arguments: argparse.Namespace):  # type: ignore[no-untyped-def]  # the import is deferred
    """The Problem at the first of the samples and widths, and all parameters but the samples, as they are told.

    Raises:
        InvalidParameter: an argument is outside its domain, or two exclude each other.
    """
    from numeric.problem.problem import Problem, SampleMinimum
    from numeric.studies.scaling import power_law_for

    if min(arguments.samples) < 1:
        raise InvalidParameter(
            "--samples", exact_text(min(arguments.samples)), "must be at least 1", SAMPLES
        )
    name = chosen_model(arguments)
    own = own_settings(arguments, name, listed=True)
    target = power_law_for(name, float(arguments.power_law), arguments.dim, float(arguments.q0))
    count = len(target.eigenvalues) // (2 if structure(name).has_singular_values else 1)
    for several in ("leading", "recovery"):
        if getattr(arguments, several) >= count:
            rule = f"must be below {count}, the number of distinct eigenvalues"
            raise InvalidParameter(
                f"--{several}", str(getattr(arguments, several)), rule, "give fewer"
            )
    if arguments.leading and arguments.sample_minimum == "fitted":
        rule = "takes minutes a point beside --leading, and more"
        raise InvalidParameter("--sample-minimum", "fitted", rule, "give one of them")
    decay = decay_law(arguments.lambda_).at(arguments.dim)
    asked = Problem(
        float(min(arguments.samples)) / target.dim**2, target, decay, float(arguments.noise), float(min(arguments.width)),
        tokens=arguments.tokens, beta=float(arguments.beta), beta0=float(arguments.beta0), leading=arguments.leading,
        sample_minimum=SampleMinimum(arguments.sample_minimum), model=name,
        extra=tuple((setting, float(value)) for setting, value in own.items()),
    )  # fmt: skip
    given = {"model": name, "power_law": exact_text(arguments.power_law), "dim": arguments.dim}
    given |= {"lambda": arguments.lambda_, "lambda_value": decay, "leading": arguments.leading}
    given["sample_minimum"] = arguments.sample_minimum
    given |= {setting: str(value) for setting, value in own.items()}
    given |= exact_texts(arguments, "q0", "noise", "tokens", "beta", "beta0")
    return asked, {**given, "width": [exact_text(value) for value in arguments.width]}


def _legend(model: str, along: str, recovery: Sequence[Mapping[str, object]]) -> str:
    """What columns mean, and where features leave the bulk."""
    from numeric.studies.regimes import axes

    exponent = (
        "exponent: that of the regime" if axes(model) else f"no exponents are derived for {model}"
    )
    lines = [
        "risk = tr(S/c - S0)^2/d, c the gain of S; gain = c/c*",
        f"local_slope = d log(risk)/d log({AXES[along]}); {exponent}",
    ]
    if recovery:
        lines.append(
            "features leave the bulk between `after` and `before` samples (-: beyond the range given):"
        )
    return "\n".join([*lines, ""]) + (table_text(recovery) if recovery else "")


AXES = {"samples": "n", "hidden": "m"}  #: what slopes are along, and its symbol


def _axis(arguments: argparse.Namespace) -> str:
    """Whether points follow the samples or the width.

    Raises:
        InvalidParameter: both vary, or what is asked for follows the samples only.
    """
    if len(arguments.width) == 1:
        return "samples"
    shown = ",".join(map(exact_text, arguments.width))
    if len(arguments.samples) > 1:
        raise InvalidParameter(
            "--width", shown, "cannot vary together with --samples", "give one number of either"
        )
    if arguments.recovery:
        raise InvalidParameter(
            "--recovery",
            arguments.recovery,
            "is along --samples",
            "give one --width, or leave it out",
        )
    return "hidden"


def slopes_of(point, along: str) -> list[PlacedSlope]:  # type: ignore[no-untyped-def]  # the import is deferred
    """The local slope of a point, where it has one, in its regime."""
    from numeric.studies.scaling import power_law_of, regime_of

    regime = regime_of(point, along)
    if regime is None or math.isnan(point.slope):
        return []
    problem = point.solution.problem
    values = {
        "n": point.samples,
        "lambda": problem.lambda_,
        "m": point.hidden,
        "d": power_law_of(problem).dim,
    }
    logs = tuple(math.log(values[name]) for name in regime.parameters)
    return [PlacedSlope(point.slope, point.slope_error, regime, logs, AXES[along])]


def recovery_record(recovered) -> dict[str, object]:  # type: ignore[no-untyped-def]  # the import is deferred
    """One feature as a JSON object; an end beyond the range is null."""
    return {
        "feature": recovered.feature,
        "eigenvalue": recovered.eigenvalue,
        "after": recovered.after,
        "before": recovered.before,
    }


def record(point, along: str) -> dict[str, object]:  # type: ignore[no-untyped-def]  # the import is deferred
    """One point as a JSON object; what is not known is null."""
    from numeric.studies.scaling import power_law_of, regime_of

    regime, dim = regime_of(point, along), power_law_of(point.solution.problem).dim
    values = {
        "n": point.samples,
        "n_eff": point.samples / dim,
        **({"m": point.hidden} if regime and "m" in regime.parameters else {}),
        "risk": point.risk,
        "risk_error": point.risk_error,
        "excess_error": point.excess_error,
        "excess_uncertainty": point.excess_uncertainty,
        "gain": point.gain,
        "learned": point.learned,
        "features": point.features,
        "bulk_edge": point.bulk_edge,
        "local_slope": point.slope,
        "slope_error": point.slope_error,
        "exponent": float(regime.exponent(AXES[along])) if regime else math.nan,
    }
    known = {name: finite(value) for name, value in values.items()}
    return {
        **known,
        "regime": regime.name if regime else None,
        "status": point.solution.status.name.lower(),
    }
