"""What the answers of `budget.py` are held against: the property that defines a width, and real tensors to be counted.

Nothing here computes a width or a sum: a property says whether a given width is right, and tensors on the device `meta`
have a shape and no memory, so that even 8 billion entries can be counted one tensor at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

Sizes = Mapping[str, int]
"""The fields of a ModelConfig."""


def reaches_the_budget(width: int, d_model: int) -> bool:
    """Not below 8D/3: 3r ≥ 8D, without a fraction (M6 §9)."""
    return 3 * width >= 8 * d_model


def misses_by_a_multiple(width: int, d_model: int, multiple: int) -> bool:
    """More than one multiple away from 8D/3, on either side: no rounding rule goes that far."""
    return abs(3 * width - 8 * d_model) > 3 * multiple


def could_be_smaller(width: int, d_model: int, multiple: int) -> bool:
    """The next smaller multiple would reach 8D/3 as well."""
    return reaches_the_budget(width - multiple, d_model)


def attention_tensors(sizes: Sizes) -> list[Tensor]:
    """The matrices of one attention with grouped queries, in nn.Linear's layout (M6 §10)."""
    queries, keys = sizes["N"] * sizes["H"], sizes["K"] * sizes["H"]
    shapes = [(queries, sizes["D"]), (keys, sizes["D"]), (keys, sizes["D"]), (sizes["D"], queries)]
    return [_tensor(*shape) for shape in shapes]


def ffn_tensors(d_model: int, d_ff: int, into: int) -> list[Tensor]:
    """The matrices of an FFN with `into` branches from D to F, and the one back."""
    return [*(_tensor(d_ff, d_model) for _ in range(into)), _tensor(d_model, d_ff)]


def block_tensors(sizes: Sizes) -> list[Tensor]:
    """Everything that one block learns: attention, an FFN with a gate and an up branch, two scales."""
    scales = [_tensor(sizes["D"]) for _ in ("before attention", "before the FFN")]
    return [*attention_tensors(sizes), *ffn_tensors(sizes["D"], sizes["F"], into=2), *scales]


def outer_tensors(sizes: Sizes, *, tied: bool) -> list[Tensor]:
    """What a model learns outside its blocks: embedding, final scale and, unless it is tied, the output head."""
    tables = [_tensor(sizes["V"], sizes["D"])]
    if not tied:
        tables.append(_tensor(sizes["V"], sizes["D"]))
    return [*tables, _tensor(sizes["D"])]


def model_tensors(sizes: Sizes, *, tied: bool) -> list[Tensor]:
    """Every distinct tensor of the model."""
    blocks = [tensor for _ in range(sizes["L"]) for tensor in block_tensors(sizes)]
    return [*outer_tensors(sizes, tied=tied), *blocks]


def entries(tensors: Sequence[Tensor]) -> int:
    """How many numbers the tensors hold together."""
    return sum(tensor.numel() for tensor in tensors)


def _tensor(*shape: int) -> Tensor:
    return torch.empty(shape, device="meta")
