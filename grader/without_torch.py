"""Takes torch away from a worker whose exercise is written without it: from then on no code of torch can be executed.

The zygote has imported torch for all exercises, and whoever looks for it finds it: in `sys.modules`, among the
subclasses of `object`, in the globals of a function. So nothing of that is hidden; what is found does not compute. The
machine code of torch's libraries is replaced by memory that holds nothing and may not be executed, and where there is
Landlock their files cannot be opened any more, so that no native code brings them back. A jump to where torch's code
was is a fault of the processor that ends in `refuse`, with the student's line; one anywhere else ends the process as it
always does.

The worker itself goes on without torch: `grader.arrays` and the adapters of such an exercise know NumPy's arrays.
Linux on 64 bits only: elsewhere the code cannot be found, and isolation is `weak` there anyway.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import signal
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, NoReturn

import torch

from grader.operators import students_line
from grader.sandbox import landlock
from grader.sandbox.view import DEVICES
from nanolm.protocol import Outcome, StudentFault

MAPS = Path("/proc/self/maps")
PROT_NONE = 0
MAP_FIXED = 0x10
SA_SIGINFO, SA_RESETHAND = 0x4, 0x80000000
FAULTING_ADDRESS = 16
"""Where siginfo_t has it, on 64-bit Linux."""
PYBIND11 = "__pybind11_internals"
"""What extensions made with one version of pybind11 share in the interpreter; torch's points at functions of torch."""

Refuse = Callable[[StudentFault], NoReturn]


class _Action(ctypes.Structure):
    """struct sigaction of glibc and musl."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_byte * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class Mapping(NamedTuple):
    """An executable mapping of a file: where it lies in memory, and which part of the file it shows."""

    begin: int
    end: int
    offset: int
    file: str


class WithoutTorch:
    """What it takes, made in the zygote before workers are forked, while nothing is confined and /proc is there."""

    def __init__(self) -> None:
        self._folder = Path(torch.__file__).resolve().parent
        self._mappings = list(_executable_below(self._folder))
        self._code = [part for mapping in self._mappings for part in _machine_code(mapping)]
        self._refuse: Refuse | None = None
        self._process = 0
        self.ruleset: int | None = None
        """A Landlock ruleset under which torch's files are out of reach, for a worker to enter."""
        # libffi makes room for a callback that may be executed.
        self._handler = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(self._on_fault)

    def keep_out(self, readable: Iterable[Path], scratch: Path) -> None:
        """Prepare the ruleset: what workers may read, but for torch. Other rules keep them to folders of their own."""
        rest, above = apart_from(self._folder, readable)
        self.ruleset = landlock.ruleset(rest, scratch, DEVICES, listed=above)

    def begin(self, refuse: Refuse) -> None:
        """From here on, for good, in a worker."""
        self._refuse, self._process = refuse, os.getpid()
        _forget_pybind11()
        gc.freeze()  # a collection would run torch's code to see what its objects hold
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        action = _Action(handler=ctypes.cast(self._handler, ctypes.c_void_p).value, flags=SA_SIGINFO | SA_RESETHAND)
        if libc.sigaction(ctypes.c_int(signal.SIGSEGV), ctypes.byref(action), None) != 0:
            raise OSError(ctypes.get_errno(), "sigaction")
        for mapping in self._mappings:  # tables that the dynamic loader reads stay, but may not be executed
            size = ctypes.c_size_t(mapping.end - mapping.begin)
            if libc.mprotect(ctypes.c_void_p(mapping.begin), size, ctypes.c_int(mmap.PROT_READ)) != 0:
                raise OSError(ctypes.get_errno(), "mprotect")
        nothing = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_FIXED
        for begin, end in self._code:
            place = ctypes.c_void_p(begin)
            if libc.mmap(place, ctypes.c_size_t(end - begin), PROT_NONE, nothing, -1, ctypes.c_long(0)) != begin:
                raise OSError(ctypes.get_errno(), "mmap")
        if self.ruleset is not None:
            landlock.enter(self.ruleset)

    def _on_fault(self, _signal: int, info: int, _context: int) -> None:
        """The signal's handler, in the thread that jumped, which holds Python's lock as Python's own code does."""
        address = ctypes.c_uint64.from_address(info + FAULTING_ADDRESS).value
        torchs = any(mapping.begin <= address < mapping.end for mapping in self._mappings)
        # A fork of the worker's (there is none but at `weak`) ends here as well: what torch does there is its own.
        if torchs and self._refuse is not None and os.getpid() == self._process:
            self._refuse(torch_fault())
        # Returning repeats the instruction, and the handler is the default one again.


def torch_fault() -> StudentFault:
    """The fault of a submission, on the stack, that calls torch where it is to be written without it."""
    place = students_line(sys._getframe(1))
    where = f"{place.file} line {place.line}" if place is not None else "this code"
    message = f"{where} calls torch: this exercise is written with NumPy and the standard library alone, without torch."
    return StudentFault(Outcome.FORBIDDEN, message, place=place)


def apart_from(folder: Path, paths: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """Paths that cover all of `paths` but `folder`, and the folders above it, of which only lists are left."""
    rest: dict[Path, None] = {}
    above: dict[Path, None] = {}
    waiting = [path.resolve() for path in paths]
    for path in waiting:  # which grows
        if path in above or path == folder or folder in path.parents:
            continue
        if path in folder.parents:
            above[path] = None
            waiting += [child.resolve() for child in path.iterdir()]
        else:
            rest[path] = None
    return list(rest), list(above)


def _forget_pybind11() -> None:
    """Let the next extension that is made with torch's version of pybind11 make its own instead of calling torch's."""
    api = ctypes.pythonapi
    api.PyInterpreterState_Get.restype = api.PyInterpreterState_GetDict.restype = ctypes.c_void_p
    api.PyInterpreterState_GetDict.argtypes = [ctypes.c_void_p]
    shared = ctypes.cast(api.PyInterpreterState_GetDict(api.PyInterpreterState_Get()), ctypes.py_object).value
    for holder in (shared, vars(sys.modules["builtins"])):
        for name in [name for name in holder if isinstance(name, str) and name.startswith(PYBIND11)]:
            del holder[name]


def _executable_below(folder: Path) -> Iterator[Mapping]:
    if not MAPS.exists() or sys.maxsize < 2**32:
        return
    for line in MAPS.read_text("utf-8", "replace").splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and "x" in fields[1] and fields[5].startswith(f"{folder}{os.sep}"):
            begin, end = (int(number, 16) for number in fields[0].split("-"))
            yield Mapping(begin, end, int(fields[2], 16), fields[5])


def _machine_code(mapping: Mapping) -> Iterator[tuple[int, int]]:
    """Where in memory the whole pages of the file's `.text` section are (ELF, 64 bits)."""
    with open(mapping.file, "rb") as file:
        header = file.read(64)
        (table,) = struct.unpack_from("<Q", header, 0x28)
        size, count, names_at = struct.unpack_from("<HHH", header, 0x3A)
        file.seek(table)
        sections = [file.read(size) for _ in range(count)]
        names_offset, names_size = struct.unpack_from("<QQ", sections[names_at], 0x18)
        file.seek(names_offset)
        names = file.read(names_size)
    for section in sections:
        (name,) = struct.unpack_from("<I", section)
        offset, length = struct.unpack_from("<QQ", section, 0x18)
        if names[name : names.index(b"\0", name)] == b".text":
            at = mapping.begin + offset - mapping.offset
            begin, end = -(-at // mmap.PAGESIZE) * mmap.PAGESIZE, (at + length) // mmap.PAGESIZE * mmap.PAGESIZE
            if mapping.begin <= begin < end <= mapping.end:
                yield begin, end
