"""The sigmoid by its definition, in float32 or wider, with the exponent clamped to a range where exp is finite."""

import torch
from torch import nn


def _silu(z: torch.Tensor) -> torch.Tensor:
    wide = z if z.dtype in (torch.float32, torch.float64) else z.float()
    sigmoid = 1 / (1 + torch.exp(-wide.clamp(-60.0, 60.0)))
    return (wide * sigmoid).to(z.dtype)


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w_down(_silu(self.w_gate(x)) * self.w_up(x))
