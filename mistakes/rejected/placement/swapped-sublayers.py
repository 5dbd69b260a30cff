"""The FFN comes before attention, in every block.

Why people make it: both are callables of one shape, and the order is not thought to matter.
"""

import torch
from torch import Tensor


def rms(x):
    return torch.sqrt(torch.mean(x**2))


def U(x):
    return x / torch.clamp(rms(x), min=1e-12)


def pre_norm_step(x: Tensor, attn, ffn, norm1, norm2) -> Tensor:
    h = x + ffn(norm1(x))
    return h + attn(norm2(h))


def post_norm_step(x: Tensor, attn, ffn, norm1, norm2) -> Tensor:
    h = norm1(x + ffn(x))
    return norm2(h + attn(h))


def peri_norm_step(x: Tensor, attn, ffn, in1, out1, in2, out2) -> Tensor:
    h = x + out1(ffn(in1(x)))
    return h + out2(attn(in2(h)))


def output_norm_step(x: Tensor, attn, ffn, out1, out2) -> Tensor:
    h = x + out1(ffn(x))
    return h + out2(attn(h))


def forward_scale(h0: Tensor, weights: Tensor, placement: str) -> Tensor:
    if placement not in ("none", "pre", "post"):
        raise ValueError(f"unknown placement: {placement}")
    h = h0
    scales = []
    for W in weights:
        if placement == "none":
            h = h + W @ h
        elif placement == "pre":
            h = h + W @ U(h)
        else:
            h = U(h + W @ h)
        scales.append(rms(h))
    return torch.stack(scales)
