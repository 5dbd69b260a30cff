"""Overwrites the scale at every step.

Why people make it: the list is forgotten.
"""

import torch


def unit(x, floor=1e-12):
    size = x.pow(2).mean().sqrt()
    return x / size.clamp_min(floor)


def pre_norm_step(x, attn, ffn, norm1, norm2):
    residual = x
    x = norm1(x)
    x = attn(x)
    x = residual + x

    residual = x
    x = norm2(x)
    x = ffn(x)
    return residual + x


def post_norm_step(x, attn, ffn, norm1, norm2):
    residual = x
    x = attn(x)
    x = norm1(residual + x)

    residual = x
    x = ffn(x)
    return norm2(residual + x)


def peri_norm_step(x, attn, ffn, in1, out1, in2, out2):
    residual = x
    x = in1(x)
    x = attn(x)
    x = out1(x)
    x = residual + x

    residual = x
    x = in2(x)
    x = ffn(x)
    x = out2(x)
    return residual + x


def output_norm_step(x, attn, ffn, out1, out2):
    residual = x
    x = attn(x)
    x = out1(x)
    x = residual + x

    residual = x
    x = ffn(x)
    x = out2(x)
    return residual + x


def forward_scale(h0, weights, placement):
    L = weights.shape[0]
    h = h0.clone()
    for i in range(L):
        if placement == "none":
            h = h + torch.mv(weights[i], h)
        elif placement == "pre":
            h = h + torch.mv(weights[i], unit(h))
        elif placement == "post":
            h = unit(h + torch.mv(weights[i], h))
        else:
            raise ValueError("placement must be none, pre or post")
        scale = h.pow(2).mean().sqrt()
    return scale
