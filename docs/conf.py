"""How the documentation is built: `sphinx-build -W --keep-going docs build/site`, without network.

Pages under docs/reference are made from the code at every build (docs/extensions/pages.py) and are
not kept.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

project = "attention-erm"
author = "the attention-erm authors"
project_copyright = f"2026, {author}"
version = release = "0.3.0"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "docs.extensions.mathml",
    "docs.extensions.docstrings",
    "docs.extensions.pages",
]
exclude_patterns = ["gallery", "extensions", "**/README.md"]
highlight_language = "text"  # of indented blocks, which hold formulas
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # types of signatures beyond the public face have no page
suppress_warnings = [
    "config.cache"
]  # an order of examples is a class, which is not kept between builds

smartquotes = False  # two hyphens are those of an option

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 90

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "reference/generated/gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("docs.extensions.figures.scraper",),
    "reset_modules": (),
    "capture_repr": (),
    "show_signature": False,
    "write_computation_times": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "plot_gallery": True,
}

html_theme = "furo"
html_title = "attention-erm"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
copybutton_exclude = ".linenos, .gp, .go"
