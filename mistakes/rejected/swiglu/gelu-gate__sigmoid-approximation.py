"""The gate uses z * sigmoid(1.702 z), the sigmoid form of GELU, instead of SiLU.

Why people make it: the slope 1.702 belongs to the gpt-oss activation of the same lesson and looks like part
of every SwiGLU.
"""

import torch
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int, alpha: float = 1.702):
        super().__init__()
        self.alpha = alpha
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate, up = self.w_gate(x), self.w_up(x)
        return self.w_down(gate * torch.sigmoid(self.alpha * gate) * up)
