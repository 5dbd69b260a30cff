"""One call beside the student's code: find the adapter, run it, turn whatever happens into a reply or a fault.

This is the single place where an exception of student code becomes data. It runs in the student's own process
locally and inside the worker in grading, so both report alike.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from torch import Tensor

from nanolm.adapters import ENTRIES
from nanolm.adapters.student import Student
from nanolm.course import EXERCISES
from nanolm.from_scratch import check_source, imported_files
from nanolm.layout import copy_with_strides
from nanolm.protocol import PLAIN, Call, Outcome, Place, Reply, StudentFault
from nanolm.sources import MissingFile, Source, display_name
from nanolm.timelimit import landed

MESSAGE_LIMIT = 2000
WHY_FORBIDDEN = {
    "answer": "it is the answer to this exercise",
    "torch": "this exercise is written with NumPy and the standard library alone, without torch",
    "way-round": "it leads round the from-scratch rule",
}
LINE_END = re.compile(r"\r\n|\r|\n")
"""Where Python ends a line; `splitlines` would end one at a form feed too."""


class TimeLimitReached(BaseException):
    """Raised into student code by the watchdog of a local run; no `except Exception` of theirs stops it."""


class Executor:
    """Runs calls against one source; the from-scratch rule is checked once a file and exercise."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._ruled: dict[str, StudentFault | None] = {}

    def execute(self, call: Call) -> Reply:
        """Carry out one call. Arguments are copied first (strides kept), so the caller's tensors never change."""
        entry = ENTRIES[call.entry]
        file = EXERCISES[entry.exercise].file
        if (fault := self.from_scratch_fault(entry.exercise)) is not None:
            raise fault
        tensors: dict[str, Any] = {name: copy_with_strides(tensor) for name, tensor in call.tensors.items()}
        leaves: dict[str, Tensor] = {}
        if call.upstream:
            leaves = {name: value.requires_grad_() for name, value in tensors.items() if value.is_floating_point()}
            # A copy inside the graph, not the leaf: a change in place is then an input mutation, not an autograd error.
            tensors = {name: value.clone() if name in leaves else value for name, value in tensors.items()}
        try:
            names = self.source.names(file)
            student = Student(display_name(file), names, tensors, call.scalars, self.source.names)
            if call.conditions == PLAIN:
                entry.adapter(student)
                reply = student.reply
                if call.upstream:
                    reply.gradients = _gradients(reply.tensors, leaves, call)
            else:
                from nanolm.gpu.running import run_under

                pull = (lambda outputs: _gradients(outputs, leaves, call)) if call.upstream else None
                reply = run_under(call.conditions, student, entry.adapter, pull)
        except StudentFault:
            raise
        except TimeLimitReached as error:
            landed()
            raise StudentFault(Outcome.TIMEOUT, str(error), place=self._place(error, file)) from None
        except BaseException as error:
            raise self._fault(error, entry.exercise, file) from error
        if call.return_arguments:
            reply.arguments = _detached(tensors)
        reply.tensors = _detached(reply.tensors)
        return reply

    def from_scratch_fault(self, exercise: str) -> StudentFault | None:
        """The `forbidden` fault of an exercise whose file uses an operator that is its answer."""
        if exercise not in self._ruled:
            self._ruled[exercise] = self._check_rule(exercise)
        return self._ruled[exercise]

    def _check_rule(self, exercise: str) -> StudentFault | None:
        findings = [
            (display_name(file), finding)
            for file, text in self._texts(EXERCISES[exercise].file)
            for finding in check_source(text, exercise)
        ]
        if not findings:
            return None
        file, first = findings[0]
        more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
        return StudentFault(
            Outcome.FORBIDDEN,
            f"{file} line {first.line} uses {first.name}{more}: {WHY_FORBIDDEN[first.rule]}. "
            "Write it from elementary operations; keep comparisons with it in another file.",
            place=Place(file, first.line),
        )

    def _texts(self, file: str) -> Iterator[tuple[str, str]]:
        """An exercise's file and every file of the same package that it imports, those that these import, and so on."""
        files, read = [file], set[str]()
        for name in files:  # which grows
            text = self.source.text(name)
            if text and text not in read:  # a notebook has one text, whichever file is asked for
                read.add(text)
                yield name, text
                files += [other for other in imported_files(text) if other not in files]

    def _fault(self, error: BaseException, exercise: str, file: str) -> StudentFault:
        """What the student's exception says, as data."""
        try:
            message = str(error)[:MESSAGE_LIMIT]
        except BaseException:
            message = "(its message could not be read)"
        kind = type(error).__name__
        bases = tuple(cls.__name__ for cls in type(error).__mro__)
        place = self._place(error, file)
        if isinstance(error, MissingFile):
            return StudentFault(Outcome.NOT_ATTEMPTED, f"{display_name(file)} is not there")
        if isinstance(error, NotImplementedError) and message.startswith(f"{exercise}: "):
            return StudentFault(Outcome.NOT_ATTEMPTED, message, place=place)
        if isinstance(error, MemoryError) or "can't allocate memory" in message:
            return StudentFault(Outcome.OUT_OF_MEMORY, "more memory was asked for than a test may use", place=place)
        return StudentFault(Outcome.EXCEPTION, message, kind=kind, bases=bases, place=place)

    def _place(self, error: BaseException, file: str) -> Place | None:
        """The innermost line of the student's own file that the exception passed through."""
        text = self.source.text(file) or ""
        lines = LINE_END.split(text)
        if isinstance(error, SyntaxError):
            # The line as the parser saw it, with its caret; it may be of another submitted file.
            if error.lineno is None:
                return None
            return Place(_shown(error.filename, file), error.lineno, (error.text or "").rstrip("\n"), error.offset)
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            if _is_students(frame.filename, file):
                line = frame.lineno or 0
                return Place(display_name(file), line, lines[line - 1].strip() if 0 < line <= len(lines) else "")
        return None


def _is_students(filename: str, file: str) -> bool:
    """Whether a code object's file name is the exercise's file, loaded from text or from disk."""
    parts = filename.replace("\\", "/").split("/")
    return parts[-1] == file and len(parts) > 1 and parts[-2] in ("exercises", "solutions")


def _shown(filename: str | None, file: str) -> str:
    return display_name((filename or file).replace("\\", "/").rpartition("/")[2])


def _detached(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value if isinstance(value, np.ndarray) else value.detach() for name, value in values.items()}


def _gradients(outputs: dict[str, Tensor], leaves: dict[str, Tensor], call: Call) -> dict[str, Tensor]:
    """Gradients of `sum(upstream · output)` with respect to each leaf that it depends on.

    By `backward()` on that sum: torch.autograd.grad with `grad_outputs` gives the same but imports sympy first, 0.3 s.
    """
    total: Tensor | None = None
    for name, upstream in call.upstream.items():
        output = outputs.get(name)
        if output is None or not output.requires_grad:
            continue
        if output.shape != upstream.shape:
            raise StudentFault(
                Outcome.WRONG_SHAPE, f"the output has shape {list(output.shape)}, not {list(upstream.shape)}"
            )
        weighted = (output * upstream.to(output.dtype)).sum()
        total = weighted if total is None else total + weighted
    if total is None:
        return {}
    total.backward()  # type: ignore[no-untyped-call]
    return {name: leaf.grad for name, leaf in leaves.items() if leaf.grad is not None}
