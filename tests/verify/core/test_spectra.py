"""Spectra of several sizes: what falls like 1/d is extrapolated away, and what does not fall
disagrees.
"""

import dataclasses

import numpy as np
import pytest

from numeric.plotting.caption import caption_of
from numeric.plotting.style import style_context
from numeric.saddle.solve import solve
from numeric.studies.spectrum import learned_spectrum
from verify.core.paper import figure_one
from verify.core.spectra import LEAST_P, MODEL_DRAWS, TrainedSpectrum, distance, model_spectra
from verify.core.spectrum_panel import trained_spectrum_figure

RUN = figure_one().varied(alpha=0.5)
SIZES = ((24, 40), (48, 40))


@pytest.fixture(scope="module")
def law():
    solution = solve(RUN.problem).unwrap()
    return solution, learned_spectrum(solution).singular_values()


def maps_at(solution, rng, excess):
    """Of each size, with a noise larger than the theory's by that function of d."""
    return [
        model_spectra(
            dataclasses.replace(solution, delta=(1 + excess(dim)) * solution.delta),
            RUN.varied(dim=dim),
            runs,
            rng,
        )
        for dim, runs in SIZES
    ]


def spectrum_of(law, rng, maps):
    solution, theory = law
    null = [
        [model_spectra(solution, RUN.varied(dim=m.shape[1]), len(m), rng) for m in maps]
        for _ in range(MODEL_DRAWS)
    ]
    simulated = np.array([distance(theory, drawn) for drawn in null])
    return TrainedSpectrum(
        0.5, maps[-1].shape[1], theory, maps[-1], simulated, smaller=tuple(maps[:-1])
    )


@pytest.mark.slow
def test_a_noise_off_by_1_over_d_disagrees_at_one_size_and_agrees_in_the_limit(law):
    rng = np.random.default_rng(5)
    maps = maps_at(law[0], rng, lambda dim: 4 / dim)
    assert not spectrum_of(law, rng, maps[-1:]).agrees
    assert spectrum_of(law, rng, maps).p_value > 10 * LEAST_P


def test_a_noise_off_at_every_size_disagrees_in_the_limit_too(law):
    rng = np.random.default_rng(6)
    assert not spectrum_of(law, rng, maps_at(law[0], rng, lambda dim: 0.3)).agrees


def test_one_size_is_its_own_limit(law):
    """The distance of one size is the largest gap of distribution functions, at the values and at
    the least that counts.
    """
    (values,) = maps_at(law[0], np.random.default_rng(7), lambda dim: 0.0)[:1]
    nonzero = np.sort(values[values > 1e-3 * values.max()])[::-1]
    gaps = law[1].mass_above(nonzero) - (np.arange(len(nonzero)) + 0.5) / values.size
    at_zero = law[1].mass_above(np.array([1e-3 * values.max()]))[0] - len(nonzero) / values.size
    assert distance(law[1], [values]) == pytest.approx(
        max(np.abs(gaps).max(), abs(at_zero)), abs=1e-12
    )


def test_a_density_is_drawn_from_zero_to_zero_around_each_bulk(law):
    """A line through all grid points would slope across the gap between bulks."""
    solution = solve(
        figure_one().varied(alpha=40.0).problem
    ).unwrap()  # two bulks, and mass at zero
    spectrum = learned_spectrum(solution)
    assert len(spectrum.bulks) == 2
    x, density = spectrum.outline()
    (_, first), (second, _) = spectrum.bulks
    np.testing.assert_array_equal(density[(x == first) | (x == second)], [0, 0])
    assert np.trapezoid(density, x) == pytest.approx(
        1 - spectrum.zero_mass, rel=1e-3
    )  # of 400 points a bulk


def test_its_figure_states_the_settings_below_its_legend(law):
    (values,) = maps_at(law[0], np.random.default_rng(8), lambda dim: 0.0)[:1]
    with style_context():
        sheet = trained_spectrum_figure(
            [TrainedSpectrum(0.5, 24, law[1], values, np.zeros(3))], RUN.problem
        )
        sheet.draw_without_rendering()
        (legend,) = sheet.subfigs[0].legends
        assert sheet._supxlabel.get_window_extent().y1 < legend.get_window_extent().y0
    assert caption_of(sheet) == r"$\kappa_0 = 0.5$, $\lambda = 0.01$, $\Delta = 0.5$, $T = 2$"
