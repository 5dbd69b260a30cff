"""The activated gate is computed and then dropped, so the output is w_down(w_up(x)).

Why people make it: after a line is split into named steps, the last step is written with the wrong, older
name.
"""

import torch
import torch.nn.functional as F
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        up = self.w_up(x)
        gated = F.silu(self.w_gate(x)) * up
        return self.w_down(up)
