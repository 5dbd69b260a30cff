"""The sigmoid as a softmax over the logits z and 0."""

import torch
from torch import nn


def _silu(z: torch.Tensor) -> torch.Tensor:
    logits = torch.stack([z, torch.zeros_like(z)], dim=-1)
    return z * torch.softmax(logits, dim=-1)[..., 0]


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w_down(_silu(self.w_gate(x)) * self.w_up(x))
