"""The site: ``make docs`` builds it. Nothing is fetched, neither when it is built nor when read."""

import sys
from pathlib import Path

here = Path(__file__).parent
sys.path[:0] = [str(here / "_ext"), str(here.parent / "src")]

import hardgrain  # noqa: E402

project = "hardgrain"
author = "The hardgrain developers"
copyright = author
version = release = hardgrain.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "links", "plain_docstrings", "reference"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # pages that are files of the repository begin as they like

highlight_language = "text"

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
maximum_signature_line_length = 80
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = "hardgrain"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_context = {"default_mode": "auto"}
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
