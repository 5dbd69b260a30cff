"""norm1 serves both halves of the post-norm block.

Why people make it: one norm a block is declared, or the line is copied and only half of it changed.
"""

import torch


def root_mean_square(v):
    return (v @ v / v.numel()) ** 0.5


def normalise(v):
    size = root_mean_square(v)
    return v / torch.maximum(size, torch.full_like(size, 1e-12))


def pre_norm_step(x, attn, ffn, norm1, norm2):
    a = attn(norm1(x))
    h = torch.add(x, a)
    f = ffn(norm2(h))
    return torch.add(h, f)


def post_norm_step(x, attn, ffn, norm1, norm2):
    a = attn(x)
    h = norm1(torch.add(x, a))
    f = ffn(h)
    return norm1(torch.add(h, f))


def peri_norm_step(x, attn, ffn, in1, out1, in2, out2):
    a = out1(attn(in1(x)))
    h = torch.add(x, a)
    f = out2(ffn(in2(h)))
    return torch.add(h, f)


def output_norm_step(x, attn, ffn, out1, out2):
    a = out1(attn(x))
    h = torch.add(x, a)
    f = out2(ffn(h))
    return torch.add(h, f)


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
