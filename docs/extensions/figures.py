"""Figures of a gallery script: every `matplotlib.figure.Figure` among its names is saved once.

Scripts draw with `numeric.plotting`, which returns figures and knows of no pyplot; sphinx-gallery's
own scraper sees pyplot's only.
"""

from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

DOTS = 150  # per inch
_SHOWN = "_docs_shown"


def scraper(
    block: tuple[str, str, int], block_vars: dict[str, Any], gallery_conf: dict[str, Any], **_: Any
) -> str:
    """RST that shows the figures made in a block."""
    paths = []
    for figure in block_vars["example_globals"].values():
        if isinstance(figure, Figure) and not hasattr(figure, _SHOWN):
            setattr(figure, _SHOWN, True)
            path = next(block_vars["image_path_iterator"])
            figure.savefig(path, dpi=DOTS, bbox_inches="tight")
            paths.append(path)
    return figure_rst(paths, gallery_conf["src_dir"])
