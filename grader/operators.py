"""Blocks the operators that are an exercise's answer, in the worker, under whatever name they are reached.

The from-scratch rule reads names off the source; a name that is put together as the code runs (`"rms" + "_norm"`, a
loop over `dir(F)`, unpickling, TorchScript) cannot be read. Here the kernels themselves are replaced in this process's
dispatcher, so that `F.rms_norm`, `nn.RMSNorm`, `torch.ops.aten.rms_norm`, scripted and traced code end here.

Order: after the worker's own confinement (`worker.lock_down`), which may end it without anybody's fault; before the
submission's first line, which runs in the first call: only then the exercise is known. SwiGLU may call what RMSNorm may
not, and a worker serves one exercise. Replacing takes some 4 ms in a fresh worker; nothing puts a kernel back.

Not blocked: `F.group_norm` and `F.batch_norm`, which can be made to imitate the answer: the contract leaves them out.
"""

from __future__ import annotations

import ctypes
import inspect
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import torch

from nanolm.protocol import Outcome, Place, StudentFault

IMPLICIT = ("CompositeImplicitAutograd", "FuncTorchBatchedDecomposition")
KERNELS = {
    "rms_norm": IMPLICIT,
    "layer_norm": IMPLICIT,
    "_fused_rms_norm": (*IMPLICIT, "CPU"),
    "native_layer_norm": ("CompositeExplicitAutograd", "CPU", "NestedTensorCPU", "FuncTorchBatched"),
}
"""For each operator of aten the dispatch keys whose kernels compute it on this machine."""

Refuse = Callable[[StudentFault], NoReturn]


def block(operators: Iterable[str], refuse: Refuse) -> None:
    """Have every call of these operators end in `refuse`, for as long as this process lives."""
    names = [name for name in KERNELS if name in set(operators) and torch._C._dispatch_has_kernel(f"aten::{name}")]
    if not names:
        return
    with _library("aten") as library:
        for name in names:
            for key in KERNELS[name]:
                library.impl(name, key, _kernel(name, refuse))
    _block_decompositions(names)
    _block_static_runtime()


@contextmanager
def _library(namespace: str) -> Iterator[Any]:
    """Takes kernels in the place of others, for good."""
    # Not torch.library.Library: its finalizer puts the kernels back, and weakref keeps a list of finalizers. This
    # object is never freed, and no name, container or collector leads to it.
    library = torch._C._dispatch_library("IMPL", namespace, "", __file__, 0)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "Overriding a previously registered kernel": indeed
        yield library


def _kernel(name: str, refuse: Refuse) -> Callable[..., NoReturn]:
    def blocked(*arguments: Any, **named: Any) -> NoReturn:
        refuse(_fault(name, sys._getframe(1)))

    return blocked


def _fault(name: str, frame: types.FrameType | None) -> StudentFault:
    """The fault of a call, with the student's line where one is on the stack: a thread of torch's code has none."""
    place = students_line(frame)
    where = f"{place.file} line {place.line}" if place is not None else "this code"
    return StudentFault(
        Outcome.FORBIDDEN,
        f"{where} calls torch's {name}: it is the answer to this exercise. Write it from elementary operations.",
        place=place,
    )


def students_line(frame: types.FrameType | None) -> Place | None:
    """The innermost line of the submission that this frame was called from."""
    while frame is not None and not frame.f_code.co_filename.startswith("exercises/"):
        frame = frame.f_back
    return Place(frame.f_code.co_filename, frame.f_lineno) if frame is not None else None


def _block_decompositions(names: list[str]) -> None:
    """Torch also holds some operators written out in Python: give those functions a body that calls a blocked one."""
    functions = [getattr(torch._refs, "_normalize", None)]  # what they share
    for name in names:
        packet = getattr(torch.ops.aten, name)
        functions += [torch._decomp.decomposition_table.get(getattr(packet, each)) for each in packet.overloads()]
    for function in functions:
        function = inspect.unwrap(function or _body)
        if isinstance(function, types.FunctionType) and function.__globals__.get("torch") is torch:
            function.__code__ = _body.__code__


def _block_static_runtime() -> None:
    """TorchScript's static runtime calls kernels without asking the dispatcher: nobody gets a module of it."""
    for name in ("_jit_to_static_module", "_fuse_to_static_module"):
        if hasattr(torch._C, name):
            setattr(torch._C, name, _body)


def _body(*arguments: Any, **named: Any) -> Any:
    return torch.native_layer_norm(torch.ones(1), [1], None, None, 0.0)
