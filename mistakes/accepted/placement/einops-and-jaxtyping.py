"""Annotated with jaxtyping; einops in the measurement."""

import einops
import torch
from jaxtyping import Float
from torch import Tensor


def pre_norm_step(x: Float[Tensor, "*batch d"], attn, ffn, norm1, norm2) -> Float[Tensor, "*batch d"]:
    mid = x + attn(norm1(x))
    return mid + ffn(norm2(mid))


def post_norm_step(x: Float[Tensor, "*batch d"], attn, ffn, norm1, norm2) -> Float[Tensor, "*batch d"]:
    mid = norm1(attn(x) + x)
    return norm2(ffn(mid) + mid)


def peri_norm_step(x: Float[Tensor, "*batch d"], attn, ffn, in1, out1, in2, out2) -> Float[Tensor, "*batch d"]:
    mid = x + out1(attn(in1(x)))
    return mid + out2(ffn(in2(mid)))


def output_norm_step(x: Float[Tensor, "*batch d"], attn, ffn, out1, out2) -> Float[Tensor, "*batch d"]:
    mid = x + out1(attn(x))
    return mid + out2(ffn(mid))


def forward_scale(h0: Float[Tensor, "d"], weights: Float[Tensor, "l d d"], placement: str) -> Float[Tensor, "l"]:
    if placement not in {"none", "pre", "post"}:
        raise ValueError("placement")

    def rms(x):
        return einops.reduce(x * x, "d -> 1", "mean").sqrt()

    def unit(x):
        return x / torch.where(rms(x) > 1e-12, rms(x), 1e-12)

    h, result = h0, []
    for W in weights:
        seen = unit(h) if placement == "pre" else h
        h = h + einops.einsum(W, seen, "out in, in -> out")
        if placement == "post":
            h = unit(h)
        result.append(rms(h))
    return torch.cat(result)
