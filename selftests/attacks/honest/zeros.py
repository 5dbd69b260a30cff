"""An honest wrong answer: zeros of the right shape and dtype."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        return torch.zeros_like(x) * self.gamma
