"""Takes torch away from a worker whose exercise is written without it: from then on no code of torch can be executed.

The zygote has imported torch for all exercises. A fence refuses its modules by name (`grader.fences`), but whoever
looks long enough finds it: among the subclasses of `object`, in a frame, in the globals of a function. So the
executable pages of its libraries lose the right to be executed, and nothing that is found computes: neither an operator
nor an interpreter of torch's own, in any thread. A jump into them is a fault of the processor that ends in `refuse`,
with the student's line; one anywhere else ends the process as it always does.

Native calls could give the pages their right back. `ctypes` is no part of NumPy and the standard library as the rule
means them, and a submission's line that uses it, under whatever name, ends in `refuse` as well.

The worker itself goes on without torch: `grader.arrays` and the adapters of such an exercise know NumPy's arrays.
Linux only: elsewhere the pages cannot be found, and isolation is `weak` there anyway.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import torch

from grader.fences import TorchFence, asking
from grader.operators import students_line
from nanolm.protocol import Outcome, StudentFault

MAPS = Path("/proc/self/maps")
PROT_READ = 1
SA_SIGINFO, SA_RESETHAND = 0x4, 0x80000000
FAULTING_ADDRESS = 16
"""Where siginfo_t has it, on 64-bit Linux."""

NATIVE = frozenset(
    {"ctypes.dlopen", "ctypes.dlsym", "ctypes.cdata", "ctypes.string_at", "ctypes.wstring_at", "ctypes.call_function"}
)
"""Python's audit events (PEP 578) of whoever reaches beyond Python; a hook for them cannot be taken out again."""

Refuse = Callable[[StudentFault], NoReturn]


class _Action(ctypes.Structure):
    """struct sigaction of glibc and musl."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_byte * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class WithoutTorch:
    """What it takes, made before workers are forked: the modules' fences, and the pages, read where /proc is."""

    def __init__(self) -> None:
        self.pages = _executable_below(os.path.dirname(os.path.realpath(torch.__file__)))
        self._fence = TorchFence()
        self._refuse: Refuse | None = None
        # libffi makes room for a callback that may be executed: here, while nothing is confined yet.
        self._handler = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(self._on_fault)

    def begin(self, refuse: Refuse) -> None:
        """From here on, for good: nothing gives the pages their right back. Takes a few milliseconds."""
        self._refuse = refuse
        libc = ctypes.CDLL(None, use_errno=True)
        action = _Action(handler=ctypes.cast(self._handler, ctypes.c_void_p).value, flags=SA_SIGINFO | SA_RESETHAND)
        if libc.sigaction(ctypes.c_int(signal.SIGSEGV), ctypes.byref(action), None) != 0:
            raise OSError(ctypes.get_errno(), "sigaction")
        for begin, end in self.pages:
            if libc.mprotect(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), ctypes.c_int(PROT_READ)) != 0:
                raise OSError(ctypes.get_errno(), "mprotect")
        sys.addaudithook(self._audit)
        self._fence.put_up(lambda name: refuse(torch_fault(name)))

    def _audit(self, event: str, _arguments: object) -> None:
        if event in NATIVE and self._refuse is not None:
            file, _ = asking(sys._getframe(1))
            if file is not None and file.startswith("exercises/"):
                self._refuse(_fault("uses ctypes: it leads round the from-scratch rule.", sys._getframe(1)))

    def _on_fault(self, _signal: int, info: int, _context: int) -> None:
        """The signal's handler, in the thread that jumped, which holds Python's lock as Python's own code does."""
        address = ctypes.c_uint64.from_address(info + FAULTING_ADDRESS).value
        if self._refuse is not None and any(begin <= address < end for begin, end in self.pages):
            self._refuse(torch_fault("code", sys._getframe(1)))
        # Not torch's: returning repeats the instruction, and the handler is the default one again.


def torch_fault(name: str, frame: types.FrameType | None = None) -> StudentFault:
    """The fault of an exercise without torch in which the submission, which the frame was called from, uses it."""
    what = f"calls torch's {name}: this exercise is written with NumPy and the standard library alone, without torch."
    return _fault(what, frame or sys._getframe(1))


def _fault(what: str, frame: types.FrameType) -> StudentFault:
    place = students_line(frame)
    where = f"{place.file} line {place.line}" if place is not None else "this code"
    return StudentFault(Outcome.FORBIDDEN, f"{where} {what}", place=place)


def _executable_below(folder: str) -> list[tuple[int, int]]:
    """Begin and end of every executable mapping of a file below a folder."""
    if not MAPS.exists():
        return []
    found = []
    for line in MAPS.read_text("utf-8", "replace").splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and "x" in fields[1] and fields[5].startswith(folder + os.sep):
            begin, end = (int(number, 16) for number in fields[0].split("-"))
            found.append((begin, end))
    return found
