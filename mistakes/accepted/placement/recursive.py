"""Steps by way of one another where they agree; forward_scale by recursion over the layers."""

import torch
from torch.nn.functional import linear


def output_norm_step(x, attn, ffn, out1, out2):
    h = x + out1(attn(x))
    return h + out2(ffn(h))


def peri_norm_step(x, attn, ffn, in1, out1, in2, out2):
    return output_norm_step(x, lambda v: attn(in1(v)), lambda v: ffn(in2(v)), out1, out2)


def pre_norm_step(x, attn, ffn, norm1, norm2):
    nothing = lambda v: v
    return peri_norm_step(x, attn, ffn, norm1, nothing, norm2, nothing)


def post_norm_step(x, attn, ffn, norm1, norm2):
    for sublayer, norm in ((attn, norm1), (ffn, norm2)):
        x = norm(x + sublayer(x))
    return x


def forward_scale(h0, weights, placement):
    if not placement in ["none", "pre", "post"]:
        raise ValueError("placement must be one of none, pre, post, got " + str(placement))
    if len(weights) == 0:
        return h0.new_zeros(0)
    W, rest = weights[0], weights[1:]
    h = h0 + linear(unit(h0) if placement == "pre" else h0, W)
    h = unit(h) if placement == "post" else h
    return torch.cat([rms(h), forward_scale(h, rest, placement)])


def rms(x):
    return torch.sqrt(torch.mean(x.square(), dim=-1, keepdim=True))


def unit(x):
    return x / rms(x).clamp(1e-12)
