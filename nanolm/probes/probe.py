"""What a probe is: one call, and what is read off its reply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nanolm.protocol import Call, Reply

Array = NDArray[np.float64]


def output(reply: Reply) -> tuple[str, Array]:
    """The output: its dtype and shape, and its values."""
    y = reply.tensors["y"]
    return f"{str(y.dtype).removeprefix('torch.')}{list(y.shape)}", y.double().numpy().reshape(-1)


def gradients(reply: Reply) -> tuple[str, Array]:
    """All gradients in one row; which arguments they reach is part of the kind."""
    parts = [reply.gradients[name].double().numpy().reshape(-1) for name in sorted(reply.gradients)]
    return f"gradients of {sorted(reply.gradients)}", np.concatenate(parts) if parts else np.zeros(0)


def argument(reply: Reply) -> tuple[str, Array]:
    """x as the call left it."""
    return "argument", reply.arguments["x"].double().numpy().reshape(-1)


@dataclass(frozen=True)
class Probe:
    """One call and what is read off its reply. Where `coarse`, only "right" and "not right" are told apart."""

    name: str
    call: Callable[[], Call]
    read: Callable[[Reply], tuple[str, Array]] = output
    rtol: float = 1e-4
    atol: float = 1e-6
    coarse: bool = False


def tensor(values: object, dtype: torch.dtype = torch.float32) -> Tensor:
    """A tensor of the values, rounded to `dtype`."""
    return torch.tensor(np.asarray(values, dtype=np.float64)).to(dtype)


def random(seed: int, *shape: int) -> Array:
    """Standard normals, the same on every machine."""
    return np.random.default_rng(seed).standard_normal(shape)
