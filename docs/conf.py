# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Configuration of Sphinx. The pages of reference/ are made from the code when this is read."""

import os
from pathlib import Path

os.environ.setdefault('JAX_PLATFORMS', 'cpu')

from saccade.analysis import reference

ROOT = Path(__file__).parents[1]

project = 'Saccade'
author = 'The Saccade authors'
copyright = '2026 The Saccade authors'

extensions = ['myst_parser']
exclude_patterns = ['_build']
myst_heading_anchors = 3
html_theme = 'furo'
html_title = 'Saccade'
html_show_sphinx = False
html_copy_source = False
html_static_path = ['_static']
html_css_files = ['saccade.css']

reference.write(ROOT, Path(__file__).parent / 'reference')
