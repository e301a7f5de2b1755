"""JSON values of a spectrum."""

from __future__ import annotations

from verify.core.documents import spectrum_values
from verify.core.spectra import TrainedSpectrum, zero_fraction


def spectrum_document(spectrum: TrainedSpectrum) -> dict[str, object]:
    """Return the whole spectrum as JSON values."""
    return {
        "alpha": spectrum.alpha,
        "zero_mass": spectrum.theory.zero_mass,
        "trained_zero_mass": zero_fraction(spectrum.values),
        "second_moment": spectrum.theory.second_moment,
        "trained_second_moment": float((spectrum.values**2).mean()),
        "distance": spectrum.distance,
        "p_value": spectrum.p_value,
        **spectrum_values(spectrum),
    }
