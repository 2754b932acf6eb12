"""How the site is built; nothing here reaches the network, so it builds the same everywhere."""

import os
import warnings

# Before any example or docstring draws.
os.environ.setdefault("MPLBACKEND", "Agg")

import labelance

project = "labelance"
author = "The labelance developers"
project_copyright = author
release = version = labelance.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates", "**/README.rst", "gallery/*.ipynb", "gallery/*.py"]
templates_path = ["_templates"]

# Text ---------------------------------------------------------------------------------------
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# Reference ----------------------------------------------------------------------------------
autosummary_generate = True
autosummary_ignore_module_all = False  # a package's __all__ is its page
autosummary_imported_members = True
autodoc_typehints = "none"  # numpydoc's Parameters section says it in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the class template lists them
numpydoc_class_members_toctree = False

# Gallery: an example that warns or fails breaks the build -----------------------------------
warnings.filterwarnings("error", module="labelance")
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "download_all_examples": False,
    "min_reported_time": 1e9,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "within_subsection_order": "FileNameSortKey",
    "matplotlib_animations": False,
    "plot_gallery": "True",
}

# Looks --------------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = "labelance"
html_static_path = ["_static"]
html_css_files = ["labelance.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "labelance"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "show_prev_next": True,
    "header_links_before_dropdown": 7,
}
html_sidebars = {"index": [], "install": [], "changelog": [], "contributing": []}
