"""Scaling exponents of a power-law target as data, LaTeX and Python: every cell of the phase
diagram with its balance and region.
"""

from collections.abc import Iterator
from functools import cache

import sympy as sp

from derive.language.errors import DerivationError
from derive.language.matrix import Kind
from derive.language.model import Model
from derive.scaling.balance import Form, Solution, System
from derive.scaling.phase_diagram import Cell, Phase, phase_diagram
from derive.scaling.power_law import limit, peak, risk, system
from derive.scaling.token_covariance import limit as covariance_limit
from derive.scaling.token_covariance import symbolic_solutions
from derive.scaling.width import applies as has_width
from derive.scaling.width import optima, width_system

Record = dict[str, object]


def has_exponents(model: Model) -> bool:
    """Return whether the model has exponents."""
    return not missing(model)


@cache
def missing(model: Model) -> str:
    """Return why the model has no exponents; empty if it has."""
    if model.matrix.linear == 0 or model.matrix.quadratic != 0:
        return "derived for factors, because only their penalty leaves eigenvalues out"
    if model.draws:
        return "derived for labels that are functions of the index, not for classes"
    sides = (peak(model, side) for side in (1, -1))
    try:
        for of in (*_systems(model), *sides):
            phase_diagram(of)
    except DerivationError as error:  # must not keep the model from all else
        return f"its balances are degenerate: {error}"
    return ""


def axes(model: Model) -> list[str]:
    """Return the vertical axes of the phase diagrams of a model: "decay", "width"."""
    return ["decay", *(["width"] if has_width(model) else [])] if has_exponents(model) else []


def record(model: Model) -> Record:
    """Return the phase diagram of power laws and of the interpolation peak as plain data, with
    exact text for every exponent.
    """
    bulk = system(model)
    return {
        "target": "s_k = sqrt(d) k^-gamma, k = 1..d; excess risk tr(S - S0)^2/d",
        "about": "every scale is the product of the parameters to the exponents given; a cell is "
        "where all conditions are >= 1",
        "gamma": str(bulk.gamma),
        "least_gamma": str(bulk.least_gamma),
        **_diagram(bulk),
        "peak": {
            "about": "sample ratio at a relative distance `detuning` from interpolation, n of "
            "order d^2, target not learned",
            "sides": [_diagram(peak(model, side)) for side in (1, -1)],
        },
        **({"width": _width(model)} if has_width(model) else {}),
        **({"covariance": _covariance(model)} if has_covariance(model) else {}),
    }


def has_covariance(model: Model) -> bool:
    """Return whether exponents with a covariance of the tokens are derived: positive matrices."""
    return model.matrix.kind is Kind.POSITIVE and has_exponents(model)


def _covariance(model: Model) -> Record:
    """Return the cells with a power-law covariance c_k ~ k^-a of the tokens, 0 < a < 1."""
    of = system(model)
    return {
        "about": "covariance c_k ~ k^-a of the tokens on the eigenvectors of the target, of trace "
        "d, 0 < a < 1; whitened target c_k s_k = sqrt(d) k^-(gamma + a), gamma + a > 1/2; "
        "p = min(2, 1/a)",
        "cells": [
            {
                "id": _covariance_names(solution)[0],
                "name": _covariance_names(solution)[1],
                "risk": _powers(of, solution.exponents[risk]),
                "conditions": [_powers(of, margin) for margin in solution.margins],
            }
            for solution in symbolic_solutions(model)
        ],
    }


def _covariance_names(solution: Solution) -> tuple[str, str]:
    cause = covariance_limit(solution)
    return (
        f"{solution.regime.id}.{cause}",
        f"{solution.regime.name}; limited by {LIMITS[cause]}",
    )


def _width(model: Model) -> Record:
    """Return the diagram with the number m of hidden units as an axis, and the widths of least
    risk.
    """
    bulk = system(model)
    return {
        "about": "m hidden units, S of rank m at most, weight decay lambda sqrt(m/d) of S; m = d "
        "is the diagram above",
        **_diagram(width_system(model)),
        "optima": [
            {
                "about": "width of least risk; where n m is given, the risk is its power "
                "`computation`",
                "beyond": identifier(optimum.beyond),
                "width": _powers(bulk, optimum.width),
                "risk": _powers(bulk, optimum.risk),
                "conditions": [_powers(bulk, form) for form in optimum.conditions],
                "computation": str(optimum.computation),
            }
            for optimum in optima(model)
        ],
    }


def _diagram(of: System) -> Record:
    return {
        "parameters": [str(symbol).rstrip("_") for symbol in of.parameters],
        "phases": [
            {
                "gamma_above": str(phase.low),
                "gamma_below": None if phase.high is None else str(phase.high),
                "cells": [_cell(of, cell) for cell in phase.cells],
            }
            for phase in phase_diagram(of).phases
        ],
    }


def _cell(of: System, cell: Cell) -> Record:
    solution = cell.solution
    return {
        "id": identifier(solution),
        "name": name(solution),
        "risk": _powers(of, solution.exponents[risk]),
        "scales": {str(scale): _powers(of, form) for scale, form in solution.exponents.items()},
        "conditions": [_powers(of, margin) for margin in cell.margins],
        "corrections": [_powers(of, form) for form in corrections(of, solution)],
        "balances": [
            {"equation": balance.name, "left": str(left), "right": str(right)}
            for balance, (left, right) in zip(
                solution.regime.balances, solution.dominant, strict=True
            )
        ],
    }


def corrections(of: System, solution: Solution) -> tuple[Form, ...]:
    """Return the inverse relative sizes of everything that is neglected: other terms of the
    balances, conditions, and their corrections.

    Terms that depend neither on n nor on m are left out, because they do not change a slope.

    Args:
        of: the system.
        solution: its solution.
    """
    axes = [
        k for k, symbol in enumerate(of.parameters) if str(symbol).rstrip("_") in ("n", "m")
    ] or [0]
    forms = (*solution.margins, *solution.corrections)
    return tuple(dict.fromkeys(form for form in forms if any(form[axis] != 0 for axis in axes)))


def _powers(of: System, form: Form) -> dict[str, str]:
    names = (str(symbol).rstrip("_") for symbol in of.parameters)
    return {symbol: str(_factored(power)) for symbol, power in zip(names, form, strict=True)}


@cache  # few powers occur in many places
def _factored(power: sp.Expr) -> sp.Expr:
    return sp.factor(power)


def identifier(solution: Solution) -> str:
    """Return the regime of the spectrum and the limit of the risk, as one word each, for
    programs.
    """
    return f"{solution.regime.id}.{limit(solution)}"


def name(solution: Solution) -> str:
    """Return the regime of the spectrum and the limit of the risk, for readers."""
    return f"{solution.regime.name}; limited by {LIMITS[limit(solution)]}"


LIMITS = {
    "target": "target",
    "width": "width",
    "overfitting": "overfitting",
    "decay": "weight decay",
    "noise": "noise",
}


def table(model: Model) -> str:
    """Return LaTeX tables of the cells: scaling of the excess risk and region of validity, in n_eff
    = n/d; also with the width, if the model has one.
    """
    return "".join(_table(of) for of in _systems(model))


def _systems(model: Model) -> tuple[System, ...]:
    """Return the systems of a student whose rank is no limit, and of a student with m hidden
    units.
    """
    return (system(model), *((width_system(model),) if has_width(model) else ()))


def _table(of: System) -> str:
    rows = [row for phase in phase_diagram(of).phases for row in _rows(of, phase)]
    head = "\\begin{tabular}{lll}\n spectrum; limit & excess risk & where \\\\ \\hline\n"
    return head + "\n".join(rows) + "\n\\end{tabular}\n"


def _rows(of: System, phase: Phase) -> Iterator[str]:
    for cell in phase.cells:
        where = r",\ ".join(rf"{_monomial(of, margin)}\gtrsim1" for margin in cell.margins)
        yield (
            f" {name(cell.solution)} & ${_monomial(of, cell.solution.exponents[risk])}$ & "
            f"${where}$ \\\\"
        )


def _monomial(of: System, form: Form) -> str:
    """Return the product of powers of n_eff, lambda, m and d in LaTeX."""
    powers = _effective(of, form).items()
    symbols = {"n_eff": r"n_{\rm eff}", "lambda": r"\lambda"}
    named = [(symbols.get(symbol, symbol), power) for symbol, power in powers if power != 0]
    parts = (f"{symbol}^{{{sp.latex(power)}}}" if power != 1 else symbol for symbol, power in named)
    return " ".join(parts) or "1"


def module(model: Model) -> str:
    """Return Python source: names of cells, exponents of the risk, and conditions at a numerical
    gamma.
    """
    head = (
        f'"""Scaling exponents of a power-law target: {model.title}."""\n\nfrom fractions '
        "import Fraction\n"
    )
    parts = [head, *(_functions(of) for of in _systems(model))]
    if has_covariance(model):
        parts.append(_covariance_functions(symbolic_solutions(model)))
    return "\n\n".join(parts) + "\n"


def _covariance_functions(solutions: tuple[Solution, ...]) -> str:
    rows = (solution.exponents[risk] for solution in solutions)
    lines = [
        "#: the same with a covariance k^-a of the tokens",
        "COVARIANCE_CELLS = (",
        *("    ({!r}, {!r}),".format(*_covariance_names(solution)) for solution in solutions),
        ")\n\n",
        "def covariance_risk(gamma, a):",
        '    """Exponents of (n, lambda, d) of the excess risk in each cell."""',
        "    p = min(2, 1 / a)",
        "    return (",
        *(f"        ({', '.join(map(_rational, row))})," for row in rows),
        "    )\n\n",
        "def covariance_conditions(gamma, a):",
        '    """Rows of exponents of (n, lambda, d) for each cell: the cell is where no product of '
        'these powers is below one."""',
        "    p = min(2, 1 / a)",
        "    return (",
        *(f"        ({''.join(map(_rational_tuple, one.margins))})," for one in solutions),
        "    )",
    ]
    return "\n".join(lines)


def _rational_tuple(form: Form) -> str:
    return f"({', '.join(map(_rational, form))}), "


@cache
def _rational(power: sp.Expr) -> str:
    """Return Python source of a rational function of gamma, a and p that is exact for Fractions."""
    if power.is_Rational:
        return str(power) if power.is_Integer else f"Fraction({power.p}, {power.q})"
    numerator, denominator = sp.fraction(sp.together(sp.cancel(power)))
    return f"({numerator}) / Fraction({denominator})"


def _functions(of: System) -> str:
    (phase,) = phase_diagram(of).phases  # one arrangement of cells for every gamma
    cells, names = phase.cells, [str(symbol).rstrip("_") for symbol in of.parameters]
    powers, prefix = f"({', '.join(names)})", "width_" if "m" in names else ""
    lines = [
        "#: spectrum and what limits the risk: identifier and name",
        f"{prefix.upper()}CELLS = (",
        *(f'    ("{identifier(cell.solution)}", "{name(cell.solution)}"),' for cell in cells),
        ")\n\n",
        f"def {prefix}risk(gamma):",
        f'    """Exponents of {powers} of the excess risk in each cell."""',
        "    return (",
        *(f"        {_tuple(cell.solution.exponents[risk])}," for cell in cells),
        "    )\n\n",
        f"def {prefix}conditions(gamma):",
        f'    """Rows of exponents of {powers} for each cell: the cell is where no product '
        'of these powers is below one."""',
        "    return (",
        *(f"        {_tuples(cell.margins)}," for cell in cells),
        "    )\n\n",
        f"def {prefix}corrections(gamma):",
        f'    """Rows of exponents of {powers} for each cell: one over such a product is '
        'neglected, up to a constant."""',
        "    return (",
        *(f"        {_tuples(corrections(of, cell.solution))}," for cell in cells),
        "    )",
    ]
    return "\n".join(lines)


def _tuples(forms: tuple[Form, ...]) -> str:
    return f"({''.join(_tuple(form) + ', ' for form in forms)})"


def _tuple(form: Form) -> str:
    return f"({', '.join(_python(_factored(power)) for power in form)})"


@cache
def _python(power: sp.Expr) -> str:
    """Return Python source that is exact for a Fraction: a quotient of polynomials with integer
    coefficients, or a constant.
    """
    if power.is_Rational:
        return str(power) if power.is_Integer else f"Fraction({power.p}, {power.q})"
    numerator, denominator = (
        sp.Poly(side, sp.Symbol("gamma", real=True)) for side in sp.fraction(sp.cancel(power))
    )
    scale, numerator = numerator.clear_denoms(convert=True)
    return f"({numerator.as_expr()}) / ({(scale * denominator).as_expr()})"


def explanation(model: Model) -> str:
    """Return each cell with its exponents, its balance, and its region; then the same with the
    width as an axis.
    """
    return "\n\n".join(_explanation(of) for of in _systems(model))


def _explanation(of: System) -> str:
    names = ", ".join(_effective(of, (sp.Integer(0),) * len(of.parameters)))
    lines = [
        f"excess risk for {of.gamma} > {of.least_gamma} in {names}, n_eff = n/d; every scale up "
        "to a constant"
    ]
    for phase in phase_diagram(of).phases:
        for number, cell in enumerate(phase.cells, 1):
            lines += [
                "",
                f"{number}. {name(cell.solution)}",
                f"   R ~ {_plain(of, cell.solution.exponents[risk])}",
            ]
            lines += [f"   where {_plain(of, margin)} >= 1" for margin in cell.margins]
            pairs = zip(cell.solution.regime.balances, cell.solution.dominant, strict=True)
            lines += [
                f"   {balance.name:>10}: {left} ~ {right}" for balance, (left, right) in pairs
            ]
    return "\n".join(lines)


def _plain(of: System, form: Form) -> str:
    powers = _effective(of, form).items()
    return (
        " ".join(
            f"{symbol}^({power})" if power != 1 else symbol
            for symbol, power in powers
            if power != 0
        )
        or "1"
    )


def _effective(of: System, form: Form) -> dict[str, sp.Expr]:
    """Return the exponents of n_eff = n/d and of the other parameters, from those of n and these
    parameters.
    """
    names = ["n_eff", *(str(symbol).rstrip("_") for symbol in of.parameters[1:])]
    return dict(zip(names, (*form[:-1], _factored(form[-1] + form[0])), strict=True))
