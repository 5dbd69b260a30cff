"""The three maps are registered in a loop over their names and sizes."""

import torch
import torch.nn.functional as F
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        sizes = {"w_gate": (d_model, d_ff), "w_up": (d_model, d_ff), "w_down": (d_ff, d_model)}
        for name, (d_in, d_out) in sizes.items():
            self.add_module(name, nn.Linear(d_in, d_out, bias=False))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate, up = self.w_gate(x), self.w_up(x)
        return self.w_down(F.silu(gate) * up)
