"""Learning curves of the paper: what varies, over which values, and the heads to train."""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.plotting.numbers import in_mathtext
from numeric.problem.problem import Parametrisation, SampleMinimum
from verify.core.paper import figure_one
from verify.core.paper_figure import PaperFigure, Request, Sizes
from verify.core.run import Start
from verify.studies.learning_curves.section import preset_section
from verify.studies.learning_curves.study import (
    Family,
    LearningCurveOutcome,
    LearningCurvePlan,
    Preset,
    SpectrumSizes,
    study_learning_curves,
)

_ALPHAS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
_FEW = (0.1, 0.3, 1.0, 3.0)  #: sample ratios where training or theory takes longer
WEAK_DECAYS = (1e-2, 2e-3, 1e-3, 5e-4, 1e-4, 1e-5)
TRAINED_DECAYS = (1e-3, 1e-5)
_SAMPLED = 4  #: `every` where the theory takes seconds per point
_TRACED = 2  #: `every` on the fitted branch, which has a sharp bend
_SEARCHED = 6  #: `every` where each point is a search of twenty solves
_SMALL, _LARGE = ((32, 8), (48, 8)), ((40, 8), (60, 8))
#: Sizes at which a target of rank d/20 has an integer rank; rounding would hide the correction of
#: order 1/d.
_WHOLE_FEATURES = ((40, 6), (60, 6))
_SHARP = (
    (60, 12),
    (100, 8),
)  #: with few features the finite-size effect of order 1/d is visible in a spectrum
_NOISES = (0.0, 0.5)
_FACTORS = {"parametrisation": Parametrisation.FACTORISED}
_SYMMETRIC = {"parametrisation": Parametrisation.SYMMETRIC}
_FITTED = SampleMinimum.FITTED
_GENERAL = {"parametrisation": Parametrisation.GENERAL}


def _decays(least: float, count: int) -> tuple[float, ...]:
    """Return weight decays up to 0.3. The least is a tenth of the best one at few samples; factors
    at weaker decay take thousands of steps there.

    Args:
        least: smallest decay.
        count: number of decays.
    """
    return tuple(float(decay) for decay in np.geomspace(least, 0.3, count))


def _tokens(tokens: int, noise: float) -> Family:
    """Return a curve with sample ratios in units of 1/D, D the number of labels of a sample (theory
    note, section 1). Thresholds then coincide.
    """
    changes = {"tokens": tokens, "noise": noise}
    labels = tokens * (tokens + 1) // 2 - 1
    every = 1 if tokens == 2 else _SAMPLED
    return Family(
        f"$T = {tokens}$", changes, every, unit=1 / labels, panel=rf"$\Delta = {noise:g}$"
    )


def _temperature(beta: float, noise: float) -> Family:
    """Return a curve at one inverse temperature and noise.

    At a steep softmax, noisy labels contradict each other and the global minimum of a sample jumps.
    """
    changes, jumps = {"beta": beta, "beta0": beta, "noise": noise}, noise > 0 and beta > 1
    return Family(
        rf"$\beta = \beta_0 = {beta:g}$",
        changes,
        _TRACED if jumps else 1,
        panel=rf"$\Delta = {noise:g}$",
        sample_minimum=_FITTED if jumps else SampleMinimum.GLOBAL,
    )


def learning_curve_figure(
    preset: Preset,
    paper_sizes: Sizes,
    paper_spectra: tuple[SpectrumSizes, ...] = (),
    *,
    name: str,
) -> PaperFigure[LearningCurvePlan, LearningCurveOutcome]:
    """Return the figure of a preset.

    Args:
        preset: the preset.
        paper_sizes: sizes of the paper.
        paper_spectra: sizes of the paper for the spectra.
        name: name of the figure.
    """

    def plan(request: Request) -> LearningCurvePlan:
        spectra = paper_spectra if request.paper else preset.spectra
        requested = dataclasses.replace(preset, sizes=request.sizes, spectra=spectra)
        return LearningCurvePlan(requested, request.configure(figure_one()))

    return PaperFigure(
        preset.title,
        preset.sizes,
        paper_sizes,
        plan,
        study_learning_curves,
        partial(preset_section, name),
    )


PRESETS: dict[str, tuple[Preset, Sizes] | tuple[Preset, Sizes, tuple[SpectrumSizes, ...]]] = {
    "1": (
        Preset(
            "width of the student, with spectra",
            tuple(
                Family(rf"$\kappa = {width:g}$", {"width": width}, spectrum=width == 1.0)
                for width in (0.75, 1.0)
            ),
            (0.05, *_ALPHAS),
            _LARGE,
            spectra=((0.05, ((60, 8),)), (0.5, ((60, 8),)), (4.0, ((60, 8),)), (40.0, ((60, 2),))),
        ),
        ((52, 64), (100, 64)),
        ((0.05, ((200, 8),)), (0.5, ((200, 8),)), (4.0, ((200, 2),)), (40.0, ((100, 2),))),
    ),
    "2": (
        Preset(
            "factors against direct training, each at its best weight decay",
            (
                Family("factors $W W^T$", _FACTORS, decays=_decays(1e-3, 8), spectrum=True),
                Family("symmetric $A$", _SYMMETRIC, decays=_decays(1e-4, 9), spectrum=True),
                Family("general $A$", _GENERAL, _SEARCHED, _decays(1e-4, 9)),
            ),
            (0.02, 0.05, 0.1, 0.2, 0.5),
            _WHOLE_FEATURES,
            quantities=("test_error",),
            settings={"target": MarchenkoPastur(0.05), "noise": 0.05},
            line=tuple(np.geomspace(0.005, 0.5, 25).tolist()),
            spectra=((0.05, _SHARP), (0.5, _SHARP)),
        ),
        ((60, 8), (100, 8)),
        ((0.05, _SHARP), (0.5, _SHARP)),
    ),
    "6": (
        Preset(
            "weak weight decay and the interpolation peak, on the fitted branch",
            (
                *(
                    Family(
                        rf"$\lambda = {in_mathtext(decay)}$",
                        {"lambda_": decay},
                        trained=decay in TRAINED_DECAYS,
                        sample_minimum=_FITTED,
                    )
                    for decay in WEAK_DECAYS
                ),
                Family(
                    r"$\lambda \to 0^+$", {"lambda_": 0.0}, trained=False, sample_minimum=_FITTED
                ),
            ),
            (0.05, 0.1, 0.155, 0.194, 0.241, 0.272, 0.35, 0.5),
            ((30, 8), (40, 8), (60, 6)),
            settings={
                "target": MarchenkoPastur(0.5),
                "noise": 0.5,
                "width": 1.0,
                "minimiser": "lbfgs-weak",
            },
            line=tuple(np.linspace(0.025, 0.5, 60).tolist()),
            starts=(Start.RANDOM, Start.TARGET),
        ),
        ((40, 8), (60, 8), (80, 8), (120, 4), (160, 3)),
    ),
    "10": (
        Preset(
            "inverse temperature of student and target, without and with noise",
            tuple(_temperature(beta, noise) for noise in _NOISES for beta in (0.5, 1.0, 2.0)),
            _ALPHAS,
            _SMALL,
        ),
        ((52, 8), (100, 8)),
    ),
    "11": (
        Preset(
            "tokens per sequence: the curves coincide along D alpha",
            tuple(_tokens(tokens, noise) for noise in _NOISES for tokens in (2, 3, 5)),
            (0.1, 0.2, 0.4),
            ((24, 6), (36, 6)),
            quantities=("m", "q", "test_error"),
            # weak decay: the curves meet in the limit, below interpolation
            settings={"lambda_": 2e-3},
            line=tuple(np.geomspace(0.05, 1.0, 25).tolist()),
            axis=r"$D \alpha$",
        ),
        ((40, 8), (60, 8)),
    ),
    "temperature": (
        Preset(
            "inverse temperature of the student; the target has 1",
            tuple(Family(rf"$\beta = {beta:g}$", {"beta": beta}) for beta in (0.5, 1.0, 2.0)),
            _ALPHAS,
            _SMALL,
        ),
        ((52, 8), (100, 8)),
    ),
    "width": (
        Preset(
            "width of the student, below and above the rank of the target",
            tuple(Family(rf"$\kappa = {width:g}$", {"width": width}) for width in (0.25, 0.75)),
            _FEW,
            _SMALL,
        ),
        ((52, 8), (100, 8)),
    ),
    "direct": (
        Preset(
            "factors against direct training at one weight decay",
            (
                Family("factors $W W^T$", _FACTORS),
                Family("symmetric $A$", _SYMMETRIC),
                Family("general $A$", _GENERAL, _SAMPLED),
            ),
            _FEW,
            _SMALL,
        ),
        ((52, 8), (100, 8)),
    ),
}

LEARNING_CURVES = {
    name: learning_curve_figure(*settings, name=name) for name, settings in PRESETS.items()
}
