"""An `nn.Linear` subclass with its own initialisation."""

import torch
import torch.nn.functional as F
from torch import nn


class _Linear(nn.Linear):
    """Bias-free, truncated normal at the start."""

    def __init__(self, d_in: int, d_out: int):
        super().__init__(d_in, d_out, bias=False)

    def reset_parameters(self) -> None:
        std = (2 / (self.in_features + self.out_features)) ** 0.5
        nn.init.trunc_normal_(self.weight, std=std, a=-3 * std, b=3 * std)


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = _Linear(d_model, d_ff)
        self.w_up = _Linear(d_model, d_ff)
        self.w_down = _Linear(d_ff, d_model)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w_down(F.silu(self.w_gate(x)) * self.w_up(x))
