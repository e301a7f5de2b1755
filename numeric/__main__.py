"""Command line of the numerical layer: `python -m numeric COMMAND`, see --help."""

import argparse
import csv
import dataclasses
import io
import sys
import time
from fractions import Fraction
from pathlib import Path

from numeric.arguments import (
    BadInput,
    Parser,
    add_problem_arguments,
    exact_text,
    exact_texts,
    grid,
    integer,
    positive,
    print_json,
    run,
    writable,
    write_atomically,
)
from numeric.target_arguments import add_target_arguments, float64_target
from numeric.threshold_command import add_threshold, threshold

FIGURES = (".png", ".pdf", ".svg")
PROBLEM = ("width", "lambda_", "noise", "tokens", "beta", "beta0")


def build_parser() -> Parser:
    """All commands and their arguments."""
    parser = Parser(prog="python -m numeric", description="Solve the generated equations of tied attention.")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="{threshold,curve,spectrum,decompose,optimal-lambda,cost,recovery}"
    )

    threshold_parser = add_threshold(commands)

    curve = commands.add_parser(
        "curve",
        help="order parameters and errors along alpha",
        epilog="example: python -m numeric curve --alpha 0.05:4:30 --kappa0 .5 --lambda .01 --noise .5 --plot curve.png",
    )
    spectrum = commands.add_parser(
        "spectrum",
        help="singular values of the learned map",
        epilog="example: python -m numeric spectrum --alpha 0.5 --kappa0 .5 --lambda .01 --noise .5 --plot spectrum.png",
    )
    spectrum.add_argument(
        "--alpha",
        type=positive("--alpha", "sample ratio n/d^2, e.g. 0.5"),
        required=True,
        metavar="X",
        help="sample ratio n/d^2",
    )
    decompose = commands.add_parser(
        "decompose",
        help="parts of the test error along alpha: overfitting, underfitting, approximation, mismatch",
        epilog="example: python -m numeric decompose --alpha 0.1:100:20 --power-law 1 --dim 100 --lambda .1 --noise .5",
    )
    optimal = commands.add_parser(
        "optimal-lambda",
        help="weight decay of least test error along alpha, for factors or direct training",
        epilog="example: python -m numeric optimal-lambda --alpha 0.1:4:10 --kappa0 .05 --noise .05 --plot optimal.png",
    )
    optimal.add_argument(
        "--tolerance",
        type=positive("--tolerance", "relative precision of lambda, e.g. 0.01"),
        default="1/100",
        metavar="X",
        help="relative precision of lambda (default 1/100)",
    )
    cost = commands.add_parser(
        "cost",
        help="estimation error along alpha against the Bayes optimum",
        epilog="example: python -m numeric cost --alpha 0.1:4:20 --kappa0 .5 --lambda .01 --noise .5 --plot cost.png",
    )
    recovery = commands.add_parser(
        "recovery",
        help="recovery thresholds along kappa0, learned and Bayes-optimal",
        epilog="example: python -m numeric recovery --kappa0 0.02:1:30 --width 1,3/4 --tokens 2,3,4 --plot recovery.png",
    )
    recovery.add_argument(
        "--kappa0",
        type=grid("--kappa0"),
        required=True,
        metavar="GRID",
        help="rank ratios of the target, a list or grid",
    )
    recovery.add_argument("--width", type=grid("--width"), default="1", metavar="GRID", help="width ratios (default 1)")
    recovery.add_argument(
        "--tokens",
        type=lambda text: tuple(integer("--tokens", 2, 10**6, "e.g. 2,3,4")(part) for part in text.split(",")),
        default="2",
        metavar="LIST",
        help="numbers of tokens (default 2)",
    )
    for command in (curve, optimal):
        command.add_argument(
            "--parametrisation",
            choices=("factorised", "symmetric", "general"),
            default="factorised",
            help="factors with weight decay, or the matrix itself with a Frobenius penalty (default factorised)",
        )
    for command in (curve, decompose, optimal, cost):
        command.add_argument(
            "--alpha",
            type=grid("--alpha"),
            required=True,
            metavar="GRID",
            help="0.2,0.5,1 or first:last:count (geometric)",
        )
    for command in (curve, spectrum, decompose, cost):
        add_problem_arguments(command, *PROBLEM)
    add_problem_arguments(optimal, *(name for name in PROBLEM if name != "lambda_"))
    for command in (curve, spectrum, decompose, optimal, cost):
        add_target_arguments(command)
    for command in (curve, decompose, optimal, cost, recovery):
        command.add_argument("--csv", metavar="F", help="write a table")
    for command in (curve, spectrum, decompose, optimal, cost, recovery):
        command.add_argument("--plot", metavar="F", help="write a figure (png, pdf or svg)")
    for command in (threshold_parser, curve, spectrum, decompose, optimal, cost, recovery):
        command.add_argument("--json", action="store_true", help="print one JSON document on stdout")
    return parser


def problem(arguments: argparse.Namespace, alpha: Fraction):  # type: ignore[no-untyped-def]  # the import is deferred
    """The Problem that the arguments state, and the exact values of its parameters but alpha as text."""
    from numeric.problem import MOST_TOKENS, Parametrisation, Problem

    parametrisation = Parametrisation(getattr(arguments, "parametrisation", "factorised"))
    if arguments.lambda_ == 0 and parametrisation is not Parametrisation.FACTORISED:
        raise BadInput("--lambda", 0, "direct training needs weight decay > 0", "use a small value such as 1e-6")
    if arguments.tokens > MOST_TOKENS:
        raise BadInput(
            "--tokens",
            arguments.tokens,
            f"learning curves are solved for at most {MOST_TOKENS} tokens",
            "use fewer; thresholds take any number",
        )
    for name in ("kappa0", "lambda_", "noise", "width", "beta", "beta0", "q0"):
        value = getattr(arguments, name)
        if value and not Fraction(1, 10**12) <= value:
            raise BadInput(f"--{name.rstrip('_')}", value, "is below 1e-12", "give 0 (where allowed) or more than that")
    target, given = float64_target(arguments)
    asked = Problem(
        alpha=float(alpha),
        target=target,
        lambda_=float(arguments.lambda_),
        noise=float(arguments.noise),
        width=float(arguments.width),
        tokens=arguments.tokens,
        beta=float(arguments.beta),
        beta0=float(arguments.beta0),
        parametrisation=parametrisation,
    )
    if hasattr(arguments, "parametrisation"):
        given = {"parametrisation": str(parametrisation), **given}
    return asked, {**given, **exact_texts(arguments, *PROBLEM)}


def point(solution) -> dict[str, object]:  # type: ignore[no-untyped-def]  # the import is deferred
    """One solution as a JSON object; quantities of a failed solve are null."""
    from numeric.solution import QUANTITIES

    values = {name: solution.value(name) if solution.trusted else None for name in QUANTITIES}
    residual = solution.residual if solution.residual < float("inf") else None
    return {
        "alpha": solution.problem.alpha,
        **values,
        "status": solution.status.name.lower(),
        "residual": residual,
        "error_estimate": solution.error_estimate if solution.trusted else None,
        "replicon": replicon_text(solution.replicon),
        "errors": {name: error for name, error in solution.errors.items() if error == error},
    }


def replicon_text(value: float) -> float | str | None:
    """As JSON knows no infinity: minus infinity in words, null where it is not known."""
    return None if value != value else "-inf" if value == -float("inf") else value


def write_table(path: Path, points: list[dict[str, object]]) -> None:
    """Write the points as comma-separated values, whole or not at all."""
    text = io.StringIO()
    columns = [name for name in points[0] if name != "errors"]
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(points)
    write_atomically(path, text.getvalue().encode())


def print_points(solutions) -> None:  # type: ignore[no-untyped-def]  # the import is deferred
    """Print the points as a table for a reader."""
    sys.stdout.write(
        f"{'alpha':>10} {'m':>10} {'q':>10} {'train':>10} {'test':>10} {'estimation':>10} {'rel.error':>9}  status\n"
    )
    for solution in solutions:
        values = (
            solution.problem.alpha,
            solution.m,
            solution.q,
            solution.train_error,
            solution.test_error,
            solution.estimation_error,
        )
        sys.stdout.write(
            " ".join(f"{value:10.6f}" for value in values)
            + f" {solution.error_estimate:9.1e}  {solution.status.name.lower()}\n"
        )


def curve(arguments: argparse.Namespace) -> int:
    """Print a learning curve; exit 1 if a point was not solved."""
    table, figure = outputs(arguments)
    started = time.perf_counter()
    asked, given = problem(arguments, arguments.alpha[0])
    from tqdm import tqdm

    from numeric.curve import learning_curve

    solutions = learning_curve(
        asked, [float(alpha) for alpha in arguments.alpha], lambda grid: tqdm(grid, desc="alpha", disable=None)
    )
    points = [point(solution) for solution in solutions]
    if table:
        write_table(table, points)
    if figure:
        from numeric.plots import curve_figure, save

        save(curve_figure(solutions), figure)
    if arguments.json:
        print_json({"parameters": given, "points": points, "seconds": time.perf_counter() - started})
    else:
        print_points(solutions)
    for solution in solutions:
        if not solution.trusted:
            sys.stderr.write(f"alpha = {solution.problem.alpha:g}: {solution.status.value}\n")
    return 0 if all(solution.trusted for solution in solutions) else 1


def spectrum(arguments: argparse.Namespace) -> int:
    """Print the learned spectrum at one point; exit 1 if the point was not solved."""
    figure = writable("--plot", arguments.plot, *FIGURES)
    asked, given = problem(arguments, arguments.alpha)
    from numeric.saddle import solve
    from numeric.spectrum import learned_spectrum

    solution = solve(asked)
    if not solution.trusted:
        sys.stderr.write(f"alpha = {asked.alpha:g}: {solution.status.value}\n")
        return 1
    found = learned_spectrum(solution)
    if figure:
        from numeric.plots import save, spectrum_figure

        save(spectrum_figure(found, rf"$\alpha={asked.alpha:g}$"), figure)
    if arguments.json:
        print_json(
            {
                "parameters": {"alpha": str(arguments.alpha), **given},
                "status": solution.status.name.lower(),
                "zero_mass": found.zero_mass,
                "bulk": {"x": found.x.tolist(), "density": found.density.tolist()},
                "edges": found.bulks,
                "outliers": [dataclasses.asdict(outlier) for outlier in found.outliers],
                "second_moment": found.second_moment,
                "moment_error": found.moment_error,
                "residual": solution.residual,
                "error_estimate": solution.error_estimate,
            }
        )
    else:
        sys.stdout.write(f"mass at zero {found.zero_mass:.6f}, second moment {found.second_moment:.6f}\n")
        for low, high in found.bulks:
            sys.stdout.write(f"bulk from {low:.6f} to {high:.6f}\n")
        for outlier in found.outliers:
            sys.stdout.write(
                f"outlier at {outlier.value:.6f} from {outlier.target:.6f}, overlap {outlier.overlap:.6f}, "
                f"weight {outlier.weight:.3g}\n"
            )
        status = solution.status.name.lower()
        sys.stdout.write(f"{status}, residual {solution.residual:.1e}, relative error {solution.error_estimate:.1e}\n")
    return 0


PARTS = ("c_star", "overfitting", "underfitting", "approximation", "gain", "distance", "least", "mismatch", "rate")


def decompose(arguments: argparse.Namespace) -> int:
    """Print the parts of the test error; exit 1 if a point was not solved."""
    table, figure = outputs(arguments)
    if arguments.tokens != 2:
        raise BadInput("--tokens", arguments.tokens, "the test error is decomposed for two tokens", "use --tokens 2")
    started = time.perf_counter()
    asked, given = problem(arguments, arguments.alpha[0])
    from tqdm import tqdm

    from numeric.curve import learning_curve
    from numeric.decompose import decompose as parts_of

    alphas = [float(alpha) for alpha in arguments.alpha]
    solutions = learning_curve(asked, alphas, lambda values: tqdm(values, desc="alpha", disable=None))
    found = {solution.problem.alpha: parts_of(solution) for solution in solutions if solution.trusted}
    points: list[dict[str, object]] = [
        {
            "alpha": solution.problem.alpha,
            "test_error": solution.test_error if solution.trusted else None,
            **{name: getattr(found.get(solution.problem.alpha), name, None) for name in PARTS},
            "status": solution.status.name.lower(),
        }
        for solution in solutions
    ]
    if table:
        write_table(table, points)
    if figure:
        from numeric.plots import decomposition_figure, save

        save(decomposition_figure(list(found.values())), figure)
    if arguments.json:
        print_json({"parameters": given, "points": points, "seconds": time.perf_counter() - started})
    else:
        print_rows(points)
    for solution in solutions:
        if not solution.trusted:
            sys.stderr.write(f"alpha = {solution.problem.alpha:g}: {solution.status.value}\n")
    return 0 if all(solution.trusted for solution in solutions) else 1


def optimal_lambda(arguments: argparse.Namespace) -> int:
    """Print the optimal weight decay along alpha; exit 1 if a point was not solved."""
    table, figure = outputs(arguments)
    started = time.perf_counter()
    arguments.lambda_ = Fraction(1)  # the search does not use it
    asked, given = problem(arguments, arguments.alpha[0])
    del given["lambda"]
    from tqdm import tqdm

    from numeric.optimal import optimal_lambda as search
    from numeric.solution import NotConverged

    found, points, unsolved = [], list[dict[str, object]](), list[str]()
    for alpha in tqdm(arguments.alpha, desc="alpha", disable=None):
        try:
            best = search(asked.at(float(alpha)), float(arguments.tolerance))
        except NotConverged as error:
            unsolved.append(str(error))
            points.append({"alpha": float(alpha), **dict.fromkeys(OPTIMUM), "status": "not converged"})
            continue
        found.append(best)
        uncertainty = best.uncertainty if best.uncertainty < float("inf") else None
        values = (best.decay, uncertainty, best.solution.test_error, best.solution.errors["test_error"])
        status = best.solution.status.name.lower()
        points.append({"alpha": float(alpha), **dict(zip(OPTIMUM, values, strict=True)), "status": status})
    if table:
        write_table(table, points)
    if figure:
        from numeric.plots import optimal_figure, save

        save(optimal_figure(found), figure)
    if arguments.json:
        print_json({"parameters": given, "points": points, "seconds": time.perf_counter() - started})
    else:
        print_rows(points)
    for line in unsolved:
        sys.stderr.write(f"{line}\n")
    return 1 if unsolved else 0


OPTIMUM = ("lambda", "relative_uncertainty", "test_error", "test_error_error")


def cost(arguments: argparse.Namespace) -> int:
    """Print learned and optimal estimation errors; exit 1 if a point was not solved."""
    table, figure = outputs(arguments)
    started = time.perf_counter()
    asked, given = problem(arguments, arguments.alpha[0])
    from tqdm import tqdm

    from numeric.cost import cost_curve

    alphas = [float(alpha) for alpha in arguments.alpha]
    found = cost_curve(asked, alphas, lambda values: tqdm(values, desc="alpha", disable=None))
    points: list[dict[str, object]] = [
        {
            "alpha": item.solution.problem.alpha,
            "estimation_error": item.solution.estimation_error if item.solution.trusted else None,
            "bayes_error": item.bayes_error,
            "ratio": item.ratio if item.solution.trusted and item.bayes_error else None,
            "status": item.solution.status.name.lower()
            if item.bayes_error is not None
            else "optimum beyond double precision",
        }
        for item in found
    ]
    if table:
        write_table(table, points)
    if figure:
        from numeric.plots import cost_figure, save

        save(cost_figure(found), figure)
    if arguments.json:
        print_json({"parameters": given, "points": points, "seconds": time.perf_counter() - started})
    else:
        print_rows(points)
    return 0 if all(item.solution.trusted and item.bayes_error is not None for item in found) else 1


def recovery(arguments: argparse.Namespace) -> int:
    """Print recovery thresholds of learning and of the optimum."""
    table, figure = outputs(arguments)
    started = time.perf_counter()
    least = min(min(arguments.kappa0), Fraction(1))
    if too_narrow := [width for width in arguments.width if width < least]:
        raise BadInput(
            "--width", too_narrow[0], f"is below every rank ratio of --kappa0 (least {least})", "widen the student"
        )
    from numeric.recovery_table import recovery_table

    kappa0s, widths, tokens = (
        tuple(dict.fromkeys(values)) for values in (arguments.kappa0, arguments.width, arguments.tokens)
    )
    found = recovery_table(kappa0s, widths, tokens)
    left_out = len(kappa0s) * len(widths) * len(tokens) - len(found)
    if left_out:
        sys.stderr.write(f"{left_out} combinations left out: the width is below the target's rank ratio\n")
    rows: list[dict[str, object]] = [
        {
            "kappa0": exact_text(row.kappa0),
            "width": exact_text(row.width),
            "tokens": row.tokens,
            "recovery": row.recovery,
            "bayes": row.bayes,
            "ratio": row.ratio,
        }
        for row in found
    ]
    if table:
        write_table(table, rows)
    if figure:
        from numeric.plots import recovery_figure, save

        save(recovery_figure(found), figure)
    if arguments.json:
        print_json({"rows": rows, "seconds": time.perf_counter() - started})
    else:
        print_rows(rows)
    return 0


def outputs(arguments: argparse.Namespace) -> tuple[Path | None, Path | None]:
    """Table and figure to write, checked before any work."""
    table, figure = writable("--csv", arguments.csv), writable("--plot", arguments.plot, *FIGURES)
    if table and table == figure:
        raise BadInput("--plot", figure, "is the file of --csv", "name two files")
    return table, figure


def print_rows(rows: list[dict[str, object]]) -> None:
    """Print records of the same keys as a table for a reader."""
    sys.stdout.write("  ".join(f"{name:>17}" for name in rows[0]) + "\n")
    for row in rows:
        cells = (
            f"{value:.9g}" if isinstance(value, float) else "-" if value is None else str(value)
            for value in row.values()
        )
        sys.stdout.write("  ".join(f"{cell:>17}" for cell in cells) + "\n")


def main() -> int:
    """Run the command line."""
    arguments = build_parser().parse_args()
    commands = {
        "threshold": threshold,
        "curve": curve,
        "spectrum": spectrum,
        "decompose": decompose,
        "optimal-lambda": optimal_lambda,
        "cost": cost,
        "recovery": recovery,
    }
    return commands[arguments.command](arguments)


if __name__ == "__main__":
    run(main)
