"""What a submission may not reach by import: this package and the kit.

Both lie in the same process as a student's code, which could otherwise patch what reports about it. Code that walks
frames or lists the subclasses of `object` still gets there: nothing in one process can stop that.
"""

from __future__ import annotations

import importlib.abc
import sys
import types
from collections.abc import Sequence

HOUSE = frozenset({"grader", "nanolm"})


def hide_the_house() -> None:
    """Make this package and the kit unknown to imports, before workers are forked: what is imported keeps working."""
    for name in [name for name in sys.modules if _top(name) in HOUSE]:
        del sys.modules[name]
    sys.modules["__main__"] = types.ModuleType("__main__")  # the zygote's, with all that it has imported
    sys.meta_path.insert(0, _NoHouse())


class _NoHouse(importlib.abc.MetaPathFinder):
    """Answers that there is no such module."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None) -> None:
        if _top(name) in HOUSE:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _top(name: str) -> str:
    return name.partition(".")[0]
