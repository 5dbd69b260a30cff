"""Landlock by its three system calls: which files a process may still reach, whom it may signal, no TCP.

The kernel's interface has versions ("ABI"); whatever the running kernel handles is handled, so that a newer kernel
confines more. See landlock(7).
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
CREATE_RULESET_VERSION = 1
RULE_PATH_BENEATH = 1
PR_SET_NO_NEW_PRIVS = 38

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = (1 << bit for bit in range(4))
REMOVE_DIR, REMOVE_FILE, MAKE_CHAR, MAKE_DIR, MAKE_REG = (1 << bit for bit in range(4, 9))
TRUNCATE = 1 << 14

FS_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""ABI → how many file-system rights it knows; a later one knows no fewer."""
NET_RIGHTS = 0b11  # bind and connect, TCP, from ABI 4
SCOPES = 0b11  # abstract Unix sockets and signals, from ABI 6

READ = EXECUTE | READ_FILE | READ_DIR
OWN = READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE | MAKE_REG | MAKE_DIR | REMOVE_FILE | REMOVE_DIR
DEVICE = READ_FILE | WRITE_FILE
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
"""The only rights that a rule on a file, not a folder, may give."""


class RulesetAttr(ctypes.Structure):
    """What a ruleset handles: everything that it does not allow is then refused."""

    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class PathBeneathAttr(ctypes.Structure):
    """One rule: rights below an open file or folder."""

    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def abi() -> int:
    """The kernel's version of Landlock; 0 where there is none."""
    try:
        return _syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(CREATE_RULESET_VERSION))
    except OSError:
        return 0


def restrict(readable: Iterable[Path], own: Path | None, devices: Iterable[Path]) -> None:
    """Confine this process and all that it will ever start; raises OSError where the kernel cannot.

    `readable` and everything below may be read, `own` written as well; paths that are not there are passed over.
    """
    made = ruleset(readable, own, devices)
    try:
        enter(made)
    finally:
        os.close(made)


def ruleset(readable: Iterable[Path], own: Path | None, devices: Iterable[Path], *, listed: Iterable[Path] = ()) -> int:
    """The descriptor of such rules, for this process or a fork to enter; of `listed` folders only lists may be read."""
    version = abi()
    if version < 1:
        raise OSError("this kernel has no Landlock")
    fs = (1 << FS_RIGHTS.get(version, max(FS_RIGHTS.values()))) - 1
    attr = RulesetAttr(fs, NET_RIGHTS, SCOPES)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    made = _syscall(CREATE_RULESET, ctypes.byref(attr), ctypes.c_size_t(size), ctypes.c_uint32(0))
    try:
        for rights, paths in ((READ, readable), (READ_DIR, listed), (DEVICE, devices), (OWN, [own] if own else [])):
            for path in paths:
                _allow(made, path, rights & fs)
    except BaseException:
        os.close(made)
        raise
    return made


def enter(made: int) -> None:
    """Confine this process by a ruleset, beside those that it is under already; raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_NO_NEW_PRIVS)")
    _syscall(RESTRICT_SELF, ctypes.c_int(made), ctypes.c_uint32(0))


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        rule = PathBeneathAttr(rights if path.is_dir() else rights & FILE_RIGHTS, fd)
        _syscall(
            ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(RULE_PATH_BENEATH), ctypes.byref(rule), ctypes.c_uint32(0)
        )
    finally:
        os.close(fd)


def _syscall(number: int, *arguments: object) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    result = int(libc.syscall(ctypes.c_long(number), *arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
