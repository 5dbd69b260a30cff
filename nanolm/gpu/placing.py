"""Tensors to the device before a call, and home again after it."""

from __future__ import annotations

from dataclasses import replace

from nanolm.adapters import ENTRIES
from nanolm.protocol import Call, Reply

ON_THE_HOST = ("budget", "numpy_bridge")
"""Exercises without a tensor of torch in them: their calls stay where they are."""


def placed(call: Call, device: str) -> Call:
    """The call with its tensors on the device."""
    if device == "cpu" or ENTRIES[call.entry].exercise in ON_THE_HOST:
        return call
    return replace(
        call,
        tensors={name: tensor.to(device) for name, tensor in call.tensors.items()},
        upstream={name: tensor.to(device) for name, tensor in call.upstream.items()},
    )


def back(reply: Reply) -> Reply:
    """The reply with its tensors on the CPU, where the oracles are."""
    for tensors in (reply.tensors, reply.gradients, reply.arguments):
        for name, tensor in tensors.items():
            tensors[name] = tensor.cpu()
    return reply
