"""Gain and shift live in a base class."""

import math

import torch
from torch import Tensor, nn


class _Elementwise(nn.Module):
    """gamma * f(x) + beta, with f left to the subclass."""

    def __init__(self, d_model: int):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))

    def squash(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        return self.squash(x) * self.gamma + self.beta


class DyT(_Elementwise):
    def __init__(self, d_model: int, alpha0: float = 0.5):
        super().__init__(d_model)
        self.alpha = nn.Parameter(torch.full((), alpha0))

    def squash(self, x: Tensor) -> Tensor:
        return (self.alpha * x).tanh()


class DyISRU(_Elementwise):
    def __init__(self, d_model: int, b0: float = 4.0):
        super().__init__(d_model)
        self.r = nn.Parameter(torch.full((), math.log(math.expm1(b0))))

    @property
    def b(self) -> Tensor:
        return nn.functional.softplus(self.r)

    def squash(self, x: Tensor) -> Tensor:
        return x / (self.b + x.square()).sqrt()
