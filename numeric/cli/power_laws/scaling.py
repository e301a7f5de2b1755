"""Command `scaling`: excess risk and local slopes of a power-law target along samples or width."""

import argparse
import math
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

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
from numeric.cli.command import Command, Result
from numeric.cli.model_arguments import add_model, chosen_model, own_settings, stated_settings
from numeric.cli.output import (
    add_outputs,
    print_unsolved,
    run_or_return_partial,
    warn_inexact,
    warn_of_statuses,
)
from numeric.cli.power_laws.crossovers import PlacedSlope, warn_of_crossovers
from numeric.cli.power_laws.exponents import covariance_exponent, decay_exponent
from numeric.cli.problem_arguments import add_sample_minimum
from numeric.maths.domain import finite
from numeric.model import structure
from numeric.problem.decay_law import DecayLaw

SAMPLES_HINT = "give numbers of samples, e.g. 1e3,1e5 or 1e3:1e8:30"
MOST_SAMPLES = 10**24  #: n of order d^2 at d = 10^12
DECAY_HINT = "give a number, 1/d, sqrt(d) or d^p"
MAX_DIM = 10**12
MAX_RECOVERED = 100  # each needs some ten solves
MAX_LEADING = 32  # each is an unknown, and a Gaussian per token
AXES = {"samples": "n", "hidden": "m"}  #: parameter of the curve, and its symbol


def _add_options(parser: argparse.ArgumentParser) -> None:
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
        type=grid("--samples", SAMPLES_HINT, most=MOST_SAMPLES),
        required=True,
        metavar="GRID",
        help="numbers n of samples",
    )
    parser.add_argument(
        "--width",
        type=grid("--width"),
        default="1",
        metavar="GRID",
        help="width ratios m/d of the student, its rank over d; several ones are rounded to whole "
        "numbers m of hidden units and require one number of samples: slopes are then along m "
        "(default 1)",
    )
    parser.add_argument(
        "--q0",
        type=positive("--q0", "give tr S0^2/d, e.g. 1"),
        default="1",
        metavar="X",
        help="second moment of the target (default 1)",
    )
    parser.add_argument(
        "--covariance",
        type=covariance_exponent,
        metavar="power:A",
        help="covariance k^-A of the tokens on the eigenvectors of the target, 0 < A < 1; q0 is "
        "then that of the whitened target (default isotropic)",
    )
    parser.add_argument(
        "--leading",
        type=integer(
            "--leading",
            0,
            MAX_LEADING,
            f"give one from 0 to {MAX_LEADING}; 8 are enough from gamma = 3/4 on",
        ),
        default="0",
        metavar="K",
        help="number of leading features whose indices have the non-Gaussian law of token "
        "sequences; "
        "excess_error and gain then refer to token sequences (default 0)",
    )
    parser.add_argument(
        "--recovery",
        type=integer("--recovery", 0, MAX_RECOVERED, f"give one from 0 to {MAX_RECOVERED}"),
        default="0",
        metavar="K",
        help="also find the numbers of samples, within the range of --samples, at which the first "
        "K "
        "features leave the bulk, printed and in JSON (default 0)",
    )
    add_model(parser)
    add_problem_arguments(parser, "noise", "tokens", "beta", "beta0")
    add_sample_minimum(parser)
    add_outputs(parser)


def dimension(text: str) -> int:
    """Convert an option to an integer from 2 to MAX_DIM; 1e6 is allowed."""
    parse = integer("--dim", 2, MAX_DIM, "e.g. 200 or 1000000")
    try:
        value = float(text)
    except ValueError:
        return parse(text)
    return parse(str(int(value)) if value.is_integer() and abs(value) < 1e15 else text)


def decay_law(text: str) -> DecayLaw:
    """Convert an option to a law of weight decay.

    Raises:
        InvalidParameter: it is not a number nor a power of d.
    """
    compact = text.replace(" ", "").replace("**", "^")
    powers = {"1/d": -1.0, "sqrt(d)": 0.5, "d": 1.0, "1/sqrt(d)": -0.5}
    if compact in powers:
        return DecayLaw(text, power=powers[compact])
    if match := re.fullmatch(r"d\^\(?([-+0-9./]+)\)?", compact):
        exponent = number("--lambda", "has no exponent", lambda value: True, DECAY_HINT)(match[1])
        return DecayLaw(text, power=float(exponent))
    if re.search(r"[^\d\W]", compact.lower().replace("e", "")):  # only a number may have an e
        raise InvalidParameter("--lambda", text, "is neither a number nor a power of d", DECAY_HINT)
    return DecayLaw(text, factor=float(positive("--lambda", DECAY_HINT)(text)))


def _compute(arguments: argparse.Namespace) -> Result:
    along = _axis(arguments)
    problem, parameters = _problem_of(arguments)
    from numeric.studies.scaling import scaling_curve, width_curve
    from numeric.studies.sequential_recovery import sequential_recovery

    samples = sorted(map(float, arguments.samples))
    hidden = sorted({max(1, round(float(ratio) * arguments.dim)) for ratio in arguments.width})
    curve, values = (scaling_curve, samples) if along == "samples" else (width_curve, hidden)
    found = run_or_return_partial(curve, problem, values, partial(progress, desc=along))
    points = [record(point, along) for point in found]
    warn_of_crossovers(slope for point in found for slope in slopes_of(point, along))
    recovered: Sequence[Any] = ()
    if arguments.recovery and not interrupts.interrupted():
        features = progress(range(1, arguments.recovery + 1), desc="recovery")
        try:
            recovered = run_or_return_partial(sequential_recovery, problem, found, features)
        except KeyboardInterrupt:  # before the first feature; the points are not lost
            interrupts.mark_handled()
    recovery = [
        {key: getattr(feature, key) for key in ("feature", "eigenvalue", "after", "before")}
        for feature in recovered
    ]

    def finish() -> int:
        solutions = [point.solution for point in found]
        places = [getattr(point, along) for point in found]
        warn_of_statuses(solutions, AXES[along], places)
        if not problem.leading:  # no command has both --leading and --accuracy
            warn_inexact(solutions)
        return print_unsolved(solutions, AXES[along], places)

    return Result(
        {"parameters": parameters, "points": points, "recovery": recovery},
        points,
        footer=_legend(problem.model, along, recovery),
        draw=lambda plotting: (plotting.scaling_figure(problem, found, recovered, along), {}),
        finish=finish,
    )


def _problem_of(arguments: argparse.Namespace) -> tuple[Any, dict[str, object]]:
    """Return the Problem at the first of the samples and widths, and all parameters but samples.

    Raises:
        InvalidParameter: an option is outside its domain, or two exclude each other.
    """
    from numeric.laws.covariance.power_law import PowerLawCovariance
    from numeric.problem.problem import Problem, SampleMinimum
    from numeric.studies.scaling import power_law_for

    if min(arguments.samples) < 1:
        raise InvalidParameter(
            "--samples", exact_text(min(arguments.samples)), "must be at least 1", SAMPLES_HINT
        )
    name = chosen_model(arguments)
    own = own_settings(arguments, name, listed=True)
    gamma, dim, q0 = float(arguments.power_law), arguments.dim, float(arguments.q0)
    target: Any
    if arguments.covariance is None:
        target = power_law_for(name, gamma, dim, q0)
    else:
        _require_no_features(arguments)
        target = PowerLawCovariance(gamma, float(arguments.covariance), dim, q0)
    count = len(target.eigenvalues) // (2 if structure(name).has_singular_values else 1)
    for several in ("leading", "recovery"):
        if getattr(arguments, several) >= count:
            rule = f"must be below {count}, the number of distinct eigenvalues"
            raise InvalidParameter(
                f"--{several}", str(getattr(arguments, several)), rule, "give fewer"
            )
    if arguments.leading and arguments.sample_minimum == "fitted":
        rule = "takes minutes per point with --leading"
        raise InvalidParameter("--sample-minimum", "fitted", rule, "give one of them")
    decay = decay_law(arguments.lambda_).at(arguments.dim)
    problem = Problem(
        float(min(arguments.samples)) / target.dim**2,
        target,
        decay,
        float(arguments.noise),
        float(min(arguments.width)),
        tokens=arguments.tokens,
        beta=float(arguments.beta),
        beta0=float(arguments.beta0),
        leading=arguments.leading,
        sample_minimum=SampleMinimum(arguments.sample_minimum),
        model=name,
        extra=tuple((setting, float(value)) for setting, value in own.items()),
    )
    given = {"model": name, "power_law": exact_text(arguments.power_law), "dim": arguments.dim}
    given |= {"lambda": arguments.lambda_, "lambda_value": decay, "leading": arguments.leading}
    given["sample_minimum"] = arguments.sample_minimum
    given |= {setting: str(value) for setting, value in own.items()}
    if arguments.covariance is not None:
        given["covariance"] = f"power:{exact_text(arguments.covariance)}"
    given |= exact_texts(arguments, "q0")
    given |= stated_settings(arguments, name, "noise", "tokens", "beta", "beta0")
    return problem, {**given, "width": [exact_text(value) for value in arguments.width]}


def _require_no_features(arguments: argparse.Namespace) -> None:
    """Check that nothing is asked about single features, which is not derived with a covariance.

    Raises:
        InvalidParameter: it is.
    """
    for several in ("leading", "recovery"):
        if count := getattr(arguments, several):
            rule = "is not derived for tokens with a covariance"
            raise InvalidParameter(f"--{several}", count, rule, "leave it out")


def _legend(model: str, along: str, recovery: Sequence[Mapping[str, object]]) -> str:
    """Return the meaning of the columns, and the table of the recovered features."""
    from numeric.studies.regimes import axes

    exponent = "exponent of the regime"
    if not axes(model):
        exponent = f"no exponents are derived for {model}"
    text = (
        "risk = tr(S/c - S0)^2/d, c the gain of S; gain = c/c*\n"
        f"local_slope = d log(risk)/d log({AXES[along]}); {exponent}\n"
    )
    if recovery:
        text += (
            "features leave the bulk between `after` and `before` samples "
            "(-: beyond the range given):\n"
        ) + table_text(recovery)
    return text


def _axis(arguments: argparse.Namespace) -> str:
    """Return the parameter of the curve, "samples" or "hidden".

    Raises:
        InvalidParameter: both vary, or --recovery is given along the width.
    """
    if len(arguments.width) == 1:
        return "samples"
    if len(arguments.samples) > 1:
        widths = ",".join(map(exact_text, arguments.width))
        rule = "cannot vary together with --samples"
        raise InvalidParameter("--width", widths, rule, "give one number of either")
    if arguments.recovery:
        rule, hint = "is along --samples", "give one --width, or leave it out"
        raise InvalidParameter("--recovery", arguments.recovery, rule, hint)
    return "hidden"


def slopes_of(point: Any, along: str) -> list[PlacedSlope]:
    """Return the local slope of a point with its regime, if it has both.

    Args:
        point: a ScalingPoint.
        along: "samples" or "hidden".
    """
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


def record(point: Any, along: str) -> dict[str, object]:
    """Return a point as a JSON object; unknown values are null.

    Args:
        point: a ScalingPoint.
        along: "samples" or "hidden".
    """
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


COMMAND = Command(
    "scaling",
    help="excess risk of a power-law target and its local slope along samples or width",
    description="Solve the full theory of a power-law target at finite dimension, along the number "
    "of samples or along the width. Prints one row per point: excess risk with its error bar, "
    "gain, features that have left the bulk (not a whole number if the threshold is within the "
    "interval over which one of them scatters) and the edge of the bulk, 0 if all of it is below "
    "the threshold, the local slope and the exponent of the regime of the point, the status.",
    example="python -m numeric scaling --power-law 3/4 --dim 200 --lambda 1/d "
    "--samples 1e3:1e8:30 --noise .5",
    add_options=_add_options,
    compute=_compute,
)
