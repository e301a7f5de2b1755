"""The path integral of the spectral function: what is proven of it rests on bounds of its integrands around each piece."""

import cmath
import math

import pytest
from flint import acb, arb

from numeric.model import balls as generated
from numeric.proven_laws.path_integral import _foot, _panels, _quarter, _vertical

I = acb(0, 1)


class Spectrum:
    """Eigenvalues and weights as a law has them."""

    def __init__(self, *atoms):
        self._atoms = tuple((arb(s), arb(weight)) for s, weight in atoms)

    def atoms(self):
        return self._atoms

    def stieltjes(self, u):
        return sum((weight / (u - s) for s, weight in self._atoms), acb(0))


ONE, TWO = Spectrum((1.0, 1.0)), Spectrum((0.0, 0.7), (3.0, 0.3))


def ellipse(panel, inside):
    """Nodes just within the Bernstein ellipse of a piece, where its bounds are to hold."""
    rho = inside * float(panel.ellipse)
    turns = [rho * cmath.exp(2j * math.pi * k / 48) for k in range(48)]
    return [acb((turn + 1 / turn) / 2) for turn in turns]


@pytest.mark.parametrize("law", [ONE, TWO], ids=["one eigenvalue", "two"])
@pytest.mark.parametrize("end", [acb(1.0, 1e-3), acb(1.2, 0.5), acb(-2.0, 0.01), acb(0.9, 0)])
def test_integrands_keep_below_their_bounds_on_the_ellipse_around_each_piece(law, end):
    """By which the error of a Gauss rule is proven."""
    v, x = arb(0.4), arb(0.3)
    for panel in _panels(law, end, v, x):
        for node in ellipse(panel, 0.999):
            position, slope = panel.position(node)
            values = generated.finite_integrands(position, law.stieltjes(position), v, x)
            for value, bound in zip(values, panel.bounds, strict=True):
                assert float((value * slope).abs_lower()) <= float(bound.abs_upper())


PIECES = {
    "vertical": (lambda bounds: _vertical(arb(1), arb(0.2), arb(0.5), arb(1.5), bounds), [1.0]),
    "quarter": (lambda bounds: _quarter(arb(1), arb(2), arb(0.4), bounds), [0.6, 1.4]),
    "foot": (lambda bounds: _foot(arb(1), arb(0.5), bounds), [0.5, 1.5]),
}


@pytest.mark.parametrize("piece", PIECES)
def test_a_piece_keeps_as_far_from_eigenvalues_and_as_near_to_its_centre_as_its_bounds_are_told(piece):
    """Looser bounds would cost nodes, tighter ones the proof: at one node they are met."""
    made, eigenvalues = PIECES[piece]
    told = []

    def bounds(*limits):
        told.append([float(limit) for limit in limits])
        return (arb(1),)

    panel = made(bounds)
    ((reach, transform),) = told
    nodes = ellipse(panel, 0.99999)
    places, slopes = zip(*map(panel.position, nodes), strict=True)
    farthest = max(float(abs(place - 1)) for place in places)
    nearest = min(float(abs(place - s)) for place in places for s in eigenvalues)
    steepest = max(float(abs(slope)) for slope in slopes)
    assert 0.999 * reach <= farthest <= reach
    assert nearest >= 1 / transform
    assert steepest <= float(panel.bounds[0])
