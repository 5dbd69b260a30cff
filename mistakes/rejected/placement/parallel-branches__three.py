"""The FFN reads x in the three blocks that only add to the stream.

Why people make it: GPT-J and PaLM do that, and the two updates look independent.
"""

import torch


def unit(x, floor=1e-12):
    size = x.pow(2).mean().sqrt()
    return x / size.clamp_min(floor)


def pre_norm_step(x, attn, ffn, norm1, norm2):
    attention = attn(norm1(x))
    mlp = ffn(norm2(x))
    return x + (attention + mlp)


def post_norm_step(x, attn, ffn, norm1, norm2):
    residual = x
    x = attn(x)
    x = norm1(residual + x)

    residual = x
    x = ffn(x)
    return norm2(residual + x)


def peri_norm_step(x, attn, ffn, in1, out1, in2, out2):
    attention = out1(attn(in1(x)))
    mlp = out2(ffn(in2(x)))
    return x + (attention + mlp)


def output_norm_step(x, attn, ffn, out1, out2):
    attention = out1(attn(x))
    mlp = out2(ffn(x))
    return x + (attention + mlp)


def forward_scale(h0, weights, placement):
    L = weights.shape[0]
    scale = torch.zeros(L, dtype=h0.dtype)
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
        scale[i] = h.pow(2).mean().sqrt()
    return scale
