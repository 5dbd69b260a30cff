"""The few Linux calls that Python has no name for. Elsewhere each does nothing and says so by what it returns."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def die_with_parent() -> bool:
    """Have the kernel kill this process when its parent ends."""
    return _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> bool:
    """Become the parent of every descendant whose own parent has ended, so that none gets away."""
    return _prctl(PR_SET_CHILD_SUBREAPER, 1)


PR_CAPBSET_DROP = 24
CAPABILITY_VERSION_3 = 0x20080522
LAST_CAPABILITY = 63


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Data(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def drop_capabilities() -> None:
    """Give up every privilege of root that this process has; raises OSError where that fails."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(LAST_CAPABILITY + 1):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # without privileges there is nothing to drop, and it fails
    header, data = _Header(CAPABILITY_VERSION_3, 0), (_Data * 2)()
    if libc.capset(ctypes.byref(header), ctypes.byref(data)) != 0:
        raise OSError(ctypes.get_errno(), "capset")


HUGE_PAGE = 2 * 1024 * 1024
MADV_COLLAPSE = 25
ANONYMOUS = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p \S+ 00:00 0 *(?:\[heap\])?")


def collapse_pages() -> None:
    """Gather this process's own memory in huge pages where the kernel can: a fork then copies a fifth of the tables.

    A fork of a process that has imported torch takes 3 ms instead of 7; its first write to a page costs what it did.
    """
    maps = Path("/proc/self/maps")
    if not maps.is_file():
        return
    libc = ctypes.CDLL(None, use_errno=True)
    libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for line in maps.read_text().splitlines():
        if (match := ANONYMOUS.fullmatch(line)) is not None:
            start, end = int(match[1], 16), int(match[2], 16)
            for page in range(-(-start // HUGE_PAGE) * HUGE_PAGE, end - HUGE_PAGE + 1, HUGE_PAGE):
                libc.madvise(page, HUGE_PAGE, MADV_COLLAPSE)


def _prctl(option: int, value: int) -> bool:
    if sys.platform != "linux":
        return False
    return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)


def children() -> list[int]:
    """Process ids of this process's children, zombies included; empty where the kernel does not tell."""
    pids: list[int] = []
    for task in Path("/proc/self/task").glob("*/children"):
        pids += map(int, task.read_text().split())
    return pids


def usage(pid: int) -> tuple[bool, float] | None:
    """Whether a process still runs, and the CPU seconds of all its threads so far; None where nobody can tell."""
    if sys.platform != "linux":
        return None
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2].split()
    except OSError:
        return None
    # Counted from the third field, the state: user time is field 14, system time 15.
    return fields[0] not in (b"Z", b"X"), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def address_space() -> int:
    """Bytes of addresses that this process has in use; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
