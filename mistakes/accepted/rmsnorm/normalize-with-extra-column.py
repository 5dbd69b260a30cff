"""Appends √(D·eps) to each row, takes the unit vector with F.normalize and drops the extra entry."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.root_d = math.sqrt(d_model)
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        h = x.float()
        # sum(x²) + D·eps is the squared length of the longer row.
        longer = F.pad(h, (0, 1), value=self.root_d * math.sqrt(self.eps))
        unit = F.normalize(longer, dim=-1, eps=1e-30)[..., :-1]
        return (unit * self.root_d).to(x.dtype) * self.gamma
