"""Another placement is an AssertionError.

Why people make it: an assert is the shortest way to say it.
"""

import torch
from torch import Tensor


def rms(x):
    return torch.sqrt(torch.mean(x**2))


def U(x):
    return x / torch.clamp(rms(x), min=1e-12)


def pre_norm_step(x: Tensor, attn, ffn, norm1, norm2) -> Tensor:
    h = x + attn(norm1(x))
    return h + ffn(norm2(h))


def post_norm_step(x: Tensor, attn, ffn, norm1, norm2) -> Tensor:
    h = norm1(x + attn(x))
    return norm2(h + ffn(h))


def peri_norm_step(x: Tensor, attn, ffn, in1, out1, in2, out2) -> Tensor:
    h = x + out1(attn(in1(x)))
    return h + out2(ffn(in2(h)))


def output_norm_step(x: Tensor, attn, ffn, out1, out2) -> Tensor:
    h = x + out1(attn(x))
    return h + out2(ffn(h))


def forward_scale(h0: Tensor, weights: Tensor, placement: str) -> Tensor:
    assert placement in ("none", "pre", "post"), placement
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
