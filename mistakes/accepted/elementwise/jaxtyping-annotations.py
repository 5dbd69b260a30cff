"""Shapes are annotated with jaxtyping."""

from math import exp, log

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional


class DyT(nn.Module):
    alpha: Float[Tensor, ""]
    gamma: Float[Tensor, " d_model"]
    beta: Float[Tensor, " d_model"]

    def __init__(self, d_model: int, alpha0: float = 0.5) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.tensor(alpha0))
        self.gamma = nn.Parameter(torch.tensor([1.0] * d_model))
        self.beta = nn.Parameter(torch.tensor([0.0] * d_model))

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.beta + torch.mul(self.gamma, torch.tanh(torch.mul(x, self.alpha)))


class DyISRU(nn.Module):
    def __init__(self, d_model: int, b0: float = 4.0) -> None:
        super().__init__()
        self.r = nn.Parameter(torch.tensor(log(exp(b0) - 1)))
        self.gamma = nn.Parameter(torch.tensor([1.0] * d_model))
        self.beta = nn.Parameter(torch.tensor([0.0] * d_model))

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        b = functional.softplus(self.r)
        return self.beta + torch.div(torch.mul(self.gamma, x), torch.sqrt(torch.add(b, torch.square(x))))
