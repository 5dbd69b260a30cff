"""Copies that keep strides, of tensors and of NumPy's arrays: what is not contiguous stays so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Array = npt.NDArray[Any]


def copy_with_strides(values: Tensor | Array) -> Tensor | Array:
    """A copy with the same strides, apart from any graph."""
    if isinstance(values, np.ndarray):
        return laid_out(values, [stride // values.itemsize for stride in values.strides])
    if values.is_contiguous():
        return values.detach().clone()
    return laid_out(values.detach(), values.stride())


def laid_out(values: Tensor | Array, strides: Sequence[int]) -> Tensor | Array:
    """The same values in memory of their own with these strides, counted in elements, none negative."""
    if isinstance(values, np.ndarray):
        extent = 1 + sum((size - 1) * stride for size, stride in zip(values.shape, strides, strict=True) if size)
        room = np.empty(extent, values.dtype)
        copy = np.lib.stride_tricks.as_strided(room, values.shape, [stride * values.itemsize for stride in strides])
        copy[...] = values
        return copy
    return torch.empty_strided(values.shape, tuple(strides), dtype=values.dtype, device=values.device).copy_(values)
