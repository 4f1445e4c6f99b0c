"""The site: `make docs` builds it into out/docs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import giantstep
from giantstep.asking.workers.environment import worker_environment

sys.path.insert(0, str(Path(__file__).parent))
os.environ.setdefault("MPLBACKEND", "Agg")
# Tutorials run on every core there is, each on one thread.
os.environ.update(worker_environment(1, os.environ))

project = "giantstep"
author = "The giantstep developers"
copyright = "The giantstep developers"
version = release = giantstep.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_gallery.gen_gallery",
    "site_builder.accessibility",
    "site_builder.docstrings",
    "site_builder.mathml",
    "site_builder.pages",
    "site_builder.papers",
]
root_doc = "index"
exclude_patterns = ["site_builder", "tutorials/README.txt", "lectures/README.txt"]

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"
add_module_names = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "furo"
html_title = "giantstep"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).parent / "static" / "search_scorer.js")
html_math_renderer = "mathml"
html_copy_source = False

sphinx_gallery_conf = {
    "examples_dirs": ["tutorials", "lectures"],
    "gallery_dirs": ["generated/tutorials", "generated/lectures"],
    "filename_pattern": r"\.py$",
    "abort_on_example_error": True,
    "parallel": True,
    # The picture stands there: what Python writes of its axes says nothing more.
    "ignore_repr_types": r"matplotlib\.",
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "image_scrapers": ("matplotlib",),
    "write_computation_times": False,
}
