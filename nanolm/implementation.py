"""NANOLM_IMPL: which implementation is tested, resolved once; and the one object through which tests call it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nanolm.protocol import CUTS_THE_TEST, PLAIN, Backend, Call, Conditions, Reply, Scalar, StudentFault

if TYPE_CHECKING:
    from torch import Tensor

    from nanolm.sources import Source

VARIABLE = "NANOLM_IMPL"
DEFAULT = "exercises"
ALIASES = {"exercises_en": "exercises"}
PACKAGES = ("exercises", "solutions")


class UnknownImplementation(ValueError):
    """NANOLM_IMPL names nothing that can be tested."""


@dataclass(frozen=True)
class Choice:
    """The implementation that NANOLM_IMPL names: a package and its folder."""

    package: str
    folder: Path


def choose(root: Path, environment: Mapping[str, str] = os.environ) -> Choice:
    """Resolve NANOLM_IMPL below `root`; raises UnknownImplementation with what is available."""
    asked = environment.get(VARIABLE, "") or DEFAULT
    package = ALIASES.get(asked, asked)
    available = [name for name in PACKAGES if (root / name).is_dir()]
    if package not in available:
        # Raw text of the environment goes to a terminal: repr keeps control characters out of it.
        names = ", ".join([*available, *(alias for alias, name in ALIASES.items() if name in available)])
        raise UnknownImplementation(
            f"{VARIABLE}={asked[:80]!r} names no implementation here. Available: {names or 'none'} (below {root})."
        )
    return Choice(package, root / package)


class TestCut(BaseException):
    """Ends a test at once after a fault that leaves nothing to learn; hypothesis and `except Exception` let it pass."""

    __test__ = False  # pytest: this is not a test class

    def __init__(self, fault: StudentFault) -> None:
        super().__init__(fault.message)
        self.fault = fault


class Implementation:
    """What tests call. The backend behind it is swapped by the run, never by a test."""

    def __init__(self, backend: Backend | None = None) -> None:
        self.backend = backend
        self.notes: list[str] = []
        self.conditions: Conditions = PLAIN

    def call(
        self,
        entry: str,
        tensors: Mapping[str, Tensor | None],
        scalars: Mapping[str, Scalar] | None = None,
        *,
        upstream: Mapping[str, Tensor] | None = None,
        return_arguments: bool = False,
    ) -> Reply:
        """Call an entry point; arguments that are None are left out.

        Raises StudentFault for what student code did, TestCut where the rest of the test would tell nothing.
        """
        if self.backend is None:
            raise RuntimeError("no implementation is connected")
        given = {name: tensor for name, tensor in tensors.items() if tensor is not None}
        plain = {name: value for name, value in (scalars or {}).items() if value is not None}
        try:
            reply = self.backend.run(Call(entry, given, plain, upstream or {}, return_arguments, self.conditions))
        except StudentFault as fault:
            if fault.outcome in CUTS_THE_TEST:
                raise TestCut(fault) from fault
            raise
        for note in reply.notes:
            if note not in self.notes:
                self.notes.append(note)
        return reply


class LocalBackend:
    """Student code in this very process: the student's own machine, or a notebook's kernel."""

    def __init__(self, source: Source, name: str, device: str = "cpu") -> None:
        from nanolm.execution import Executor

        self.name = name
        self.device = device
        self._executor = Executor(source)

    def run(self, call: Call) -> Reply:
        """Carry out one call here; tensors go to the device and come back."""
        from nanolm.gpu.placing import back, placed

        try:
            reply = self._executor.execute(placed(call, self.device))
        except StudentFault as fault:
            if fault.kind == "KeyboardInterrupt":  # Ctrl-C in the middle of a call stops the run, not the test
                raise KeyboardInterrupt from None
            raise
        return back(reply)
