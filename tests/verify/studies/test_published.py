"""Released data of other groups are met, within what their size and their quadrature allow."""

import dataclasses

import pytest

from verify.studies.published.study import (
    Published,
    PublishedComparison,
    PublishedCurve,
    _curves,
    _solved,
    weak_decay,
    width,
)

pytestmark = pytest.mark.usefixtures("no_workers")

# one of n = 8000 takes three times as long as both of these, the others ten times and more
QUICK = "gamma 1.25, n 160000"


def beside(points: list[Published]) -> list[PublishedCurve]:
    families = {}
    for point in points:
        families.setdefault(point.problem.at(1.0), set()).add(point.problem.alpha)
    return _curves(
        points,
        {family: _solved(family, tuple(sorted(alphas))) for family, alphas in families.items()},
    )


def curves(points):
    """A parameter for each curve, the quickest unmarked."""
    found: dict[str, list[Published]] = {}
    for point in points:
        found.setdefault(point.curve, []).append(point)
    for label, members in found.items():
        yield pytest.param(
            members, id=label, marks=[] if label.startswith(QUICK) else [pytest.mark.slow]
        )


@pytest.mark.parametrize("points", list(curves(width())))
def test_quadratic_networks_are_met_at_every_width(points):
    """From one hidden unit to twice as many as dimensions, through both descents and the peak
    between them.
    """
    (curve,) = beside(points)
    assert curve.agrees, [point for point in curve.points if not point.agrees]


@pytest.mark.parametrize("points", list(curves(weak_decay())))
def test_weak_decay_is_met_along_alpha(points):
    """Through the interpolation peak."""
    (curve,) = beside(points)
    assert curve.agrees, [
        (point.published.problem.alpha, point.ratio) for point in curve.points if not point.agrees
    ]


@pytest.mark.slow
def test_two_points_of_the_peak():
    """State evolution at lambda = 1e-3, where rules do not differ, and heads trained at d = 100."""
    chosen = [
        p for p in weak_decay() if p.problem.lambda_ == 1e-3 and 0.21 < p.problem.alpha < 0.22
    ]
    for curve in beside(chosen):
        (point,) = curve.points
        assert point.ratio == pytest.approx(1, abs=0.03 if point.published.trained else 0.01)


def test_a_wrong_number_is_not_met():
    point = next(weak_decay())
    (curve,) = beside([point])
    good = curve.points[0]
    assert good.agrees
    assert not PublishedComparison(
        dataclasses.replace(point, value=1.2 * point.value), good.solution
    ).agrees
