"""Files that are written whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path


def write_json(path: Path, data: object) -> None:
    """Write data as JSON, as `write_text` writes. Raises OSError."""
    write_text(path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all: an interrupted run leaves the old one. Line ends stay. Raises OSError.

    What is not a plain file (a pipe, /dev/stdout) is written to; a link's target is replaced, not the link.
    """
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8", newline="")
        return
    target = path.resolve()
    part = target.with_name(f".{target.name}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="")
        os.replace(part, target)
    except OSError:
        part.unlink(missing_ok=True)
        raise
