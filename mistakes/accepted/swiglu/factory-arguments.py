"""Optional `device` and `dtype` arguments, passed on to `nn.Linear`."""

import torch
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int, device=None, dtype=None):
        super().__init__()
        kwargs = {"bias": False, "device": device, "dtype": dtype}
        self.d_model = d_model
        self.d_ff = d_ff
        self.w_gate = nn.Linear(d_model, d_ff, **kwargs)
        self.w_up = nn.Linear(d_model, d_ff, **kwargs)
        self.w_down = nn.Linear(d_ff, d_model, **kwargs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate = self.w_gate(x)
        return self.w_down(gate * torch.sigmoid(gate) * self.w_up(x))
