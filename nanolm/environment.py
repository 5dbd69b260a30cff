"""Is this a Python and a torch that the exercises work with? One sentence says what to do when it is not."""

from __future__ import annotations

import sys
from importlib import metadata

PYTHON = ((3, 11), (3, 14))
TORCH = (2, 4)
INSTALL = "python -m pip install -r requirements.lock -e ."


def environment_problem(
    python: tuple[int, int] | None = None, torch: str | None = None, *, look_up: bool = True
) -> str | None:
    """What is wrong with this environment, or None. The installed versions are looked up unless they are given."""
    found = python or (sys.version_info[0], sys.version_info[1])
    if not PYTHON[0] <= found < PYTHON[1]:
        return (
            f"Python {found[0]}.{found[1]} is not supported: use Python 3.11, 3.12 or 3.13 "
            "(make a virtual environment with it, then install again)."
        )
    if torch is None and look_up:
        try:
            torch = metadata.version("torch")
        except metadata.PackageNotFoundError:
            return f"PyTorch is not installed in this environment: run `{INSTALL}` in the folder of the exercises."
    if torch is not None and _release(torch) < TORCH:
        return f"PyTorch {torch} is too old: version {TORCH[0]}.{TORCH[1]} or newer is needed (`pip install -U torch`)."
    return None


def _release(version: str) -> tuple[int, ...]:
    numbers = version.split("+")[0].split(".")[:2]
    return tuple(int(number) if number.isdigit() else 0 for number in numbers)
