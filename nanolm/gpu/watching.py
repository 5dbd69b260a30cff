"""Watched calls: does the code stay on its device, and does it never make the host wait?

On CUDA, PyTorch itself raises where an operation synchronises. Elsewhere the call is a dry run: tensors that claim to
be on a GPU go through the code without any numbers in them, so that a tensor made on the CPU, a value that is asked
for, and a copy between the two are seen on any machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from nanolm.adapters.student import Student, interface_fault
from nanolm.protocol import Reply

PRETENDED = "meta"
"""What the tensors of a dry run claim to lie on: a device that is not the CPU, and that every PyTorch knows."""


class HostSynchronisation(RuntimeError):
    """The host had to wait for the device, in the middle of a call."""


def watch(student: Student, adapter: Callable[[Student], None]) -> Reply:
    """Run the adapter, with each call of the student's code watched; the reply holds facts and no numbers."""
    cuda = any(tensor.is_cuda for tensor in student.tensors.values())
    if cuda:
        adapter(student)  # what is set up once, at the first call, may wait
        student.wrap = _never_waiting
    else:
        dry = DryRun()
        student.tensors = {name: dry.pretended(tensor) for name, tensor in student.tensors.items()}
        student.wrap, student.move = dry.wrap, dry.move
    adapter(student)
    device = next(tensor.device.type for tensor in student.tensors.values())
    for name, y in student.outputs.items():
        if y.device.type != device:
            raise interface_fault(f"the output {name} came back on {y.device.type}, not where its input lies")
    return Reply(facts={"dry": not cuda}, notes=student.notes)


def _never_waiting(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        before = torch.cuda.get_sync_debug_mode()
        torch.cuda.set_sync_debug_mode("error")
        try:
            return function(*arguments, **named)
        finally:
            torch.cuda.set_sync_debug_mode(before)

    return call


class DryRun:
    """Tensors without numbers, on a device that is not there; whatever a student's module keeps besides stays real."""

    def __init__(self) -> None:
        self._mode = FakeTensorMode(allow_non_fake_inputs=True)

    def pretended(self, tensor: Tensor) -> Tensor:
        """A tensor's shape, strides and dtype on the pretended device."""
        with self._mode:
            return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=PRETENDED)

    def move(self, module: nn.Module) -> None:
        """What `module.to(device)` does: parameters and buffers go, other attributes do not."""
        for child in module.modules():
            for name, parameter in child.named_parameters(recurse=False):
                child.register_parameter(name, nn.Parameter(self.pretended(parameter), parameter.requires_grad))
            for name, buffer in child.named_buffers(recurse=False):
                setattr(child, name, self.pretended(buffer))

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function on pretended tensors; a copy between host and device ends it."""

        @wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            with self._mode, _Copies(), _Literals():  # type: ignore[no-untyped-call]
                return function(*arguments, **named)

        return call


class _Copies(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Ends at a copy between host and device, which waits for all that the device has still to do."""

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Run one operator; a tensor that changes sides is a synchronisation."""
        given = kwargs or {}
        result = func(*args, **given)
        if func in (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default) and not given.get("non_blocking"):
            source = args[1] if func is torch.ops.aten.copy_.default else args[0]
            if source.device.type != result.device.type:
                raise HostSynchronisation(f"a tensor was copied from {source.device.type} to {result.device.type}")
        return result


class _Literals(TorchFunctionMode):
    """Ends where Python numbers are made a tensor of the device: they are written on the host and copied, waiting."""

    def __torch_function__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Run one function."""
        result = func(*args, **(kwargs or {}))
        made = func in (torch.tensor, torch.as_tensor, Tensor.new_tensor) and not isinstance(args[0], Tensor)
        if (made or func is Tensor.new_tensor) and result.device.type != "cpu":
            raise HostSynchronisation(
                "numbers of Python were made a tensor on the device, which is a copy from the host"
            )
        return result
