"""The fused projection stacks up before gate but is unpacked as gate, up, so SiLU acts on the up branch.

Why people make it: the two weights are concatenated in one place and the chunks named in another, and only
the order of two words ties the places together.
"""

import torch
from torch import nn
from torch.nn import functional as F


class SwiGLU(nn.Module):
    """SwiGLU with one matmul for both input projections."""

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        w_in = torch.cat([self.w_up.weight, self.w_gate.weight], dim=0)
        gate, up = F.linear(x, w_in).chunk(2, dim=-1)
        return self.w_down(F.silu(gate) * up)
