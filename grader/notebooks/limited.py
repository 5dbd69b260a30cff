"""A program without packages and with limits: reads what may end a process, and answers on stdout. Executes none of it.

`limited.py cells < a notebook` answers with its cells; `limited.py parts < questions` with what answers use of cells.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
from pathlib import Path
from typing import Any

MEMORY = 2 << 30
"""Bytes of address space: a notebook with 128 MiB of output takes a quarter of it."""
CPU_SECONDS = 20


def cells() -> dict[str, Any]:
    """The cells and notes of the notebook on stdin, or why it is none."""
    from grader.notebooks.parsing import NoNotebook, parse

    try:
        found, notes = parse(sys.stdin.buffer.read())
    except NoNotebook as error:
        return {"reason": str(error)}
    return {"cells": [[cell.kind, cell.source, cell.id, cell.grade_id] for cell in found], "notes": notes}


def parts() -> list[Any]:
    """An answer to each list of arguments of `nanolm.answer_parts.parts` on stdin."""
    from nanolm.answer_parts import parts

    found = [parts(*question) for question in json.load(sys.stdin)]
    return [[one.before, one.answer, one.after, one.magics, list(one.ignored)] for one in found]


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    gc.disable()  # nothing here lives long enough to be collected
    json.dump({"cells": cells, "parts": parts}[sys.argv[1]](), sys.stdout)
