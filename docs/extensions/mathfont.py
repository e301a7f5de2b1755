"""A font for formulas, for readers who have none: DejaVu Serif as matplotlib ships it, with places
for scripts.

Its table for mathematics leaves them at zero, so that browsers set subscripts on the line; those of
DejaVu Math TeX Gyre are taken.
"""

from pathlib import Path

import matplotlib
from fontTools.ttLib import TTFont

SOURCE = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSerif.ttf"
NAME = "formulas.woff"
#: Shares of the em.
PLACES = {
    "SubscriptShiftDown": 0.2,
    "SubscriptTopMax": 0.33,
    "SubscriptBaselineDropMin": 0.138,
    "SuperscriptShiftUp": 0.381,
    "SuperscriptShiftUpCramped": 0.289,
    "SuperscriptBaselineDropMax": 0.277,
    "SubSuperscriptGapMin": 0.12,
}


def write(folder: Path) -> None:
    """Write the font into a folder."""
    font = TTFont(SOURCE)
    constants = font["MATH"].table.MathConstants
    for name, share in PLACES.items():
        getattr(constants, name).Value = round(share * font["head"].unitsPerEm)
    font.flavor = "woff"
    font.save(folder / NAME)
