"""What a submission may not reach by import: this package and the kit, and torch where an exercise is without it.

Both lie in the same process as a student's code, which could otherwise patch what reports about it, or find torch under
a name put together as the code runs. Code that walks frames or lists the subclasses of `object` still gets there: of
what it finds, `grader.without_torch` makes torch useless.
"""

from __future__ import annotations

import importlib.abc
import os
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

HOUSE = frozenset({"grader", "nanolm"})
TORCH = frozenset({"torch", "functorch"})
STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep
SITES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


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


class TorchFence:
    """A fence for every module of torch, and the places in other packages' modules that name one.

    Made before workers are forked: to look through all modules takes 20 ms, to put the fences up a tenth of that.
    """

    def __init__(self) -> None:
        modules = [(name, module) for name, module in sys.modules.items() if isinstance(module, types.ModuleType)]
        self._refuse: Callable[[str], object] | None = None
        self._fences = {name: self._fence(module) for name, module in modules if _top(name) in TORCH}
        self._places = [
            (module, attribute, self._fences[value.__name__])
            for name, module in modules
            if _top(name) not in TORCH | HOUSE and type(module) is types.ModuleType
            for attribute, value in list(vars(module).items())
            if type(value) is types.ModuleType and value.__name__ in self._fences
        ]

    def put_up(self, refuse: Callable[[str], object]) -> None:
        """Put a fence in the place of every module of torch, where `sys.modules` or another package's module names one.

        Whoever holds torch already keeps it, packages get through, and a line of a submission ends in `refuse`, which
        is given the name that was asked for.
        """
        self._refuse = refuse
        for module, attribute, fence in self._places:
            setattr(module, attribute, fence)
        sys.modules.update(self._fences)

    def _fence(self, real: types.ModuleType) -> types.ModuleType:
        refuse = self._refused

        class Fence(types.ModuleType):
            """Looks like the module, and answers packages as it does."""

            def __getattr__(self, name: str) -> Any:
                if not (name.startswith("__") and name.endswith("__")):
                    file, direct = asking(sys._getframe(1))
                    if file is None or (file.startswith("exercises/") and not direct):
                        raise AttributeError(name)  # the standard library looks through all modules now and then
                    if file.startswith("exercises/"):
                        refuse(f"{real.__name__}.{name}")
                return getattr(real, name)

            def __setattr__(self, name: str, value: Any) -> None:
                setattr(real, name, value)

        fence = Fence(real.__name__)
        for name in ("__spec__", "__loader__", "__package__", "__doc__"):
            vars(fence)[name] = getattr(real, name, None)
        return fence

    def _refused(self, name: str) -> None:
        assert self._refuse is not None
        self._refuse(name)


def asking(frame: types.FrameType | None) -> tuple[str | None, bool]:
    """The file of the innermost frame outside the standard library, and whether that is the innermost of all."""
    direct = True
    while frame is not None:
        file = frame.f_code.co_filename
        library = file.startswith(("<frozen ", STANDARD_LIBRARY)) and not any(site in file for site in SITES)
        if not library:
            return file, direct
        frame, direct = frame.f_back, False
    return None, False


def _top(name: str) -> str:
    return name.partition(".")[0]
