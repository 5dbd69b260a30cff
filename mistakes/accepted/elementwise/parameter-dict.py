"""The parameters live in a ParameterDict."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class DyT(nn.Module):
    def __init__(self, d_model: int, alpha0: float = 0.5):
        super().__init__()
        self.p = nn.ParameterDict(
            {"alpha": torch.tensor([alpha0]), "gamma": torch.ones(d_model), "beta": torch.zeros(d_model)}
        )

    def forward(self, x):
        p = self.p
        return p["gamma"] * torch.tanh(p["alpha"] * x) + p["beta"]


class DyISRU(nn.Module):
    def __init__(self, d_model: int, b0: float = 4.0):
        super().__init__()
        self.p = nn.ParameterDict(
            {
                "r": torch.tensor([math.log(math.exp(b0) - 1)]),
                "gamma": torch.ones(d_model),
                "beta": torch.zeros(d_model),
            }
        )

    def forward(self, x):
        p = self.p
        return p["gamma"] * x / torch.sqrt(F.softplus(p["r"]) + x * x) + p["beta"]
