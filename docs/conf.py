"""How the site is built; nothing here reaches the network, so it builds the same everywhere."""

import os
import sys
import warnings
from html import escape
from importlib.util import find_spec
from pathlib import Path

# Before any example or docstring draws.
os.environ.setdefault("MPLBACKEND", "Agg")
# Fits of examples are small: threads of OpenMP would mostly wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from sphinx_gallery.sorting import ExplicitOrder

import labelance

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

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
    "published",
]
if find_spec("sphinx_copybutton"):  # pages read the same without it
    extensions.append("sphinx_copybutton")
copybutton_prompt_text = r">>> |\.\.\. |\$ "  # a prompt is not copied
copybutton_prompt_is_regexp = True
exclude_patterns = [
    "_build",
    "_templates",
    "**/GALLERY_HEADER.rst",
    "gallery/**/*.ipynb",
    "gallery/**/*.py",
]
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
# labelance.torch is documented where torch is not installed, too.
autodoc_mock_imports = [] if find_spec("torch") else ["torch"]
numpydoc_show_class_members = False  # the class template lists them
numpydoc_class_members_toctree = False

# Gallery: an example that warns or fails breaks the build -----------------------------------
warnings.filterwarnings("error", module="labelance")
_EXAMPLES = {  # in learning order; an example that is not listed breaks the build
    "start": "rare_label_classifier thresholds_costs grid_search mixed_frame explain",
    "text": "embeddings pipeline_sparse_text many_labels",
    "networks": "network_thresholds losses loss_weights torch_dataloader",
    "models": "boosters label_weight emls calibration budget guarantees",
    "data": "splits unknown_labels annotation molecules polars mulan_files",
    "understand": "mlsol_figure1 figure2 compare_samplers",
    "research": "study own_sampler",
}
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
    "subsection_order": ExplicitOrder([f"../examples/{folder}" for folder in _EXAMPLES]),
    "within_subsection_order": ExplicitOrder(
        [f"plot_{name}.py" for names in _EXAMPLES.values() for name in names.split()]
    ),
    "nested_sections": False,
    "first_notebook_cell": (
        "# Install the library with what its examples use, where it is not installed yet.\n"
        '# %pip install "labelance[all]"\n'
        "%matplotlib inline"
    ),
    "matplotlib_animations": False,
    "plot_gallery": "True",
}

# Looks --------------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = "labelance"
html_static_path = ["_static"]
html_css_files = ["labelance.css"]
html_favicon = "_static/favicon.svg"
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
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "install": [], "changelog": [], "contributing": [], "stability": []}


# The card that other sites show for a link; og:image wants an address, known where it is published.
_ADDRESS = os.environ.get("LABELANCE_SITE", "").rstrip("/")
_SENTENCE = (
    "Find the rare labels of multi-label data: thresholds, a model for them, weights, samplers."
)


def add_card(app, page, template, context, doctree):
    """Put the words and the picture of the card into the head of every page."""
    card = {
        "og:type": "website",
        "og:site_name": "labelance",
        "og:title": context.get("title") or "labelance",
        "og:description": _SENTENCE,
        "og:image": f"{_ADDRESS}/_static/og-image.png"
        if _ADDRESS
        else context["pathto"]("_static/og-image.png", 1),
        "og:image:width": "1200",
        "og:image:height": "630",
        "twitter:card": "summary_large_image",
    }
    tags = "".join(
        f'<meta property="{name}" content="{escape(str(text), quote=True)}">\n'
        for name, text in card.items()
    )
    context["metatags"] = (
        context.get("metatags", "") + f'<meta name="description" content="{_SENTENCE}">\n' + tags
    )


# Pages that moved, and where to.
_MOVED = {
    "user_guide/chains_and_weights": "weights.html",
    "user_guide/decision_evidence": "../studies/decisions.html",
    "user_guide/decisions": "thresholds.html",
    "user_guide/playground": "the_paper.html#the-playground",
    "user_guide/reproduction": "../studies/reproduction.html",
    "user_guide/should_i_resample": "../studies/practice.html",
    "user_guide/soshf": "learners.html",
    "user_guide/stacked_bagging": "ensemble.html#stacked-bagging",
    "user_guide/state_of_the_art": "../studies/state_of_the_art.html",
    "user_guide/testing": "extend.html",
}


def write_redirects(app, exception):
    """Write a page that leads on for each page that moved."""
    if exception is None and app.builder.format == "html":
        for old, new in _MOVED.items():
            page = f'<meta http-equiv="refresh" content="0; url={new}"><a href="{new}">Moved</a>\n'
            (Path(app.outdir) / f"{old}.html").write_text(page, encoding="utf-8")


def setup(app):
    """Let Sphinx call us for every page."""
    app.connect("html-page-context", add_card)
    app.connect("build-finished", write_redirects)
