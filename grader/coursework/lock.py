"""One writer: who changes the gradebook or what was collected holds this lock, whichever process it is."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from grader.coursework.standing import Course
from grader.session import CannotStart


@contextmanager
def locked(course: Course) -> Iterator[None]:
    """Hold the course's lock; it goes with the process, however that ends. Raises CannotStart where another has it."""
    course.data.mkdir(exist_ok=True)
    descriptor = os.open(course.data / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CannotStart(f"another `nanolm course` is working on {course.data}: wait until it has ended") from None
        yield
    finally:
        os.close(descriptor)
