"""SiLU is applied to the product of the branches, and the einsum strings accept three-dimensional input only.

Why people make it: the layer is built from einsums for one shape, with the activation put last, before the
closing projection.
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
        hidden = F.silu(gate * up)
        return torch.einsum("bsf,df->bsd", hidden, self.w_down.weight)
