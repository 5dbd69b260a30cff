"""forward_scale with the stream as a column, for a batch of one; subclasses of ValueError; helpers with a dispatch."""

import torch
from torch import Tensor


class UnknownPlacement(ValueError):
    pass


def pre_norm_step(x: Tensor, attn, ffn, norm1, norm2) -> Tensor:
    skip = x
    out = norm1(skip)
    out = attn(out)
    out = out + skip
    skip = out
    out = ffn(norm2(out))
    return out + skip


def post_norm_step(x: Tensor, attn, ffn, norm1, norm2) -> Tensor:
    out = norm1(attn(x) + x)
    return norm2(ffn(out) + out)


def peri_norm_step(x: Tensor, attn, ffn, in1, out1, in2, out2) -> Tensor:
    for before, layer, after in zip((in1, in2), (attn, ffn), (out1, out2)):
        x = x + after(layer(before(x)))
    return x


def output_norm_step(x: Tensor, attn, ffn, out1, out2) -> Tensor:
    for layer, after in [(attn, out1), (ffn, out2)]:
        x = x.add(after(layer(x)))
    return x


def forward_scale(h0: Tensor, weights: Tensor, placement: str) -> Tensor:
    if placement not in ("none", "pre", "post"):
        raise UnknownPlacement(placement)
    column = h0[None, :, None]
    scales = []
    for layer in range(weights.size(0)):
        W = weights[layer : layer + 1]
        read = unit(column) if placement == "pre" else column
        column = torch.baddbmm(column, W, read)
        if placement == "post":
            column = unit(column)
        scales.append(rms(column).flatten())
    return torch.cat(scales)


def rms(column: Tensor) -> Tensor:
    return (column**2).mean(dim=1, keepdim=True) ** 0.5


def unit(column: Tensor) -> Tensor:
    return column / rms(column).clip(min=1e-12)
