"""Updates as nn.Sequential, which takes modules only: attn, ffn and the norms are modules in every real block."""

import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.layers(x)


def pre_norm_step(x, attn, ffn, norm1, norm2):
    return nn.Sequential(Residual(norm1, attn), Residual(norm2, ffn))(x)


def post_norm_step(x, attn, ffn, norm1, norm2):
    return nn.Sequential(Residual(attn), norm1, Residual(ffn), norm2)(x)


def peri_norm_step(x, attn, ffn, in1, out1, in2, out2):
    return nn.Sequential(Residual(in1, attn, out1), Residual(in2, ffn, out2))(x)


def output_norm_step(x, attn, ffn, out1, out2):
    return nn.Sequential(Residual(attn, out1), Residual(ffn, out2))(x)


def forward_scale(h0, weights, placement):
    match placement:
        case "none":
            step = lambda W, h: h + W @ h
        case "pre":
            step = lambda W, h: h + W @ U(h)
        case "post":
            step = lambda W, h: U(h + W @ h)
        case _:
            raise ValueError(f"no such placement: {placement}")
    h = h0
    out = []
    for W in weights.unbind(0):
        h = step(W, h)
        out.append(h.norm() / h.numel() ** 0.5)
    return torch.stack(out, dim=0)


def U(x):
    rms = x.norm() / x.numel() ** 0.5
    return x / rms.clamp(min=1e-12)
