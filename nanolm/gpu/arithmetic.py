"""TF32: matrix products whose float32 operands keep 10 bits of their fraction. On a CPU it is imitated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

DROPPED_BITS = 13
"""float32 has 23 bits of fraction, TF32 has 10."""


@contextmanager
def tf32(device: torch.device) -> Iterator[None]:
    """Matrix products may use TF32 inside, whatever was set before."""
    if device.type != "cuda":
        with RoundedProducts():  # type: ignore[no-untyped-call]
            yield
        return
    matmul = torch.backends.cuda.matmul
    name, on = ("fp32_precision", "tf32") if hasattr(matmul, "fp32_precision") else ("allow_tf32", True)
    before = getattr(matmul, name)
    setattr(matmul, name, on)
    try:
        yield
    finally:
        setattr(matmul, name, before)


class RoundedProducts(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Rounds the operands of matrix products as a tensor core does; vectors' products stay whole, as on a GPU."""

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Run one operator."""
        aten = torch.ops.aten
        if func in (aten.mm.default, aten.bmm.default):
            args = [rounded(argument) for argument in args]
        elif func in (aten.addmm.default, aten.baddbmm.default):
            args = [args[0], *(rounded(argument) for argument in args[1:])]
        return func(*args, **(kwargs or {}))


def rounded(value: Any) -> Any:
    """A float32 tensor to the nearest numbers of 10 bits; anything else as it is."""
    if not isinstance(value, Tensor) or value.dtype != torch.float32:
        return value
    bits = value.contiguous().view(torch.int32)
    kept = (bits + (1 << (DROPPED_BITS - 1))) & ~((1 << DROPPED_BITS) - 1)
    return kept.view(torch.float32)
