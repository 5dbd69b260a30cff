"""The system calls that a worker may not make, as a filter program that the kernel runs.

The program is made once, by libseccomp (through pyseccomp) in the grader, and travels to the worker as bytes: a worker
needs no library to load it. A refused call returns EPERM, so that student code sees an ordinary PermissionError.
"""

from __future__ import annotations

import ctypes
import errno
import os
import tempfile
from typing import Any

PR_SET_SECCOMP, SECCOMP_MODE_FILTER, PR_SET_NO_NEW_PRIVS = 22, 2, 38
CLONE_THREAD = 0x10000
INSTRUCTION_BYTES = 8

PROCESSES = "fork vfork execve execveat setsid setpgid ptrace process_vm_readv process_vm_writev process_madvise kcmp"
SIGNALS = "kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_open pidfd_getfd pidfd_send_signal"
NETWORK = "socket socketpair connect bind listen accept accept4"
SHARED = (
    "shmget shmat shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl "
    "mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr memfd_create memfd_secret"
)
# What Landlock does not cover: metadata of files that can only be read.
METADATA = (
    "chmod fchmod fchmodat chown lchown fchown fchownat utime utimes utimensat futimesat mknod mknodat "
    "setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr"
)
NAMESPACES = (
    "mount umount2 pivot_root chroot unshare setns open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr"
)
KERNEL = (
    "bpf perf_event_open add_key request_key keyctl userfaultfd io_uring_setup io_uring_enter io_uring_register "
    "kexec_load kexec_file_load init_module finit_module delete_module reboot swapon swapoff sethostname "
    "setdomainname syslog acct quotactl quotactl_fd lookup_dcookie vhangup iopl ioperm modify_ldt settimeofday "
    "clock_settime adjtimex clock_adjtime name_to_handle_at open_by_handle_at fanotify_init personality setrlimit"
)
REFUSED = " ".join((PROCESSES, SIGNALS, NETWORK, SHARED, METADATA, NAMESPACES, KERNEL)).split()

NEWER = {"fchmodat2": 452, "setxattrat": 463, "removexattrat": 466, "open_tree_attr": 467}
"""Calls younger than many a libseccomp, by number: from 424 on, numbers are the same on every architecture."""

REFUSED_PRCTL = (1, 4, 35, 36, 0x59616D61)
"""prctl options: the signal at a parent's death, dumpable, memory map fields, subreaper, who may trace."""


class SeccompUnavailable(OSError):
    """No filter can be made or loaded here; the text says what is missing."""


def program() -> bytes:
    """The filter for this machine's architecture; raises SeccompUnavailable."""
    try:
        import pyseccomp
    except (ImportError, RuntimeError, OSError) as error:
        raise SeccompUnavailable(
            f"seccomp filters cannot be made: install pyseccomp and libseccomp2 ({error})"
        ) from error
    refuse = pyseccomp.ERRNO(errno.EPERM)
    made = pyseccomp.SyscallFilter(defaction=pyseccomp.ALLOW)
    refused: list[str | int] = [*REFUSED, *NEWER.values()]
    for name in refused:
        _add(made, refuse, name)
    # A thread is a clone too; glibc falls back to clone, whose flags a filter can read, where clone3 is not there.
    _add(made, refuse, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, CLONE_THREAD, 0))
    _add(made, pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    # Reading a limit is the same call as setting one.
    _add(made, refuse, "prlimit64", pyseccomp.Arg(2, pyseccomp.NE, 0))
    for option in REFUSED_PRCTL:
        _add(made, refuse, "prctl", pyseccomp.Arg(0, pyseccomp.EQ, option))
    with tempfile.TemporaryFile() as file:
        made.export_bpf(file)
        file.seek(0)
        return file.read()


def _add(made: Any, action: Any, name: str | int, *arguments: Any) -> None:
    try:
        made.add_rule(action, name, *arguments)
    except (ValueError, RuntimeError, OSError):
        return  # a call that this architecture or this libseccomp has no name for


class SockFprog(ctypes.Structure):
    """A filter program as the kernel takes it."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def load(code: bytes) -> None:
    """Put this process, and all that it will ever start, behind the filter; there is no way back. Raises OSError."""
    if not code or len(code) % INSTRUCTION_BYTES:
        raise SeccompUnavailable("not a filter program")
    buffer = ctypes.create_string_buffer(code, len(code))
    made = SockFprog(len(code) // INSTRUCTION_BYTES, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_NO_NEW_PRIVS)")
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(made), 0, 0) != 0:
        raise SeccompUnavailable(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
