"""Takes the sum of squares as a 1×D by D×1 matrix product for every row."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        h = x.float()
        dot = (h.unsqueeze(-2) @ h.unsqueeze(-1)).squeeze(-1)
        rms = (dot / h.shape[-1] + self.eps).sqrt()
        return (h / rms).to(x.dtype) * self.gamma
