"""How Sphinx builds the documentation as a site: `make docs`. Nothing is fetched; every warning fails the build."""

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))
PROJECT = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "Gradmark"
author = "The Gradmark authors"
copyright = f"2026, {author}"
release = version = PROJECT["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "registries"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_extensions"]
# Pages are read on GitHub too, where these are what Markdown has.
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
# Docstrings are written for `help()`: single backticks are code.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
python_display_short_literal_types = True
add_module_names = False
nitpicky = False
# Transcripts of a terminal have no language that anything could colour.
highlight_language = "none"

html_theme = "furo"
html_title = f"Gradmark {release}"
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
