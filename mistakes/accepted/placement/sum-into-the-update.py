"""The stream is added to what the sublayer returned, in place."""

import torch
from torch import Tensor


def rms(x):
    return torch.sqrt(torch.mean(x**2))


def U(x):
    return x / torch.clamp(rms(x), min=1e-12)


def pre_norm_step(x: Tensor, attn, ffn, norm1, norm2) -> Tensor:
    a = attn(norm1(x))
    a += x
    f = ffn(norm2(a))
    return f.add_(a)


def post_norm_step(x: Tensor, attn, ffn, norm1, norm2) -> Tensor:
    a = attn(x)
    a += x
    h = norm1(a)
    f = ffn(h)
    f += h
    return norm2(f)


def peri_norm_step(x: Tensor, attn, ffn, in1, out1, in2, out2) -> Tensor:
    a = out1(attn(in1(x)))
    a += x
    f = out2(ffn(in2(a)))
    f += a
    return f


def output_norm_step(x: Tensor, attn, ffn, out1, out2) -> Tensor:
    a = out1(attn(x)).add_(x)
    return out2(ffn(a)).add_(a)


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
