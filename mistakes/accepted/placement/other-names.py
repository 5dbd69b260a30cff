"""Other parameter names, and optional arguments of one's own."""

import torch


def root_mean_square(v):
    return (v @ v / v.numel()) ** 0.5


def normalise(v):
    size = root_mean_square(v)
    return v / torch.maximum(size, torch.full_like(size, 1e-12))


def pre_norm_step(x, attention, mlp, ln_1, ln_2, *, scale=1.0):
    h = x + scale * attention(ln_1(x))
    return h + scale * mlp(ln_2(h))


def post_norm_step(x, attention, mlp, ln_1, ln_2, dropout=None):
    h = ln_1(x + attention(x))
    return ln_2(h + mlp(h))


def peri_norm_step(x, attn, ffn, in1, out1, in2, out2):
    a = out1(attn(in1(x)))
    h = torch.add(x, a)
    f = out2(ffn(in2(h)))
    return torch.add(h, f)


def output_norm_step(x, attention, mlp, ln_attn, ln_mlp, **options):
    h = x + ln_attn(attention(x))
    return h + ln_mlp(mlp(h))


def forward_scale(start, mats, kind, verbose=False):
    steps = {
        "none": lambda h, W: h + W @ h,
        "pre": lambda h, W: h + W @ normalise(h),
        "post": lambda h, W: normalise(h + W @ h),
    }
    if kind not in steps:
        raise ValueError(kind)
    h, found = start, []
    for W in mats:
        h = steps[kind](h, W)
        found.append(root_mean_square(h))
    return torch.stack(found)
