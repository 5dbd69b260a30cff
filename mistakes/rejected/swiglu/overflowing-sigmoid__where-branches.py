"""A sigmoid picks its stable branch with torch.where, but the other branch overflows and turns the gradient NaN.

Why people make it: the split by sign is the known cure in NumPy, where nothing is differentiated through the
discarded branch.
"""

import torch
from torch import Tensor, nn


def _stable_sigmoid(z: Tensor) -> Tensor:
    positive = 1 / (1 + torch.exp(-z))
    negative = torch.exp(z) / (1 + torch.exp(z))
    return torch.where(z >= 0, positive, negative)


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate = self.w_gate(x)
        return self.w_down(gate * _stable_sigmoid(gate) * self.w_up(x))
