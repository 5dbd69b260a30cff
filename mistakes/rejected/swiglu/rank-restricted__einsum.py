"""The einsum strings name a batch and a sequence axis, so only three-dimensional input is accepted.

Why people make it: einsum is written with the letters of the one shape at hand, without an ellipsis for the
leading axes.
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
        gate = torch.einsum("bsd,fd->bsf", x, self.w_gate.weight)
        up = torch.einsum("bsd,fd->bsf", x, self.w_up.weight)
        return torch.einsum("bsf,df->bsd", F.silu(gate) * up, self.w_down.weight)
