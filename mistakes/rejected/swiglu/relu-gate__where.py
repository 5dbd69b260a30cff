"""The hand-written activation keeps positive gates and zeroes the others, which is ReLU and not SiLU.

Why people make it: SiLU is described as a smooth ReLU, and only the ReLU part makes it into the code.
"""

import torch
from torch import Tensor, nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    @staticmethod
    def _swish(z: Tensor) -> Tensor:
        return torch.where(z > 0, z, torch.zeros_like(z))

    def forward(self, x: Tensor) -> Tensor:
        value = self.w_up(x)
        gate = self._swish(self.w_gate(x))
        return self.w_down(value * gate)
