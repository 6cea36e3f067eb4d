# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Configuration of Sphinx. Reading it makes the pages of reference/ from the code."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx

os.environ.setdefault('JAX_PLATFORMS', 'cpu')

from saccade.analysis import reference

ROOT = Path(__file__).parents[1]

project = 'Saccade'
author = 'The Saccade authors'
copyright = '2026 The Saccade authors'

extensions = ['myst_parser', 'sphinx.ext.mathjax', 'sphinx_copybutton', 'sphinx_design']
source_suffix = {'.md': 'markdown', '.ipynb': 'notebook'}
exclude_patterns = ['_build']
myst_heading_anchors = 3
html_theme = 'furo'
html_title = 'Saccade'
html_show_sphinx = False
html_copy_source = False
html_static_path = ['_static']
html_css_files = ['saccade.css']
html_js_files = [('saccade.js', {'defer': 'defer'})]

reference.write(ROOT, Path(__file__).parent / 'reference')


class NotebookParser(MystParser):
    """Parser of Jupyter notebooks with the outputs that they were saved with; tests/docs run them."""

    supported = ('notebook',)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        cells = json.loads(inputstring)['cells']
        super().parse('\n\n'.join(block for cell in cells for block in _blocks(cell)), document)


def _blocks(cell: Mapping[str, Any]) -> Iterator[str]:
    """Yield a cell as Markdown: text as it is; code, and then what it printed, returned and drew."""
    source = ''.join(cell['source'])
    if cell['cell_type'] == 'markdown':
        yield source
        return
    yield f'```python\n{source}\n```'
    for output in cell['outputs']:
        data = output.get('data', {})
        if 'image/png' in data:
            yield f'<img alt="what the cell draws" src="data:image/png;base64,{data["image/png"].strip()}">'
        else:
            text = ''.join(data.get('text/plain', output.get('text', ())))
            yield f'```text\n{text.rstrip()}\n```'


def level_captions(app: Sphinx, page: str, template: str, context: dict[str, Any], document: nodes.document) -> None:
    """Give the captions of the contents, which the theme makes headings without a level, the second level."""
    contents = context['furo_navigation_tree']
    context['furo_navigation_tree'] = contents.replace('role="heading"', 'role="heading" aria-level="2"')


def setup(app: Sphinx) -> None:
    """Register the parser, and what is changed in each page after the theme has made it."""
    app.add_source_parser(NotebookParser)
    app.connect('html-page-context', level_captions, priority=900)
