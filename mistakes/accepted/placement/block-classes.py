"""Blocks as modules with a constructor, built and called in each function."""

import enum
import math

import torch
from torch import Tensor, nn


class Block(nn.Module):
    def __init__(self, attn, ffn, *norms):
        super().__init__()
        self.attn, self.ffn, self.norms = attn, ffn, norms


class PreNormBlock(Block):
    def forward(self, x: Tensor) -> Tensor:
        norm1, norm2 = self.norms
        x = x + self.attn(norm1(x))
        x = x + self.ffn(norm2(x))
        return x


class PostNormBlock(Block):
    def forward(self, x: Tensor) -> Tensor:
        norm1, norm2 = self.norms
        x = norm1(x + self.attn(x))
        x = norm2(x + self.ffn(x))
        return x


class PeriNormBlock(Block):
    def forward(self, x: Tensor) -> Tensor:
        in1, out1, in2, out2 = self.norms
        x = x + out1(self.attn(in1(x)))
        x = x + out2(self.ffn(in2(x)))
        return x


class OutputNormBlock(Block):
    def forward(self, x: Tensor) -> Tensor:
        out1, out2 = self.norms
        x = x + out1(self.attn(x))
        x = x + out2(self.ffn(x))
        return x


def pre_norm_step(x, attn, ffn, norm1, norm2):
    return PreNormBlock(attn, ffn, norm1, norm2)(x)


def post_norm_step(x, attn, ffn, norm1, norm2):
    return PostNormBlock(attn, ffn, norm1, norm2)(x)


def peri_norm_step(x, attn, ffn, in1, out1, in2, out2):
    return PeriNormBlock(attn, ffn, in1, out1, in2, out2)(x)


def output_norm_step(x, attn, ffn, out1, out2):
    return OutputNormBlock(attn, ffn, out1, out2)(x)


class Placement(enum.Enum):
    NONE = "none"
    PRE = "pre"
    POST = "post"


def forward_scale(h0, weights, placement):
    where = Placement(placement)  # a ValueError for any other word
    floor = torch.tensor(1e-12)
    rms = lambda v: torch.linalg.vector_norm(v) / math.sqrt(v.numel())
    unit = lambda v: v / torch.maximum(rms(v), floor.to(v.dtype))
    scales = []
    h = h0
    for W in weights:
        update = torch.mv(W, unit(h) if where is Placement.PRE else h)
        h = torch.add(h, update)
        if where is Placement.POST:
            h = unit(h)
        scales.append(rms(h))
    return torch.stack(scales)
