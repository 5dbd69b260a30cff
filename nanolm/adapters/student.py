"""What an adapter sees: the student's names, one call's arguments, and a place for its results and notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from nanolm.layout import Array
from nanolm.protocol import PLAIN, Conditions, Fact, Outcome, Reply, Scalar, StudentFault

CONSTRUCTION_SEED = 20260
"""Random initialisation is drawn from this seed, so that a verdict can be replayed."""


def interface_fault(message: str) -> StudentFault:
    """A name, signature or parameter that the contract promises is not there."""
    return StudentFault(Outcome.WRONG_INTERFACE, message)


class Student:
    """One call on its way into the student's code."""

    def __init__(
        self,
        file: str,
        names: Mapping[str, Any],
        tensors: Mapping[str, Tensor],
        scalars: Mapping[str, Scalar],
        names_of: Callable[[str], Mapping[str, Any]] | None = None,
    ) -> None:
        self.file = file
        self.tensors = tensors
        self.scalars = scalars
        self.outputs: dict[str, Tensor] = {}
        self.facts: dict[str, Fact] = {}
        self.notes: list[str] = []
        self.conditions: Conditions = PLAIN
        self.wrap: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None
        """What becomes of the student's functions before they are called: compiled, or watched."""
        self.move: Callable[[nn.Module], None] | None = None
        """What brings a module to a device that is only pretended."""
        self._names = names
        self._names_of = names_of

    @property
    def reply(self) -> Reply:
        """What the adapter has gathered."""
        return Reply(tensors=self.outputs, facts=self.facts, notes=self.notes)

    def name(self, name: str) -> Any:
        """The student's function or class of that name."""
        if name not in self._names:
            raise interface_fault(f"{self.file} defines no {name}. Keep the name that the exercise gives.")
        found = self._names[name]
        wrapped = self.wrap is not None and callable(found) and not isinstance(found, type)
        return self.wrap(found) if wrapped and self.wrap else found

    def given(self, file: str, name: str) -> Any:
        """A name of a file that the course gives, from the very package that the student's file belongs to."""
        names = self._names if self._names_of is None else self._names_of(file)
        if name not in names:
            raise interface_fault(f"{name} of {file} is not there: import it as the exercise does")
        return names[name]

    def integer(self, name: str) -> int:
        """A scalar argument that is a size."""
        value = self.scalars[name]
        assert isinstance(value, int)
        return value

    def output(self, value: Any, *, name: str = "y", of: str) -> None:
        """Take one result; anything that is not a tensor is a fault that says what came instead."""
        if not isinstance(value, Tensor):
            returned = "nothing (None): is a `return` missing?" if value is None else f"a {type(value).__name__}"
            raise interface_fault(f"{of} returned {returned}{'' if value is None else ', not a Tensor'}")
        if self.conditions.watched:
            self.outputs[name] = value  # it may be without numbers, and nobody will read them
            return
        if value.layout is not torch.strided or value.is_meta or value.is_quantized:
            raise interface_fault(f"{of} returned a tensor without plain numbers in it (sparse, quantised or meta)")
        self.outputs[name] = value.as_subclass(Tensor)

    def array(self, name: str) -> Array:
        """A tensor argument as NumPy's array over the same memory, so that a change in place is seen on it."""
        return np.asarray(self.tensors[name]).view()  # a worker without torch has an array there already

    def output_array(self, value: Array, *, name: str = "y") -> None:
        """Take one result of an exercise without torch: as a tensor where tensors were given, else as it is."""
        tensors = any(isinstance(given, Tensor) for given in self.tensors.values())
        self.outputs[name] = torch.from_numpy(value) if tensors else value  # type: ignore[assignment]

    def build(self, class_name: str, *arguments: Scalar, seed: int = CONSTRUCTION_SEED) -> nn.Module:
        """Construct the student's module; memory that it leaves uninitialised is filled with NaN."""
        cls = self.name(class_name)
        if not isinstance(cls, type) or not issubclass(cls, nn.Module):
            raise interface_fault(f"{class_name} is not a subclass of nn.Module")
        with fresh_memory_is_nan():
            # The default generator alone: torch.manual_seed walks over every device, 2 ms a call.
            torch.default_generator.manual_seed(seed)
            module: nn.Module = cls(*arguments)
        if self.wrap is not None:
            module.forward = self.wrap(module.forward)
        return module

    def place(self, module: nn.Module, x: Tensor) -> None:
        """Bring a module to where x is, and to its dtype; in an autocast region modules keep theirs."""
        if not self.conditions.autocast:
            module.to(x.dtype)
        if self.move is not None:
            self.move(module)
        else:
            module.to(x.device)

    def describe(self, module: nn.Module) -> None:
        """Report every parameter of a fresh module as an output; the fact `trained` names those that take gradients."""
        parameters = dict(module.named_parameters())
        self.facts["trained"] = [name for name, value in parameters.items() if value.requires_grad]
        for name, value in parameters.items():
            self.outputs[f"parameter:{name}"] = value.detach()


@contextmanager
def fresh_memory_is_nan() -> Iterator[None]:
    """`torch.empty` holds NaN inside, so that a parameter nobody initialised is seen on every run.

    `torch.set_deterministic_debug_mode` switches the filling on; `use_deterministic_algorithms` does the same but
    imports the compiler, 1.3 s of a student's time.
    """
    before = torch.get_deterministic_debug_mode()
    torch.set_deterministic_debug_mode("warn")
    try:
        yield
    finally:
        torch.set_deterministic_debug_mode(before)
