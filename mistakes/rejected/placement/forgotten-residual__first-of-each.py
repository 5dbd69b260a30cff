"""Attention's result replaces the stream in every block.

Why people make it: only the last addition is seen as the residual connection.
"""

import torch


def root_mean_square(v):
    return (v @ v / v.numel()) ** 0.5


def normalise(v):
    size = root_mean_square(v)
    return v / torch.maximum(size, torch.full_like(size, 1e-12))


def pre_norm_step(x, attn, ffn, norm1, norm2):
    h = attn(norm1(x))
    return h + ffn(norm2(h))


def post_norm_step(x, attn, ffn, norm1, norm2):
    h = norm1(attn(x))
    return norm2(h + ffn(h))


def peri_norm_step(x, attn, ffn, in1, out1, in2, out2):
    h = out1(attn(in1(x)))
    return h + out2(ffn(in2(h)))


def output_norm_step(x, attn, ffn, out1, out2):
    h = out1(attn(x))
    return h + out2(ffn(h))


def forward_scale(h0, weights, placement):
    steps = {
        "none": lambda h, W: h + W @ h,
        "pre": lambda h, W: h + W @ normalise(h),
        "post": lambda h, W: normalise(h + W @ h),
    }
    if placement not in steps:
        raise ValueError(placement)
    h, found = h0, []
    for W in weights:
        h = steps[placement](h, W)
        found.append(root_mean_square(h))
    return torch.stack(found)
