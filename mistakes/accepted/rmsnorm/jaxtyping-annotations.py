"""Shapes are written as jaxtyping annotations."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class RMSNorm(nn.Module):
    gamma: Float[Tensor, "d_model"]

    def __init__(self, d_model: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        wide: Float[Tensor, "... d_model"] = x.to(torch.float32)
        rms: Float[Tensor, "... 1"] = (wide.pow(2).mean(dim=-1, keepdim=True) + self.eps).sqrt()
        return (wide / rms).to(x.dtype) * self.gamma
