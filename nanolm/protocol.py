"""What crosses between a test and an implementation: a call of tensors and scalars, and its reply or fault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from torch import Tensor

Scalar = bool | int | float | str | None
Fact = Scalar | list["Fact"] | dict[str, "Fact"]


class Outcome(StrEnum):
    """How a test ended: the contract's closed list."""

    PASSED = "passed"
    WRONG_VALUE = "wrong_value"
    WRONG_GRADIENT = "wrong_gradient"
    WRONG_DTYPE = "wrong_dtype"
    WRONG_SHAPE = "wrong_shape"
    NOT_FINITE = "not_finite"
    INPUT_MUTATED = "input_mutated"
    WRONG_ERROR = "wrong_error"
    WRONG_INTERFACE = "wrong_interface"
    EXCEPTION = "exception"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"
    NOT_ATTEMPTED = "not_attempted"
    FORBIDDEN = "forbidden"
    NOT_RUN_HERE = "not_run_here"
    INFRASTRUCTURE = "infrastructure"


CUTS_THE_TEST = frozenset(
    {Outcome.TIMEOUT, Outcome.OUT_OF_MEMORY, Outcome.CRASHED, Outcome.FORBIDDEN, Outcome.INFRASTRUCTURE}
)
"""Outcomes after which the rest of a test tells nothing more: it ends at once."""


@dataclass(frozen=True)
class Conditions:
    """What a GPU test asks for beside the arguments; every other call is plain.

    `autocast` names the dtype of an autocast region, in which modules stay as they were built. `compiled` compiles
    the student's code as one graph. `tf32` lets matrix products round their float32 operands. A `watched` call gives
    no numbers: it ends in a fault where the code leaves the device or makes the host wait for it.
    """

    autocast: str = ""
    compiled: bool = False
    tf32: bool = False
    watched: bool = False


PLAIN = Conditions()


@dataclass(frozen=True)
class Call:
    """One call of an entry point.

    `upstream` holds the gradient of a scalar with respect to outputs: where it is given, the reply holds the
    gradients of that scalar with respect to every floating-point tensor argument. With `return_arguments` the
    reply holds the arguments as the call left them.
    """

    entry: str
    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    scalars: Mapping[str, Scalar] = field(default_factory=dict)
    upstream: Mapping[str, Tensor] = field(default_factory=dict)
    return_arguments: bool = False
    conditions: Conditions = PLAIN


@dataclass
class Reply:
    """What came back. A tensor argument that no gradient reaches is missing from `gradients`."""

    tensors: dict[str, Tensor] = field(default_factory=dict)
    gradients: dict[str, Tensor] = field(default_factory=dict)
    arguments: dict[str, Tensor] = field(default_factory=dict)
    facts: dict[str, Fact] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """A line of a student's file: `exercises/modules.py`, 31, and its text."""

    file: str
    line: int
    text: str = ""
    column: int | None = None


class StudentFault(Exception):
    """A call that ended without a reply. All of it is data from the student's side: text to escape, not to trust."""

    def __init__(
        self,
        outcome: Outcome,
        message: str,
        *,
        kind: str = "",
        bases: tuple[str, ...] = (),
        place: Place | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.message = message
        self.kind = kind
        self.bases = bases
        self.place = place
        self.notes = notes


class Backend(Protocol):
    """Where student code runs: this process, a notebook's namespace, or a worker."""

    name: str

    def run(self, call: Call) -> Reply:
        """Carry out one call; raises StudentFault."""
        ...
