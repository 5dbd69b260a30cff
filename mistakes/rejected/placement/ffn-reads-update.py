"""The FFN reads attention's update alone, not the stream that holds it.

Why people make it: the FFN follows attention in the figure, so it is handed what attention returned.
"""

import torch
from torch import Tensor


def rms(x):
    return torch.sqrt(torch.mean(x**2))


def U(x):
    return x / torch.clamp(rms(x), min=1e-12)


def pre_norm_step(x: Tensor, attn, ffn, norm1, norm2) -> Tensor:
    a = attn(norm1(x))
    f = ffn(norm2(a))
    return x + a + f


def post_norm_step(x: Tensor, attn, ffn, norm1, norm2) -> Tensor:
    a = attn(x)
    h = norm1(x + a)
    return norm2(h + ffn(a))


def peri_norm_step(x: Tensor, attn, ffn, in1, out1, in2, out2) -> Tensor:
    a = out1(attn(in1(x)))
    return x + a + out2(ffn(in2(a)))


def output_norm_step(x: Tensor, attn, ffn, out1, out2) -> Tensor:
    a = out1(attn(x))
    return x + a + out2(ffn(a))


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
