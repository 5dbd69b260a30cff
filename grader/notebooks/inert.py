"""A student's prose as it may stand in a page of ours: shown as it was typed, and nothing but shown.

nbgrader's pages render markdown without cleaning it, beside buttons that set grades. So of a student's markdown every
character that could mean something to markdown, HTML or MathJax is written as a character reference, inside `<pre>`.
"""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[^\w \n.,;:?!'()/+=%-]|_|://|:(?=\w)")


def inert(text: str) -> str:
    """Markdown that shows `text` and does nothing."""
    escaped = _PLAIN.sub(lambda found: "".join(f"&#{ord(char)};" for char in found[0]), text)
    # A blank line would end the block for some readers of markdown.
    lines = [line if line.strip() else "&#32;" for line in escaped.split("\n")]
    return '<pre class="handed-in" style="white-space: pre-wrap">\n' + "\n".join(lines) + "</pre>"
