# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Self-contained HTML pages in the style of the report of runs."""

import jinja2
from markupsafe import Markup

_FRAME = Markup("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>{}</title>
<style>
{}
{}
</style>
</head>
<body>
<h1>{}</h1>
{}
</body>
</html>
""")


def page_of(title: str, body: Markup, style: str = '') -> str:
    """Return a page.

    Args:
        style: additional CSS.
    """
    templates = jinja2.Environment(loader=jinja2.PackageLoader('saccade.analysis.report', ''), autoescape=True)
    shared = templates.get_template('page.css.jinja').render()
    return _FRAME.format(title, Markup(shared), Markup(style), title, body)
