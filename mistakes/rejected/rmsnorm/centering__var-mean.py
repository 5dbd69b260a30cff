"""Standardises each row with its mean and variance, which is layer normalisation.

Why people make it: torch has a call that returns both statistics at once, and a recipe for standardising a feature is
what comes to mind when the task says "norm".
"""

import torch
from torch import Tensor, nn


def _standardize(h: Tensor, eps: float) -> Tensor:
    var, mu = torch.var_mean(h, dim=-1, correction=0, keepdim=True)
    return (h - mu) * torch.rsqrt(var + eps)


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.variance_epsilon = eps

    def forward(self, hidden: Tensor) -> Tensor:
        normed = _standardize(hidden.float(), self.variance_epsilon)
        return self.weight * normed.type_as(hidden)
