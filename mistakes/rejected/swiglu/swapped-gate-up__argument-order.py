"""A helper that takes the value first is called with the gate first, so SiLU acts on the up branch.

Why people make it: the helper was copied from code that writes the product as value times activated gate, and
the call was written later in the order of the constructor.
"""

import torch
from torch import Tensor, nn


def _gated(value: Tensor, gate: Tensor) -> Tensor:
    return value * (gate * torch.sigmoid(gate))


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        hidden = _gated(self.w_gate(x), self.w_up(x))
        return self.w_down(hidden)
