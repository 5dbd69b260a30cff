"""Scales each row to length √D and has no eps in the denominator.

Why people make it: seen as "project on the sphere of radius √D" the norm needs no eps on paper, and the argument of
the constructor looks like one of those that are only there for compatibility.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.scale = d_model**0.5
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        h = x.float()
        length = h.norm(dim=-1, keepdim=True)
        h = h * (self.scale / length)
        return h.type_as(x) * self.weight
