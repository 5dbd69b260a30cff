"""`x @ weight.T`, as on the blackboard."""

import torch
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate = x @ self.w_gate.weight.T
        up = x @ self.w_up.weight.T
        hidden = gate * torch.sigmoid(gate) * up
        return hidden @ self.w_down.weight.T
