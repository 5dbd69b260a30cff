"""forward_scale by itertools.accumulate on whole transition matrices; steps as one expression each."""

from itertools import accumulate

import torch


def pre_norm_step(x, attn, ffn, norm1, norm2):
    return (h := x + attn(norm1(x))) + ffn(norm2(h))


def post_norm_step(x, attn, ffn, norm1, norm2):
    return norm2((h := norm1(x + attn(x))) + ffn(h))


def peri_norm_step(x, attn, ffn, in1, out1, in2, out2):
    return (h := x + out1(attn(in1(x)))) + out2(ffn(in2(h)))


def output_norm_step(x, attn, ffn, out1, out2):
    return (h := x + out1(attn(x))) + out2(ffn(h))


def forward_scale(h0, weights, placement):
    if placement not in ("none", "pre", "post"):
        raise ValueError(placement)
    I = torch.eye(h0.shape[0], dtype=h0.dtype)

    def size(h):
        return torch.sqrt(torch.dot(h, h) / h.shape[0])

    def step(h, W):
        if placement == "pre":
            return (I + W / size(h).clamp_min(1e-12)).matmul(h)
        h = (I + W).matmul(h)
        return h / size(h).clamp_min(1e-12) if placement == "post" else h

    _, *states = accumulate(weights, step, initial=h0)
    return torch.stack(states).pow(2).mean(dim=1).sqrt()
