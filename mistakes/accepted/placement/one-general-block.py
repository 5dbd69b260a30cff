"""One block with a place for every norm, and identities where a placement has none."""

from collections.abc import Callable
from functools import reduce

import torch
from torch import Tensor

Map = Callable[[Tensor], Tensor]


def chain(*maps: Map) -> Map:
    return lambda x: reduce(lambda value, f: f(value), maps, x)


def same(x: Tensor) -> Tensor:
    return x


def half(x: Tensor, sublayer: Map, before: Map = same, after: Map = same, on_sum: Map = same) -> Tensor:
    return on_sum(x + chain(before, sublayer, after)(x))


def pre_norm_step(x, attn, ffn, norm1, norm2):
    return half(half(x, attn, before=norm1), ffn, before=norm2)


def post_norm_step(x, attn, ffn, norm1, norm2):
    return half(half(x, attn, on_sum=norm1), ffn, on_sum=norm2)


def peri_norm_step(x, attn, ffn, in1, out1, in2, out2):
    return half(half(x, attn, in1, out1), ffn, in2, out2)


def output_norm_step(x, attn, ffn, out1, out2):
    return half(half(x, attn, after=out1), ffn, after=out2)


def forward_scale(h0: Tensor, weights: Tensor, placement: str) -> Tensor:
    places = {"none": {}, "pre": {"before": unit}, "post": {"on_sum": unit}}
    try:
        where = places[placement]
    except KeyError:
        raise ValueError(f"placement {placement!r} is none of {sorted(places)}") from None
    scales = h0.new_empty(len(weights))
    for index, W in enumerate(weights):
        h0 = half(h0, lambda v: W @ v, **where)
        scales[index] = h0.square().mean().sqrt()
    return scales


def unit(x: Tensor) -> Tensor:
    return x / max(x.square().mean().sqrt(), torch.tensor(1e-12, dtype=x.dtype))
