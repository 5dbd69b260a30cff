"""Makes tensors of its own, each of the gate's kind: they lie where the gate lies, in its dtype."""

import torch
from torch import Tensor, nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate = self.w_gate(x)
        zeros = torch.zeros_like(gate)
        e = torch.exp(torch.minimum(gate, zeros) - torch.maximum(gate, zeros))
        ones = torch.ones(1, dtype=gate.dtype, device=gate.device)
        sigma = torch.where(gate > 0, ones / (ones + e), e / (ones + e))
        return self.w_down(gate * sigma * self.w_up(x))
