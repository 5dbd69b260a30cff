"""One call under the conditions of a GPU test: autocast, one compiled graph, TF32, or watched."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor

from nanolm.adapters.student import Student
from nanolm.gpu.arithmetic import tf32
from nanolm.protocol import Conditions, Reply

Gradients = Callable[[dict[str, Tensor]], dict[str, Tensor]]


def run_under(
    conditions: Conditions, student: Student, adapter: Callable[[Student], None], gradients: Gradients | None
) -> Reply:
    """Run the adapter; gradients are asked for outside the autocast region, as training does."""
    student.conditions = conditions
    if conditions.watched:
        from nanolm.gpu.watching import watch

        return watch(student, adapter)
    device = next((tensor.device for tensor in student.tensors.values()), torch.device("cpu"))
    if conditions.compiled:
        student.wrap = _one_graph(device)
    with ExitStack() as stack:
        if conditions.tf32:
            stack.enter_context(tf32(device))
        with ExitStack() as region:
            if conditions.autocast:
                dtype = getattr(torch, conditions.autocast)
                region.enter_context(torch.autocast(device.type, dtype=dtype))
            adapter(student)
        reply = student.reply
        if gradients is not None:
            reply.gradients = gradients(reply.tensors)
    return reply


def _one_graph(device: torch.device) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compiles a function as one graph; off the GPU the graph is traced and then run as it is."""

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        torch.compiler.reset()  # each call builds its module anew: what was compiled for another one must not count
        backend = "inductor" if device.type == "cuda" else "eager"
        compiled: Callable[..., Any] = torch.compile(function, fullgraph=True, dynamic=False, backend=backend)
        return compiled

    return wrap
