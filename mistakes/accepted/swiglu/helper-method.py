"""The gated hidden state is computed by a helper method."""

import torch
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    @staticmethod
    def _silu(z: torch.Tensor) -> torch.Tensor:
        return z.mul(z.sigmoid())

    def _hidden(self, x: torch.Tensor) -> torch.Tensor:
        return self._silu(self.w_gate(x)) * self.w_up(x)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w_down(self._hidden(x))
