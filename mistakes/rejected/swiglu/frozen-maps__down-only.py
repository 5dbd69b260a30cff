"""Makes w_down's weight a parameter that takes no gradient.

Why people make it: the last map is set by hand to try something out, and a parameter set by hand is easily left
without gradients.
"""

import torch
from torch import Tensor, nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.w_gate, self.w_up = (nn.Linear(d_model, d_ff, bias=False) for _ in range(2))
        self.w_down = nn.Linear(d_ff, d_model, bias=False)
        self.w_down.weight = nn.Parameter(torch.randn(d_model, d_ff) / d_ff**0.5, requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        gate = self.w_gate(x)
        return self.w_down(gate * gate.sigmoid() * self.w_up(x))
