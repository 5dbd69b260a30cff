"""`torch.einsum` with an ellipsis for the leading axes."""

import torch
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate = torch.einsum("...d,fd->...f", x, self.w_gate.weight)
        up = torch.einsum("...d,fd->...f", x, self.w_up.weight)
        return torch.einsum("...f,df->...d", gate * gate.sigmoid() * up, self.w_down.weight)
